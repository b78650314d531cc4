// cuSPARSELt for the virtual device: the functions that this crate calls, as loops of the host over the device's memory.
// What the library reads and writes is checked as the accesses of kernels are. Of integers of 8 bits, sums have 32 bits,
// and the dense factor is stored by columns. A compressed matrix has its values, and
// then four bits for each group, row by row: the vendor's library has an order of its own for each device.
#include "products.h"

enum Status { OK = 0, INVALID = 3, UNSUPPORTED = 10 };
enum { COMPUTE_32I = 0, COMPUTE_32F = 2, HANDLE = 0x5a10, MATRIX, PRODUCT, ALGORITHM, PLAN };
constexpr size_t LT_ROOM = 96;

// The vendor's structures have 512 bytes.
struct Opaque { int what; };
struct LtMatrix : Opaque { DenseMatrix m; bool structured; };
struct LtProduct : Opaque { const LtMatrix *a, *b, *d; };
struct LtAlgorithm : Opaque { const LtProduct* product; };
struct LtPlan : Opaque { const LtProduct* product; };

template <class T> static bool is(const T* of, int what) { return of && of->what == what; }
static size_t values_bytes(const DenseMatrix& a) { return a.rows * a.columns / 2 * bytes_of(a.type); }
static size_t compressed_bytes(const DenseMatrix& a) { return values_bytes(a) + a.rows * a.columns / 8; }

static int make(const Opaque* handle, LtMatrix* to, int64_t rows, int64_t columns, int64_t stride, uint32_t alignment, int type,
                int order, bool structured) {
  int64_t multiple = (structured ? 16 : 8) * (type == R_8I ? 2 : 1), along = order == BY_ROWS ? columns : rows;
  if (!is(handle, HANDLE) || alignment % 16 || rows <= 0 || columns <= 0 || stride < along) return INVALID;
  if (type != R_16F && type != R_16BF && type != R_8I && (structured || type != R_32I)) return UNSUPPORTED;
  if (rows % multiple || columns % multiple || stride % multiple) return UNSUPPORTED;
  *to = LtMatrix{{MATRIX}, {rows, columns, stride, 0, type, order}, structured};
  return OK;
}

struct Integer {
  int32_t value;
  static Integer of(int32_t value) { return {value}; }
};
static bool is_zero(uint16_t half) { return (half & 0x7fff) == 0; }
static bool is_zero(int8_t number) { return number == 0; }
// Of every four neighbours the two places that are stored: those that are not 0, and then the lowest others.
template <class T> static void compress(const Work& w, const DenseMatrix& a, uintptr_t to) {
  w.reads(a.values, sizeof(T) * a.span());
  w.writes(to, compressed_bytes(a));
  T* values = (T*)to;
  uint8_t* metadata = (uint8_t*)(to + values_bytes(a));
  memset(metadata, 0, a.rows * a.columns / 8);
  for (int64_t group = 0; group < a.rows * a.columns / 4; group++) {
    const T* four = (const T*)a.values + a.at(group * 4 / a.columns, group * 4 % a.columns);
    bool taken[4];
    int count = 0;
    for (int i = 0; i < 4; i++) count += taken[i] = !is_zero(four[i]);
    if (count > 2) w.fail("a group stores " + std::to_string(count) + " of 4");
    for (int i = 0; count < 2; i++)
      if (!taken[i]) taken[i] = true, count++;
    int code = 0, found = 0;
    for (int i = 0; i < 4; i++)
      if (taken[i]) values[2 * group + found] = four[i], code |= i << 2 * found++;
    metadata[group / 2] |= code << group % 2 * 4;
  }
}

template <class T, class To> static void multiply(const Work& w, const DenseMatrix& a, uintptr_t compressed, const DenseMatrix& b, const DenseMatrix& d) {
  w.reads(compressed, compressed_bytes(a));
  w.reads(b.values, sizeof(T) * b.span());
  int64_t along = d.order == BY_ROWS ? d.columns : d.rows, lines = d.order == BY_ROWS ? d.rows : d.columns;
  for (int64_t line = 0; line < lines; line++) w.writes(d.values + sizeof(To) * d.stride * line, sizeof(To) * along);
  const uint8_t* metadata = (const uint8_t*)(compressed + values_bytes(a));
  for (int64_t i = 0; i < d.rows; i++)
    for (int64_t k = 0; k < d.columns; k++) {
      typename Sum<T>::type sum = 0;
      for (int64_t group = i * a.columns / 4; group < (i + 1) * a.columns / 4; group++) {
        int code = metadata[group / 2] >> group % 2 * 4 & 15;
        for (int n = 0; n < 2; n++) {
          int64_t j = group * 4 % a.columns + (code >> 2 * n & 3);
          sum += get<T>(compressed, 2 * group + n) * get<T>(b.values, b.at(j, k));
        }
      }
      ((To*)d.values)[d.at(i, k)] = To::of(sum);
    }
}

extern "C" {
const char* cusparseLtGetErrorName(int status) {
  switch (status) {
    case OK: return "CUSPARSE_STATUS_SUCCESS";
    case INVALID: return "CUSPARSE_STATUS_INVALID_VALUE";
    case UNSUPPORTED: return "CUSPARSE_STATUS_NOT_SUPPORTED";
    default: return "unknown";
  }
}
// Major, minor, patch.
int cusparseLtGetProperty(int which, int* v) { *v = which == 1 ? 8 : 0; return OK; }
int cusparseLtInit(Opaque* to) { to->what = HANDLE; return OK; }
static int destroy(const Opaque* of, int what) {
  if (!is(of, what)) return INVALID;
  ((Opaque*)of)->what = 0;
  return OK;
}
int cusparseLtDestroy(const Opaque* of) { return destroy(of, HANDLE); }
int cusparseLtDenseDescriptorInit(const Opaque* h, LtMatrix* to, int64_t rows, int64_t columns, int64_t stride,
                                  uint32_t alignment, int type, int order) {
  return make(h, to, rows, columns, stride, alignment, type, order, false);
}
int cusparseLtStructuredDescriptorInit(const Opaque* h, LtMatrix* to, int64_t rows, int64_t columns, int64_t stride,
                                       uint32_t alignment, int type, int order, int sparsity) {
  return sparsity ? INVALID : make(h, to, rows, columns, stride, alignment, type, order, true);
}
int cusparseLtMatDescriptorDestroy(const Opaque* of) { return destroy(of, MATRIX); }
int cusparseLtMatmulDescriptorInit(const Opaque* h, LtProduct* to, int op_a, int op_b, const LtMatrix* a, const LtMatrix* b,
                                   const LtMatrix* c, const LtMatrix* d, int computed) {
  if (!is(h, HANDLE) || !is(a, MATRIX) || !is(b, MATRIX) || !is(c, MATRIX) || c != d) return INVALID;
  bool integers = a->m.type == R_8I;
  if (op_a || op_b || computed != (integers ? COMPUTE_32I : COMPUTE_32F)) return UNSUPPORTED;
  if (!a->structured || b->structured || d->structured || a->m.order != BY_ROWS) return UNSUPPORTED;
  if (a->m.type != b->m.type || d->m.type != (integers ? R_32I : a->m.type)) return UNSUPPORTED;
  if (integers && b->m.order != BY_COLUMNS) return UNSUPPORTED;
  if (a->m.rows != d->m.rows || b->m.columns != d->m.columns || a->m.columns != b->m.rows) return INVALID;
  *to = LtProduct{{PRODUCT}, a, b, d};
  return OK;
}
int cusparseLtMatmulAlgSelectionInit(const Opaque* h, LtAlgorithm* to, const LtProduct* product, int which) {
  if (!is(h, HANDLE) || !is(product, PRODUCT) || which) return INVALID;
  *to = LtAlgorithm{{ALGORITHM}, product};
  return OK;
}
int cusparseLtMatmulAlgSelectionDestroy(const Opaque* of) { return destroy(of, ALGORITHM); }
int cusparseLtMatmulPlanInit(const Opaque* h, LtPlan* to, const LtProduct* product, const LtAlgorithm* algorithm) {
  if (!is(h, HANDLE) || !is(product, PRODUCT) || !is(algorithm, ALGORITHM) || algorithm->product != product) return INVALID;
  *to = LtPlan{{PLAN}, product};
  return OK;
}
int cusparseLtMatmulPlanDestroy(const Opaque* of) { return destroy(of, PLAN); }
// The structures that a plan was made of must live.
static bool lives(const Opaque* h, const LtPlan* plan) {
  if (!is(h, HANDLE) || !is(plan, PLAN) || !is(plan->product, PRODUCT)) return false;
  const LtProduct& p = *plan->product;
  return is(p.a, MATRIX) && is(p.b, MATRIX) && is(p.d, MATRIX);
}
int cusparseLtMatmulGetWorkspace(const Opaque* h, const LtPlan* plan, size_t* bytes) {
  *bytes = LT_ROOM;
  return lives(h, plan) ? OK : INVALID;
}
int cusparseLtSpMMACompressedSize(const Opaque* h, const LtPlan* plan, size_t* bytes, size_t* room) {
  if (!lives(h, plan)) return INVALID;
  *bytes = compressed_bytes(plan->product->a->m), *room = LT_ROOM;
  return OK;
}
int cusparseLtSpMMACompress(const Opaque* h, const LtPlan* plan, void* dense, void* to, void* room, void* stream) {
  if (!lives(h, plan) || (uintptr_t)dense % 16 || (uintptr_t)to % 16) return INVALID;
  DenseMatrix a = plan->product->a->m;
  a.values = (uintptr_t)dense;
  Work w{stream, "cusparseLtSpMMACompress"};
  return w.run([&] {
    w.writes((uintptr_t)room, LT_ROOM);
    if (a.type == R_8I) compress<int8_t>(w, a, (uintptr_t)to);
    else compress<uint16_t>(w, a, (uintptr_t)to);
  });
}
int cusparseLtMatmul(const Opaque* h, const LtPlan* plan, const float* one, void* a, void* b, const float* zero, void* c, void* d,
                     void* room, void** streams, int count) {
  if (!lives(h, plan) || count != 1 || *one != 1 || *zero != 0 || c != d) return INVALID;
  if ((uintptr_t)a % 16 || (uintptr_t)b % 16 || (uintptr_t)d % 16) return INVALID;
  const LtProduct& p = *plan->product;
  DenseMatrix of_b = p.b->m, of_d = p.d->m;
  of_b.values = (uintptr_t)b, of_d.values = (uintptr_t)d;
  Work w{streams[0], "cusparseLtMatmul"};
  return w.run([&] {
    w.writes((uintptr_t)room, LT_ROOM);
    if (p.a->m.type == R_8I) multiply<int8_t, Integer>(w, p.a->m, (uintptr_t)a, of_b, of_d);
    else if (p.a->m.type == R_16F) multiply<f16, f16>(w, p.a->m, (uintptr_t)a, of_b, of_d);
    else multiply<bf16, bf16>(w, p.a->m, (uintptr_t)a, of_b, of_d);
  });
}
}
