// Threads of a block as coroutines of the host's thread, and what happens where they meet.
//
// A *worker* is a stack. It runs threads one after another, until one waits; that thread keeps the worker,
// and the next threads run on another. So threads that never wait cost a call each.
#pragma once
#include "races.h"
#include "streams.h"
#if !defined(__x86_64__) || defined(UST_UCONTEXT)
#include <ucontext.h>
#endif

constexpr size_t STACK = 256 << 10;

#if defined(__x86_64__) && !defined(UST_UCONTEXT)
typedef void* Context;
extern "C" void ust_switch(Context* from, Context to);
asm(".text\n.globl ust_switch\n.hidden ust_switch\n.type ust_switch,@function\nust_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n.size ust_switch,.-ust_switch\n");
static void change(Context& from, Context& to) { ust_switch(&from, to); }
static void prepare(Context& at, char* stack, void (*body)()) {
  void** top = (void**)(stack + STACK);
  *--top = nullptr;
  *--top = (void*)body;
  for (int i = 0; i < 6; i++) *--top = nullptr;
  at = top;
}
#else
typedef ucontext_t Context;
static void change(Context& from, Context& to) { swapcontext(&from, &to); }
static void prepare(Context& at, char* stack, void (*body)()) {
  getcontext(&at);
  at.uc_stack.ss_sp = stack;
  at.uc_stack.ss_size = STACK;
  at.uc_link = nullptr;
  makecontext(&at, body, 0);
}
#endif

enum State : uint8_t { FRESH, READY, AT_BLOCK, AT_WARP, DONE };
// What the lanes of a warp do together; the same numbers as in kernel.h.
enum Together : int { SYNC = 0, SHUFFLE = 1, BALLOT = 2, SUM = 3, LEAST = 4, GREATEST = 5, AND = 6, OR = 7, XOR = 8 };

struct Thread {
  State state;
  unsigned worker;
  unsigned x, y, z;
  // At a meeting of lanes.
  uint32_t mask;
  int what;
  int source;
  uint64_t value, result;
};

struct Worker {
  Context context;
  bool begun = false;
};

struct Dim { unsigned x, y, z; };

struct Kernel {
  const char* name;
  void (*call)(void**);
  unsigned count;
  const unsigned* sizes;
  unsigned most;
};

[[noreturn]] void fail(std::string message, int code);

// The launch that runs; there is one at a time.
struct Launch {
  Kernel kernel;
  Stream* stream;
  Use use;
  void** params;
  Dim grid, threads, block;
  unsigned count;
  std::vector<Block*> shared;
  // Notes of earlier launches say nothing, and in shared memory those of earlier blocks.
  uint32_t eras, era;
  uint64_t number, seed;
  Random random{0};
  Thread thread[MOST];
  uint16_t order[MOST];
  unsigned next, left, waiting;
  uint64_t accesses;
  Order notes;
  Worker worker[MOST];
  char* stacks = nullptr;
  std::vector<unsigned> idle;
  Context outside;
  // Whether a worker runs, and not what hands out threads.
  bool inside = false;
  // Where the kernel was last; 0 if the message says it.
  uintptr_t at;
  std::string message;
  int code;
};
// Ends a launch outside of its threads.
struct Stop {};
static Launch L;
// The thread that runs, and the lowest address of its stack.
static Thread* now = nullptr;
static uintptr_t stack_now = 0;

static unsigned index_of(const Thread* t) { return (unsigned)(t - L.thread); }

static std::string three(Dim d) {
  if (d.y == 0 && d.z == 0) return std::to_string(d.x);
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}
static Dim block_of(uint64_t number) {
  return {(unsigned)(number % L.grid.x), (unsigned)(number / L.grid.x % L.grid.y), (unsigned)(number / L.grid.x / L.grid.y)};
}
// A thread as people name it; blocks count from 1 in notes.
static std::string who(uint32_t block, unsigned t) {
  return "block " + three(block_of(block - 1)) + " thread " + three({L.thread[t].x, L.thread[t].y, L.thread[t].z});
}

// Leaves the launch, and never comes back to its threads.
void fail(std::string message, int code) {
  L.message = "kernel `" + std::string(L.kernel.name) + "`";
  if (now) L.message += ", " + who(L.notes.block, index_of(now));
  L.message += ": " + message + " (launch " + std::to_string(L.number) + ", seed " + std::to_string(L.seed) + ")";
  L.code = code;
  now = nullptr;
  if (!L.inside) {
    L.at = 0;
    throw Stop();
  }
  static Context lost;
  change(lost, L.outside);
  abort();
}

// Goes to a worker, and comes back when it waits, has nothing to do, or has failed.
static void enter(unsigned worker) {
  L.inside = true;
  change(L.outside, L.worker[worker].context);
  L.inside = false;
  if (L.code) throw Stop();
}

static void run(unsigned t, unsigned worker) {
  now = &L.thread[t];
  stack_now = (uintptr_t)L.stacks + worker * STACK;
}

static void finished(Thread* t);

static void work() {
  for (;;) {
    while (L.next < L.count) {
      unsigned t = L.order[L.next++];
      unsigned worker = (unsigned)((uintptr_t)__builtin_frame_address(0) - (uintptr_t)L.stacks) / STACK;
      L.thread[t].worker = worker;
      L.accesses = 0;
      run(t, worker);
      L.kernel.call(L.params);
      finished(now);
    }
    unsigned worker = (unsigned)((uintptr_t)__builtin_frame_address(0) - (uintptr_t)L.stacks) / STACK;
    L.idle.push_back(worker);
    change(L.worker[worker].context, L.outside);
  }
}

static void resume(unsigned worker) {
  Worker& w = L.worker[worker];
  if (!w.begun) {
    prepare(w.context, L.stacks + worker * STACK, work);
    w.begun = true;
  }
  enter(worker);
}

// All threads of the block wait: they go on.
static void meet_block() {
  if (++L.waiting < L.count) return;
  L.waiting = 0;
  L.notes.meet_block(L.count);
  uint64_t count = 0;
  for (unsigned t = 0; t < L.count; t++) count += L.thread[t].value != 0;
  for (unsigned t = 0; t < L.count; t++) L.thread[t].state = READY, L.thread[t].result = count;
}

static void combine(unsigned warp, uint32_t mask, Thread& first) {
  uint64_t all = 0;
  bool begun = false;
  if (first.what == SYNC) return L.notes.meet_warp(warp, mask);
  for (unsigned l = 0; l < WARP; l++) {
    if (!(mask >> l & 1)) continue;
    Thread& t = L.thread[warp * WARP + l];
    if (t.what == SHUFFLE) {
      if (!(mask >> t.source & 1))
        fail("a shuffle reads from lane " + std::to_string(t.source) + ", which takes no part in it", 719);
      t.result = L.thread[warp * WARP + (unsigned)t.source].value;
    }
    uint64_t v = t.value;
    int64_t a = (int64_t)all, b = (int64_t)v;
    switch (t.what) {
      case BALLOT: all |= (uint64_t)(v != 0) << l; break;
      case SUM: all += v; break;
      case LEAST: all = begun && a < b ? all : v; break;
      case GREATEST: all = begun && a > b ? all : v; break;
      case AND: all = begun ? all & v : v; break;
      case OR: all |= v; break;
      case XOR: all ^= v; break;
    }
    begun = true;
  }
  if (first.what == SHUFFLE) return;
  for (unsigned l = 0; l < WARP; l++) if (mask >> l & 1) L.thread[warp * WARP + l].result = all;
}

// A lane has come to where its warp meets: the lanes go on, if all are there. `last` says that nobody else
// will come.
static void meet_warp(Thread* me, bool last = false) {
  unsigned warp = index_of(me) / WARP;
  // Lanes that a block never had take no part, as on a device.
  unsigned lanes = L.count - warp * WARP;
  uint32_t mask = lanes < WARP ? me->mask & ((1u << lanes) - 1) : me->mask;
  for (unsigned l = 0; l < WARP; l++) {
    if (!(mask >> l & 1)) continue;
    Thread& t = L.thread[warp * WARP + l];
    if (t.state == DONE) fail("lane " + std::to_string(l) + " of the mask has exited", 719);
    if (t.state != AT_WARP) return;
    if (t.what == me->what && t.mask == me->mask) continue;
    // It may meet others first.
    if (!last) return;
    fail("lane " + std::to_string(l) + " of the mask waits for others, or does something else", 719);
  }
  combine(warp, mask, *me);
  for (unsigned l = 0; l < WARP; l++) if (mask >> l & 1) L.thread[warp * WARP + l].state = READY;
}

// Waits for the others.
static void wait(State state) {
  Thread* me = now;
  me->state = state;
  if (state == AT_BLOCK) meet_block();
  else meet_warp(me);
  if (me->state == READY) return;
  change(L.worker[me->worker].context, L.outside);
  L.accesses = 0;
}

static void finished(Thread* t) {
  t->state = DONE;
  L.left--;
}

// Nobody can go on: says who waits for whom.
static void stuck() {
  for (unsigned t = 0; t < L.count; t++) {
    now = &L.thread[t];
    if (now->state == AT_WARP) meet_warp(now, true);
  }
  now = nullptr;
  std::string message = "a barrier that is never met: ";
  message += std::to_string(L.waiting) + " of " + std::to_string(L.count) + " threads wait for their block, ";
  message += std::to_string(L.left - L.waiting) + " for their warp, " + std::to_string(L.count - L.left) + " have exited";
  fail(message, 719);
}

static void run_block(uint64_t number) {
  L.block = block_of(number);
  L.notes.begin((uint32_t)number + 1, L.count);
  for (Block* shared : L.shared) {
    shared->unwrite();
    shared->era = ++L.eras;
  }
  for (unsigned t = 0; t < L.count; t++) L.thread[t].state = FRESH;
  L.next = L.waiting = 0;
  L.left = L.count;
  uint64_t turn = L.random.next();
  while (L.left > 0) {
    if (L.next < L.count) {
      unsigned worker = L.idle.back();
      L.idle.pop_back();
      resume(worker);
      continue;
    }
    bool moved = false;
    for (unsigned i = 0; i < L.count; i++) {
      unsigned t = L.order[(i + turn) % L.count];
      if (L.thread[t].state != READY) continue;
      moved = true;
      run(t, L.thread[t].worker);
      enter(L.thread[t].worker);
    }
    turn = L.random.next();
    if (!moved && L.left > 0) stuck();
  }
  now = nullptr;
}

static void run_blocks() {
  uint64_t blocks = (uint64_t)L.grid.x * L.grid.y * L.grid.z;
  uint64_t start = L.random.below(blocks), step = 1;
  auto divisor = [](uint64_t a, uint64_t b) { while (b) { uint64_t c = a % b; a = b; b = c; } return a; };
  if (blocks > 2) do step = 1 + L.random.below(blocks - 1); while (divisor(step, blocks) != 1);
  for (uint64_t i = 0; i < blocks; i++) run_block((uint64_t)(((unsigned __int128)i * step + start) % blocks));
}
