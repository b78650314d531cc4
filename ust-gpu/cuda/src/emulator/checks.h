// What every access of a kernel passes through: kernels are compiled as for the thread sanitizer, and
// these are its entry points.
#pragma once
#include "threads.h"

// A volatile read is atomic, and writes nothing.
enum Access : int { READ, WRITE, ATOMIC, PEEK };
static const char* const DOES[] = {"reads", "writes", "does an atomic operation on", "reads"};
static bool changes(Access access) { return access == WRITE || access == ATOMIC; }
// As many accesses of one thread between two meetings are taken for an endless loop.
constexpr uint64_t ENDLESS = 2000000000;

static std::string hex(uintptr_t a) {
  char text[32];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)a);
  return text;
}

static std::string place(const Block& b, uintptr_t at) {
  long long off = (long long)(at - b.at);
  return "byte " + std::to_string(off) + " of " + b.name + " (" + std::to_string(b.bytes) + " bytes)";
}

static std::string did(Access access, size_t n) { return std::string(DOES[access]) + " " + std::to_string(n) + " bytes at "; }

// The block nearest to an address that none holds, for the message.
[[noreturn]] static void fail_outside(Block* b, uintptr_t at, size_t n, Access access) {
  if (b && !b->live) fail(did(access, n) + place(*b, at) + ", which was freed", 700);
  if (b) fail(did(access, n) + place(*b, at) + ", out of bounds", 700);
  fail(did(access, n) + hex(at) + ", where no allocation is", 700);
}

[[noreturn]] static void fail_race(const Block& b, uintptr_t at, size_t n, Access access, uint32_t block,
                                   unsigned thread, const char* other) {
  std::string message = "a race: " + did(access, n) + place(b, at) + ", which ";
  if (block == L.notes.block) message += who(block, thread);
  else message += "block " + three(block_of(block - 1)) + " thread " + std::to_string(thread);
  fail(message + " " + other + ", and nothing orders the two", 719);
}

static Block* block_at(uintptr_t at);

// The first access of a launch to an allocation: has its stream waited for the others that use it?
static void note_launch(Block& b, Access access) {
  uint64_t& by = changes(access) ? b.written_by : b.read_by;
  if (by == L.number) return;
  std::string objection = L.stream->objection(b, changes(access));
  if (!objection.empty()) fail(objection, 719);
  by = L.number;
  used(b, L.use, changes(access));
}

static void note(Block& b, uintptr_t at, size_t n, Access access) {
  if (b.of_device) note_launch(b, access);
  if (!b.shared) b.era = L.era;
  size_t from = at - b.at;
  int grain = b.grain;
  while (grain > 0 && ((from | n) & ((1u << grain) - 1))) grain--;
  if (!b.cells || grain != b.grain) refine(b, grain, L.notes);
  uint16_t me = (uint16_t)index_of(now);
  Order& order = L.notes;
  for (size_t i = from >> grain; i < (from + n) >> grain; i++) {
    Cell& c = b.cells[i];
    if (c.era != b.era) {
      memset(&c, 0, sizeof c);
      c.era = b.era;
    }
    if (!order.before(c.writer, me)) fail_race(b, at, n, access, c.writer.block, c.writer.thread, "wrote");
    int other;
    if (changes(access) && (other = order.beside(c.readers, me)) >= 0)
      fail_race(b, at, n, access, c.readers.block, (unsigned)other, "read");
    if (access < ATOMIC && (other = order.beside(c.atomics, me)) >= 0)
      fail_race(b, at, n, access, c.atomics.block, (unsigned)other, "changed by an atomic operation");
    if (access == READ) order.add(c.readers, me);
    else if (access >= ATOMIC) order.add(c.atomics, me);
    else {
      c.writer = {order.block, order.epoch[me], me};
      c.readers.many = c.atomics.many = NOBODY;
    }
  }
}

static void touch(uintptr_t at, size_t n, Access access, bool aligned) {
  if (!now || n == 0 || at - stack_now < STACK) return;
  if (++L.accesses > ENDLESS) fail("a loop that does not end", 702);
  Block* b = block_at(at);
  if (!b || !b->live || at < b->at) fail_outside(b, at, n, access);
  // Atomic operations on narrow elements take the word around them.
  size_t bytes = access >= ATOMIC ? (b->bytes + 3) & ~(size_t)3 : b->bytes;
  size_t from = at - b->at;
  if (n > bytes || from > bytes - n) fail_outside(b, at, n, access);
  if (aligned && at & (n - 1)) fail(did(access, n) + place(*b, at) + ", which is not aligned", 716);
  if (changes(access) && !b->writable) fail(did(access, n) + place(*b, at) + ", which is constant", 700);
  size_t held = n > b->bytes - from ? b->bytes - from : n;
  if (access == READ && !b->all_written(from, held)) {
    while (b->is_written(from)) from++;
    fail(did(access, n) + place(*b, at) + ", but nobody wrote byte " + std::to_string(from), 719);
  }
  if (access >= ATOMIC) {
    bool some = false;
    for (size_t i = from; i < from + held; i++) some |= b->is_written(i);
    if (!some) fail(did(access, n) + place(*b, at) + ", which nobody wrote", 719);
  }
  if (access == WRITE) b->write(from, held);
  note(*b, at, held, access);
}

extern "C" {
// Where the kernel is, for the message.
#define HERE (L.at = (uintptr_t)__builtin_return_address(0))
void ust_atomic(const void* p, unsigned n, const void* at) {
  L.at = (uintptr_t)at;
  touch((uintptr_t)p, n, ATOMIC, true);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_ignore_thread_begin() {}
void __tsan_ignore_thread_end() {}
void __tsan_vptr_update(void** p, void*) { HERE; touch((uintptr_t)p, 8, WRITE, true); }
void __tsan_vptr_read(void** p) { HERE; touch((uintptr_t)p, 8, READ, true); }
void __tsan_read_range(void* p, size_t n) { HERE; touch((uintptr_t)p, n, READ, false); }
void __tsan_write_range(void* p, size_t n) { HERE; touch((uintptr_t)p, n, WRITE, false); }
// Volatile accesses of a GPU are those of a relaxed atomic.
#define UST_ENTRIES(N)                                                                                   \
  void __tsan_read##N(void* p) { HERE; touch((uintptr_t)p, N, READ, true); }                                     \
  void __tsan_write##N(void* p) { HERE; touch((uintptr_t)p, N, WRITE, true); }                                   \
  void __tsan_unaligned_read##N(void* p) { HERE; touch((uintptr_t)p, N, READ, false); }                          \
  void __tsan_unaligned_write##N(void* p) { HERE; touch((uintptr_t)p, N, WRITE, false); }                        \
  void __tsan_volatile_read##N(void* p) { HERE; touch((uintptr_t)p, N, PEEK, true); }                            \
  void __tsan_volatile_write##N(void* p) { HERE; volatile_write((uintptr_t)p, N, true); }                        \
  void __tsan_unaligned_volatile_read##N(void* p) { HERE; touch((uintptr_t)p, N, PEEK, false); }                 \
  void __tsan_unaligned_volatile_write##N(void* p) { HERE; volatile_write((uintptr_t)p, N, false); }
static void volatile_write(uintptr_t p, size_t n, bool aligned) {
  Block* b = now && p - stack_now >= STACK ? block_at(p) : nullptr;
  if (b && b->live && b->writable && p >= b->at && n <= b->bytes && p - b->at <= b->bytes - n) b->write(p - b->at, n);
  touch(p, n, ATOMIC, aligned);
}
UST_ENTRIES(1)
UST_ENTRIES(2)
UST_ENTRIES(4)
UST_ENTRIES(8)
UST_ENTRIES(16)
void* __tsan_memcpy(void* to, const void* from, size_t n) {
  HERE; touch((uintptr_t)from, n, READ, false);
  touch((uintptr_t)to, n, WRITE, false);
  return memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
  HERE; touch((uintptr_t)from, n, READ, false);
  touch((uintptr_t)to, n, WRITE, false);
  return memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, size_t n) {
  HERE; touch((uintptr_t)to, n, WRITE, false);
  return memset(to, value, n);
}

// Indices of arrays whose length the compiler knows, and divisions, as the sanitizer of undefined
// behaviour tells them.
struct Site { const char* file; unsigned line, column; };
static std::string site(const void* data) {
  const Site* s = (const Site*)data;
  return std::string(s->file ? s->file : "?") + ":" + std::to_string(s->line) + ": ";
}
void __ubsan_handle_out_of_bounds_abort(void* data, uintptr_t index) {
  L.at = 0;
  fail(site(data) + "index " + std::to_string((long long)index) + " of an array, out of bounds", 700);
}
void __ubsan_handle_divrem_overflow_abort(void* data, uintptr_t, uintptr_t) {
  L.at = 0;
  fail(site(data) + "an integer divided by zero", 719);
}
struct Misfit { Site site; const void* type; unsigned char log_alignment, kind; };
void __ubsan_handle_type_mismatch_v1_abort(void* data, uintptr_t at) {
  L.at = 0;
  const Misfit* m = (const Misfit*)data;
  Block* b = now && at - stack_now >= STACK ? block_at(at) : nullptr;
  std::string what = b && at >= b->at ? place(*b, at) : hex(at);
  fail(site(&m->site) + what + ", which is not aligned to " + std::to_string(1u << m->log_alignment) + " bytes", 716);
}
void ust_range(const void* p, size_t n, int writes) { HERE; touch((uintptr_t)p, n, writes ? WRITE : READ, false); }

// What kernels ask of their thread; see kernel.h.
void ust_where(unsigned* to) {
  const unsigned all[] = {now->x, now->y, now->z, L.block.x, L.block.y, L.block.z,
                          L.threads.x, L.threads.y, L.threads.z, L.grid.x, L.grid.y, L.grid.z};
  memcpy(to, all, sizeof all);
}
unsigned ust_lane() { return index_of(now) % WARP; }
// How many threads of the block say yes.
unsigned ust_meet_block(int yes) {
  Thread* me = now;
  me->value = yes != 0;
  wait(AT_BLOCK);
  return (unsigned)me->result;
}
uint64_t ust_meet_warp(unsigned mask, int what, uint64_t value, int source) {
  HERE;
  Thread* me = now;
  if (!(mask >> index_of(me) % WARP & 1)) fail("a thread meets lanes under a mask without itself", 719);
  me->mask = mask;
  me->what = what;
  me->value = value;
  me->source = source;
  wait(AT_WARP);
  return me->result;
}
void ust_trap(const char* what) { HERE; fail(what, 715); }
}
