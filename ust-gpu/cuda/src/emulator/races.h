// Who touched bytes, and whether barriers lie between.
//
// Every thread counts the barriers that it has met: its *epoch*. A barrier of a warp tells its lanes which
// epochs of each other they have left behind (`known`); a barrier of a block seals all epochs so far.
// Nothing orders blocks.
#pragma once
#include <initializer_list>
#include "memory.h"

constexpr unsigned WARP = 32, MOST = 1024;

// An access. `block` counts from 1; 0 means none.
struct Stamp {
  uint32_t block, epoch;
  uint16_t thread;
};

enum Many : uint8_t { NOBODY, ONE, LANES, WARPS, BLOCKS };

// Those who read since the last write, or who did atomic operations. `epoch` is, for `LANES`, the place
// of their epochs, and for `WARPS`, the barriers of the block that came before.
struct Set {
  uint32_t block, epoch;
  uint16_t thread;
  Many many;
};

struct Cell {
  uint32_t era;
  Stamp writer;
  Set readers, atomics;
};

// Epochs of the lanes of one warp that read the same bytes, between two barriers of their block.
struct Lanes {
  uint32_t barriers;
  uint32_t warp;
  uint32_t mask;
  uint32_t epoch[WARP];
};

struct Order {
  // The block that runs, from 1 on, and how many barriers it has met.
  uint32_t block = 0, barriers = 0;
  uint32_t epoch[MOST], sealed[MOST];
  uint32_t known[MOST][WARP];
  std::vector<Lanes> lanes;

  void begin(uint32_t number, unsigned threads) {
    block = number;
    barriers = 0;
    lanes.clear();
    for (unsigned t = 0; t < threads; t++) epoch[t] = 1, sealed[t] = 0;
    memset(known, 0, sizeof known[0] * threads);
  }
  void meet_block(unsigned threads) {
    barriers++;
    for (unsigned t = 0; t < threads; t++) sealed[t] = epoch[t]++;
  }
  void meet_warp(unsigned warp, uint32_t mask) {
    uint32_t joined[WARP] = {};
    for (unsigned l = 0; l < WARP; l++) {
      if (!(mask >> l & 1)) continue;
      unsigned t = warp * WARP + l;
      known[t][l] = epoch[t];
      for (unsigned m = 0; m < WARP; m++) if (known[t][m] > joined[m]) joined[m] = known[t][m];
    }
    for (unsigned l = 0; l < WARP; l++) {
      if (!(mask >> l & 1)) continue;
      unsigned t = warp * WARP + l;
      memcpy(known[t], joined, sizeof joined);
      epoch[t]++;
    }
  }

  // Whether an access of a thread of this block comes before what `me` does now.
  bool before(uint16_t thread, uint32_t at, uint16_t me) const {
    if (thread == me || at <= sealed[thread]) return true;
    return thread / WARP == me / WARP && at <= known[me][thread % WARP];
  }
  bool before(const Stamp& s, uint16_t me) const {
    return !s.block || (s.block == block && before(s.thread, s.epoch, me));
  }
  // Somebody of the set who may be at work at the same time as `me`: -1 if there is none.
  int beside(const Set& s, uint16_t me) const {
    if (s.many == NOBODY) return -1;
    if (s.many == BLOCKS || s.block != block) return s.thread;
    if (s.many == ONE) return before(s.thread, s.epoch, me) ? -1 : s.thread;
    if (s.many == WARPS) return s.epoch < barriers ? -1 : s.thread;
    const Lanes& l = lanes[s.epoch];
    if (l.barriers < barriers) return -1;
    for (unsigned i = 0; i < WARP; i++) {
      uint16_t thread = (uint16_t)(l.warp * WARP + i);
      if (l.mask >> i & 1 && !before(thread, l.epoch[i], me)) return thread;
    }
    return -1;
  }
  // Notes `me`. What is dropped comes before all that can still happen in this block.
  void add(Set& s, uint16_t me) {
    Set one{block, epoch[me], me, ONE};
    if (s.many == NOBODY) { s = one; return; }
    if (s.many == BLOCKS) return;
    if (s.block != block) { s.many = BLOCKS; return; }
    if (s.many == ONE) {
      if (s.thread == me || s.epoch <= sealed[s.thread]) { s = one; return; }
      if (s.thread / WARP != me / WARP) { s.many = WARPS; s.epoch = barriers; return; }
      Lanes l{barriers, me / WARP, 0, {}};
      l.mask = 1u << s.thread % WARP;
      l.epoch[s.thread % WARP] = s.epoch;
      s.epoch = (uint32_t)lanes.size();
      s.many = LANES;
      lanes.push_back(l);
    }
    if (s.many == WARPS) {
      if (s.epoch < barriers) s = one;
      return;
    }
    if (lanes[s.epoch].barriers < barriers) { s = one; return; }
    if (s.thread / WARP != me / WARP) { s.many = WARPS; s.epoch = barriers; return; }
    lanes[s.epoch].mask |= 1u << me % WARP;
    lanes[s.epoch].epoch[me % WARP] = epoch[me];
  }
};

// Gives a block cells for `2^grain` bytes each. Cells made of one have sets of their own.
inline void refine(Block& block, int grain, Order& order) {
  size_t count = (block.bytes >> grain) + 1;
  Cell* cells = (Cell*)calloc(count, sizeof(Cell));
  for (size_t i = 0; block.cells && i < count; i++) {
    Cell& cell = cells[i] = block.cells[i >> (block.grain - grain)];
    if (cell.era != block.era) continue;
    for (Set* set : {&cell.readers, &cell.atomics}) {
      if (set->many != LANES || set->block != order.block) continue;
      order.lanes.push_back(Lanes(order.lanes[set->epoch]));
      set->epoch = (uint32_t)order.lanes.size() - 1;
    }
  }
  free(block.cells);
  block.cells = cells;
  block.grain = grain;
}
