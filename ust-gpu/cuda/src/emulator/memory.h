// The memory of the virtual device: every allocation by itself, far from the others, with a note for
// each byte that was written.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <deque>
#include <string>
#include <vector>

// What threads did to a few bytes; see races.h.
struct Cell;

// A piece of work of a stream; none at time 0.
struct Use {
  uint32_t stream = 0;
  uint64_t time = 0;
  std::string what;
};

struct Block {
  uintptr_t at = 0;
  size_t bytes = 0;
  bool live = true;
  bool writable = true;
  // Whether bytes may be read that nobody wrote.
  bool preset = false;
  // Whether it is the shared memory of a block.
  bool shared = false;
  std::string name;
  // A bit for each byte that was written.
  uint8_t* written = nullptr;
  // A cell for each 2^grain bytes, made when a kernel comes; fewer bytes as soon as accesses are narrower.
  Cell* cells = nullptr;
  int grain = 3;
  // Cells of another era say nothing.
  uint32_t era = 0;
  // The last work that wrote, and what has read since; and the last launch that did so.
  bool of_device = false;
  Use write_use;
  std::vector<Use> reads;
  uint64_t read_by = 0, written_by = 0;

  Block(uintptr_t at, size_t bytes, std::string name) : at(at), bytes(bytes), name(std::move(name)) {
    written = (uint8_t*)calloc(bytes / 8 + 1, 1);
  }
  Block(const Block&) = delete;
  ~Block() { forget(); }
  void forget() {
    free(written);
    free(cells);
    written = nullptr;
    cells = nullptr;
  }
  bool is_written(size_t i) const { return preset || (written[i / 8] >> (i % 8) & 1); }
  bool all_written(size_t from, size_t n) const {
    if (preset) return true;
    size_t i = from, end = from + n;
    for (; i < end && i % 8; i++) if (!(written[i / 8] >> (i % 8) & 1)) return false;
    for (; i + 8 <= end; i += 8) if (written[i / 8] != 0xff) return false;
    for (; i < end; i++) if (!(written[i / 8] >> (i % 8) & 1)) return false;
    return true;
  }
  void write(size_t from, size_t n) {
    if (preset) return;
    size_t i = from, end = from + n;
    for (; i < end && i % 8; i++) written[i / 8] |= (uint8_t)(1 << i % 8);
    if (size_t whole = end > i ? (end - i) / 8 : 0) memset(written + i / 8, 0xff, whole), i += whole * 8;
    for (; i < end; i++) written[i / 8] |= (uint8_t)(1 << i % 8);
  }
  // Gives it another size, up to the first one.
  void resize(size_t size) {
    if (size == bytes) return;
    bytes = size;
    free(cells);
    cells = nullptr;
  }
  void unwrite() { memset(written, 0, bytes / 8 + 1); }
};

// What reads find that nobody wrote.
constexpr uint8_t POISON = 0xA5;

struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t n) { return next() % n; }
};

// A range of addresses in slots. A slot belongs to one allocation at most.
struct Arena {
  static constexpr uintptr_t SLOT = 1 << 20;
  static constexpr size_t SLOTS = 1 << 20;
  uintptr_t base = 0;
  Block** slots = nullptr;
  size_t cursor = 0;
  size_t number = 0;
  size_t limit = (size_t)2 << 30;
  size_t used = 0;
  size_t cached = 0;
  uint64_t threshold = 0;
  Random random{1};
  // Allocations freed last: they are told from addresses where nothing ever was.
  std::deque<Block*> freed;
  static constexpr size_t FREED = 20000;

  bool open() {
    if (base) return true;
    void* at = mmap(nullptr, SLOT * SLOTS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void* table = mmap(nullptr, SLOTS * sizeof(Block*), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || table == MAP_FAILED) return false;
    base = (uintptr_t)at;
    slots = (Block**)table;
    return true;
  }

  // The allocation around an address, live or freed.
  Block* find(uintptr_t at) const {
    uintptr_t slot = (at - base) / SLOT;
    return slot < SLOTS ? slots[slot] : nullptr;
  }

  // Whether the bytes lie in one live allocation.
  Block* holds(uintptr_t at, size_t n) const {
    Block* block = find(at);
    bool in = block && block->live && at >= block->at && n <= block->bytes && at - block->at <= block->bytes - n;
    return in ? block : nullptr;
  }

  bool is_free(size_t from, size_t count) const {
    for (size_t i = from; i < from + count; i++) if (slots[i] && slots[i]->live) return false;
    return true;
  }

  // Whether there is room. A pool takes what it kept before it asks for more, in whole pieces.
  bool take(size_t bytes, bool pooled) {
    if (pooled && cached >= bytes) {
      cached -= bytes;
    } else if (used + cached + bytes > limit) {
      return false;
    }
    used += bytes;
    return true;
  }

  uintptr_t allocate(size_t bytes, bool pooled) {
    if (!take(bytes, pooled)) return 0;
    // The address is a multiple of 256, as in CUDA, with room before and behind.
    size_t count = (bytes + 2 * 4096 + 65536) / SLOT + 1;
    size_t from = cursor + 1 + random.below(61);
    for (size_t tried = 0; tried <= SLOTS; tried++, from++) {
      if (from + count >= SLOTS) from = 1;
      if (is_free(from, count)) break;
    }
    if (!is_free(from, count)) return 0;
    cursor = from + count;
    uintptr_t at = base + from * SLOT + 4096 + 256 * random.below(240);
    uintptr_t page = at & ~(uintptr_t)4095;
    if (mprotect((void*)page, at + bytes - page, PROT_READ | PROT_WRITE)) return 0;
    Block* block = new Block(at, bytes, "allocation " + std::to_string(++number));
    block->of_device = true;
    for (size_t i = from; i < from + count; i++) {
      if (slots[i]) clear(slots[i]);
      slots[i] = block;
    }
    return at;
  }

  // Takes a freed allocation out of the table.
  void clear(Block* old) {
    for (auto at = freed.begin(); at != freed.end(); ++at) {
      if (*at != old) continue;
      freed.erase(at);
      break;
    }
    size_t from = (old->at - base) / SLOT;
    while (from > 0 && slots[from - 1] == old) from--;
    for (; slots[from] == old; from++) slots[from] = nullptr;
    delete old;
  }

  bool release(uintptr_t at, bool pooled) {
    Block* block = find(at);
    if (!block || !block->live || block->at != at) return false;
    block->live = false;
    block->forget();
    uintptr_t page = at & ~(uintptr_t)4095;
    mmap((void*)page, at + block->bytes - page, PROT_NONE,
         MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t bytes = block->bytes;
    freed.push_back(block);
    if (freed.size() > FREED) clear(freed.front());
    used -= bytes;
    if (pooled && threshold) cached += bytes;
    return true;
  }
};
