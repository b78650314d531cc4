// A driver of a virtual device: launches run on the host's processor, at once and checked.
//
// memory.h holds the device's memory, streams.h tells who has waited for whom, races.h notes who touched
// what, threads.h runs blocks, checks.h is what every access goes through, modules.h loads kernels. Here
// are the functions of the driver that this crate calls.
#include <time.h>
#include <mutex>

#include "modules.h"

enum Result { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_IMAGE = 200,
              NOT_FOUND = 500, OUT_OF_RESOURCES = 701 };

static std::mutex door;
static Arena arena;
static thread_local std::string said;
#define ENTER std::lock_guard<std::mutex> entered(door)

static int refuse(int code, std::string why) {
  said = std::move(why);
  return code;
}

static Stream standard;
static Stream& of(void* stream) { return stream ? *(Stream*)stream : standard; }
// The host waits for a stream.
static int wait_for(void* stream) {
  Stream& s = of(stream);
  join(host, s.clock);
  int code = s.code;
  if (code) said = s.message;
  s.code = 0;
  return code;
}

struct Event {
  timespec at{};
  Clock clock;
  int code = 0;
  std::string message;
};

static Module* running = nullptr;
constexpr unsigned SHARED = 48 << 10, SHARED_OPTIN = 227 << 10;

static Block* block_at(uintptr_t at) {
  if (Block* b = arena.find(at)) return b;
  for (Block* b : running->regions) if (at >= b->at && at - b->at < b->bytes) return b;
  return nullptr;
}

extern "C" {
const char* ust_emulator_message() { return said.c_str(); }
void ust_emulator_memory(size_t bytes) { ENTER; arena.limit = bytes; }
// Calls of a kind that are still to come before some fail, and how many fail then.
static struct { uint64_t before = UINT64_MAX, failing = 0; } fates[2];
enum { ALLOCATIONS, DOWNLOADS };
void ust_emulator_fail_calls(int kind, uint64_t before, uint64_t failing) { ENTER; fates[kind] = {before, failing}; }
// How many calls of a kind were to come, and did not.
uint64_t ust_emulator_calls_left(int kind) { ENTER; return fates[kind].before; }
static bool fails(int kind) {
  auto& [before, failing] = fates[kind];
  if (before > 0) return before--, false;
  return failing > 0 && failing--;
}
static bool pools = true;
void ust_emulator_pools(int yes) { ENTER; pools = yes; }
static uint64_t seed = 0, launches = 0;
void ust_emulator_seed(uint64_t value) { ENTER; seed = value; launches = 0; }

// For libraries beside the driver: work of a stream fails, as that of a kernel does.
int ust_emulator_fail(void* stream, int code, const char* why) {
  ENTER;
  if (!of(stream).code) of(stream).code = code, of(stream).message = why;
  return code;
}
// For libraries beside the driver: their work uses bytes. What kernels are checked for fails the stream.
int ust_emulator_use(void* stream, uintptr_t at, size_t n, int writes, const char* what) {
  ENTER;
  Stream& s = of(stream);
  if (s.code || n == 0) return s.code;
  auto fail = [&](int code, std::string why) {
    s.code = code;
    s.message = std::string(what) + (writes ? " writes " : " reads ") + std::to_string(n) + " bytes " + why;
    return code;
  };
  Block* b = arena.holds(at, n);
  if (!b) return fail(700, "at " + hex(at) + ", which are not in one allocation");
  size_t off = at - b->at;
  if (!writes && !b->all_written(off, n)) return fail(719, "of " + b->name + ", some of which nobody wrote");
  Use now = s.next(what);
  std::string objection = s.objection(*b, writes);
  if (!objection.empty()) return fail(719, "too early: " + objection);
  if (writes) b->write(off, n);
  used(*b, now, writes);
  return SUCCESS;
}

int cuInit(unsigned) {
  ENTER;
  if (const char* text = getenv("UST_EMULATOR_SEED")) seed = strtoull(text, nullptr, 10);
  return arena.open() ? SUCCESS : refuse(OUT_OF_MEMORY, "no addresses for the virtual device");
}
int cuDriverGetVersion(int* v) { *v = 13000; return SUCCESS; }
int cuDeviceGetCount(int* n) { *n = 1; return SUCCESS; }
int cuDeviceGet(int* d, int ordinal) {
  if (ordinal != 0) return refuse(INVALID_DEVICE, "there is one virtual device");
  *d = 0;
  return SUCCESS;
}
int cuDeviceGetName(char* name, int n, int) { snprintf(name, (size_t)n, "UST emulator"); return SUCCESS; }
int cuDeviceTotalMem_v2(size_t* n, int) { ENTER; *n = arena.limit; return SUCCESS; }
int cuDeviceGetAttribute(int* v, int attribute, int) {
  switch (attribute) {
    case 1: *v = MOST; break;
    case 8: *v = SHARED; break;
    case 10: *v = WARP; break;
    case 13: *v = 1500000; break;
    case 16: *v = 4; break;
    case 36: *v = 2000000; break;
    case 37: *v = 1024; break;
    case 38: *v = 4 << 20; break;
    case 39: *v = 2048; break;
    case 75: *v = 9; break;
    case 76: *v = 0; break;
    case 81: *v = 228 << 10; break;
    case 97: *v = SHARED_OPTIN; break;
    case 115: *v = pools; break;
    default: *v = 0;
  }
  return SUCCESS;
}
int cuDevicePrimaryCtxRetain(void** c, int) { *c = &arena; return SUCCESS; }
int cuDevicePrimaryCtxRelease_v2(int) { return SUCCESS; }
int cuCtxSetCurrent(void*) { return SUCCESS; }
// The host waits for all.
static void wait_for_all() { join(host, counted); }
int cuCtxSynchronize() { ENTER; wait_for_all(); return wait_for(nullptr); }

int cuDeviceGetDefaultMemPool(void** pool, int) { *pool = &arena; return SUCCESS; }
int cuMemPoolSetAttribute(void*, int attribute, void* value) {
  ENTER;
  if (attribute == 4) arena.threshold = *(uint64_t*)value;
  return SUCCESS;
}
int cuMemPoolTrimTo(void*, size_t keep) { ENTER; if (arena.cached > keep) arena.cached = keep; return SUCCESS; }
static int allocate(uintptr_t* at, size_t n, bool pooled) {
  if (n == 0) return refuse(INVALID_VALUE, "no bytes to allocate");
  *at = fails(ALLOCATIONS) ? 0 : arena.allocate(n, pooled);
  return *at ? SUCCESS : refuse(OUT_OF_MEMORY, "the virtual device is full");
}
static int no_allocation(uintptr_t at) { return refuse(INVALID_VALUE, "no allocation begins at " + hex(at)); }
int cuMemAllocAsync(uintptr_t* at, size_t n, void* stream) {
  ENTER;
  int code = allocate(at, n, true);
  if (code == SUCCESS) used(*arena.find(*at), of(stream).next("its allocation"), true);
  return code;
}
int cuMemFreeAsync(uintptr_t at, void* stream) {
  ENTER;
  Stream& s = of(stream);
  if (Block* b = arena.holds(at, 0)) {
    s.next("");
    std::string objection = s.objection(*b, true);
    if (!objection.empty() && !s.code) s.code = 719, s.message = "freed too early: " + objection;
  }
  return arena.release(at, true) ? SUCCESS : no_allocation(at);
}
int cuMemAlloc_v2(uintptr_t* at, size_t n) { ENTER; return allocate(at, n, false); }
int cuMemFree_v2(uintptr_t at) { ENTER; wait_for_all(); return arena.release(at, false) ? SUCCESS : no_allocation(at); }
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  ENTER;
  size_t taken = arena.used + arena.cached;
  *total = arena.limit;
  *free = taken < arena.limit ? arena.limit - taken : 0;
  return SUCCESS;
}
int cuPointerGetAttribute(void*, int, uintptr_t) { return refuse(INVALID_VALUE, "memory of the host"); }
int cuMemHostAlloc(void** p, size_t n, unsigned) { return (*p = malloc(n)) ? SUCCESS : OUT_OF_MEMORY; }
int cuMemFreeHost(void* p) { free(p); return SUCCESS; }

static int outside(uintptr_t at, size_t n) {
  return refuse(INVALID_VALUE, std::to_string(n) + " bytes at " + hex(at) + " are not in one allocation");
}
// A stream uses an allocation.
static int use(Stream& s, Block* b, bool writes, const char* what) {
  Use now = s.next(what);
  std::string objection = s.objection(*b, writes);
  if (!objection.empty()) return refuse(719, objection);
  used(*b, now, writes);
  return SUCCESS;
}
int cuMemcpyHtoDAsync_v2(uintptr_t to, const void* from, size_t n, void* stream) {
  ENTER;
  Block* b = arena.holds(to, n);
  if (!b) return outside(to, n);
  if (of(stream).code) return SUCCESS;
  if (int code = use(of(stream), b, true, "a copy from the host")) return code;
  memcpy((void*)to, from, n);
  b->write(to - b->at, n);
  return SUCCESS;
}
int cuMemcpyDtoHAsync_v2(void* to, uintptr_t from, size_t n, void* stream) {
  ENTER;
  Block* b = arena.holds(from, n);
  if (!b) return outside(from, n);
  if (of(stream).code) return wait_for(stream);
  if (int code = use(of(stream), b, false, "a copy to the host")) return code;
  if (fails(DOWNLOADS)) return refuse(999, "this copy to the host was told to fail");
  memcpy(to, (void*)from, n);
  size_t off = from - b->at;
  if (!b->all_written(off, n))
    for (size_t i = 0; i < n; i++) if (!b->is_written(off + i)) ((uint8_t*)to)[i] = POISON;
  return SUCCESS;
}
int cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t n, void* stream) {
  ENTER;
  Block *a = arena.holds(from, n), *b = arena.holds(to, n);
  if (!a) return outside(from, n);
  if (!b) return outside(to, n);
  if (of(stream).code) return SUCCESS;
  if (int code = use(of(stream), a, false, "a copy")) return code;
  if (int code = use(of(stream), b, true, "a copy")) return code;
  memmove((void*)to, (void*)from, n);
  size_t off = from - a->at, into = to - b->at;
  if (a->all_written(off, n)) { b->write(into, n); return SUCCESS; }
  for (size_t i = 0; i < n; i++) {
    uint8_t bit = (uint8_t)(1 << (into + i) % 8);
    if (a->is_written(off + i)) b->written[(into + i) / 8] |= bit;
    else b->written[(into + i) / 8] &= (uint8_t)~bit;
  }
  return SUCCESS;
}
static int fill(uintptr_t to, const void* pattern, size_t width, size_t n, void* stream) {
  ENTER;
  Block* b = arena.holds(to, n * width);
  if (!b || to % width) return outside(to, n * width);
  if (of(stream).code) return SUCCESS;
  if (int code = use(of(stream), b, true, "a fill")) return code;
  if (width == 1) memset((void*)to, *(const uint8_t*)pattern, n);
  else for (size_t i = 0; i < n; i++) memcpy((char*)to + i * width, pattern, width);
  b->write(to - b->at, n * width);
  return SUCCESS;
}
int cuMemsetD8Async(uintptr_t to, unsigned char v, size_t n, void* s) { return fill(to, &v, 1, n, s); }
int cuMemsetD16Async(uintptr_t to, unsigned short v, size_t n, void* s) { return fill(to, &v, 2, n, s); }
int cuMemsetD32Async(uintptr_t to, unsigned v, size_t n, void* s) { return fill(to, &v, 4, n, s); }

int cuStreamCreate(void** s, unsigned) { ENTER; *s = new Stream; return SUCCESS; }
int cuStreamDestroy_v2(void* s) { ENTER; delete (Stream*)s; return SUCCESS; }
int cuStreamSynchronize(void* s) { ENTER; return wait_for(s); }
int cuStreamWaitEvent(void* s, void* event, unsigned) {
  ENTER;
  Event& e = *(Event*)event;
  join(of(s).clock, e.clock);
  if (!of(s).code && e.code) of(s).code = e.code, of(s).message = e.message;
  return SUCCESS;
}
int cuEventCreate(void** e, unsigned) { *e = new Event; return SUCCESS; }
int cuEventRecord(void* event, void* s) {
  ENTER;
  Event& e = *(Event*)event;
  clock_gettime(CLOCK_MONOTONIC, &e.at);
  e.clock = of(s).clock;
  join(e.clock, host);
  e.code = of(s).code;
  e.message = of(s).message;
  return SUCCESS;
}
int cuEventSynchronize(void* event) {
  ENTER;
  Event& e = *(Event*)event;
  join(host, e.clock);
  if (e.code) said = e.message;
  return e.code;
}
int cuEventQuery(void*) { return SUCCESS; }
int cuEventElapsedTime_v2(float* ms, void* from, void* to) {
  timespec a = ((Event*)from)->at, b = ((Event*)to)->at;
  *ms = (float)((double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6);
  return SUCCESS;
}
int cuEventElapsedTime(float* ms, void* from, void* to) { return cuEventElapsedTime_v2(ms, from, to); }
int cuEventDestroy_v2(void* e) { ENTER; delete (Event*)e; return SUCCESS; }

int cuModuleLoadData(void** out, const void* image) {
  std::string why;
  Module* m = load(image, why);
  if (!m) return refuse(INVALID_IMAGE, why);
  *out = m;
  return SUCCESS;
}
int cuModuleUnload(void* module) {
  ENTER;
  delete (Module*)module;
  return SUCCESS;
}
int cuModuleGetFunction(void** out, void* module, const char* name) {
  ENTER;
  Module* m = (Module*)module;
  struct Entry { void (*call)(void**); unsigned count; const unsigned* sizes; unsigned most; };
  Entry* e = (Entry*)dlsym(m->library, (std::string("ust_kernel_") + name).c_str());
  if (!e) return refuse(NOT_FOUND, std::string("no kernel `") + name + "`");
  int dynamic = m->shared_bytes < SHARED ? (int)(SHARED - m->shared_bytes) : 0;
  Function* f = new Function{m, name, {nullptr, e->call, e->count, e->sizes, e->most}, dynamic};
  f->kernel.name = f->name.c_str();
  m->functions.push_back(f);
  *out = f;
  return SUCCESS;
}
static int fixed_shared(Function* f) { return (int)f->module->shared_bytes; }
int cuFuncGetAttribute(int* v, int attribute, void* function) {
  Function* f = (Function*)function;
  switch (attribute) {
    case 0: *v = (int)f->kernel.most; break;
    case 1: *v = fixed_shared(f); break;
    case 4: *v = 32; break;
    case 8: *v = f->dynamic; break;
    default: *v = 0;
  }
  return SUCCESS;
}
int cuFuncSetAttribute(void* function, int attribute, int v) {
  ENTER;
  Function* f = (Function*)function;
  if (attribute != 8 || v < 0 || v + fixed_shared(f) > (int)SHARED_OPTIN) return refuse(INVALID_VALUE, "more shared memory than there is");
  f->dynamic = v;
  return SUCCESS;
}
int cuFuncGetParamInfo(void* function, size_t i, size_t* offset, size_t* size) {
  Function* f = (Function*)function;
  if (i >= f->kernel.count) return refuse(INVALID_VALUE, "no such parameter");
  *offset = 8 * i;
  *size = f->kernel.sizes[i];
  return SUCCESS;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** params, void**) {
  ENTER;
  Function* f = (Function*)function;
  if (!gx || !gy || !gz || !bx || !by || !bz) return refuse(INVALID_VALUE, "a grid without threads");
  if (gx > 0x7fffffffu || gy > 65535 || gz > 65535) return refuse(INVALID_VALUE, "too many blocks");
  if ((uint64_t)bx * by * bz > MOST || bx > 1024 || by > 1024 || bz > 64) return refuse(INVALID_VALUE, "more threads in a block than 1024");
  if (bx * by * bz > f->kernel.most) return refuse(OUT_OF_RESOURCES, "more threads in a block than __launch_bounds__ says");
  if ((int)shared > f->dynamic) return refuse(INVALID_VALUE, "more shared memory than the kernel asked for");
  if ((int)shared + fixed_shared(f) > (int)SHARED_OPTIN) return refuse(INVALID_VALUE, "more shared memory than there is");
  if (of(stream).code) return SUCCESS;
  if (!L.stacks) {
    void* at = mmap(nullptr, STACK * MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return refuse(OUT_OF_MEMORY, "no stacks");
    L.stacks = (char*)at;
    for (unsigned i = 0; i < MOST; i++) mprotect(L.stacks + i * STACK, 4096, PROT_NONE);
  }
  running = f->module;
  L.stream = &of(stream);
  L.use = L.stream->next("`" + f->name + "`");
  L.kernel = f->kernel;
  L.params = params;
  L.grid = {gx, gy, gz};
  L.threads = {bx, by, bz};
  L.count = bx * by * bz;
  L.number = ++launches;
  L.seed = seed;
  L.random.state = seed * 0x9e3779b97f4a7c15 + L.number;
  L.message.clear();
  L.code = 0;
  L.era = ++L.eras;
  L.shared = running->shared;
  if (running->dynamic) running->dynamic->resize(shared);
  for (unsigned i = 0; i < L.count; i++) {
    L.order[i] = (uint16_t)i;
    L.thread[i].x = i % bx;
    L.thread[i].y = i / bx % by;
    L.thread[i].z = i / bx / by;
  }
  for (unsigned i = L.count; i > 1; i--) std::swap(L.order[i - 1], L.order[L.random.below(i)]);
  L.idle.clear();
  for (unsigned i = L.count; i > 0; i--) L.idle.push_back(i - 1);
  try {
    run_blocks();
  } catch (const Stop&) {
    for (Worker& w : L.worker) w.begun = false;
    of(stream).code = L.code;
    of(stream).message = L.message + line_of(*running, L.at);
    now = nullptr;
  }
  L.inside = false;
  return SUCCESS;
}

int cuGetErrorName(int code, const char** name) {
  switch (code) {
    case SUCCESS: *name = "CUDA_SUCCESS"; break;
    case INVALID_VALUE: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case INVALID_DEVICE: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
    case INVALID_IMAGE: *name = "CUDA_ERROR_INVALID_IMAGE"; break;
    case NOT_FOUND: *name = "CUDA_ERROR_NOT_FOUND"; break;
    case 700: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case OUT_OF_RESOURCES: *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"; break;
    case 702: *name = "CUDA_ERROR_LAUNCH_TIMEOUT"; break;
    case 715: *name = "CUDA_ERROR_ILLEGAL_INSTRUCTION"; break;
    case 716: *name = "CUDA_ERROR_MISALIGNED_ADDRESS"; break;
    case 719: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
    default: *name = "CUDA_ERROR_UNKNOWN";
  }
  return SUCCESS;
}
int cuGetErrorString(int code, const char** text) { return cuGetErrorName(code, text); }
}
