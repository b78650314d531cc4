// cuBLASLt for the virtual device: the functions that this crate calls, as loops of the host over the device's memory.
// What the library reads and writes is checked as the accesses of kernels are. What the library of the vendor refuses
// is refused here, too, as far as its documentation says so.
#include "products.h"

enum Status { OK = 0, INVALID = 7, UNSUPPORTED = 15 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70 };
enum { TRANSPOSE_A = 3, TRANSPOSE_B = 4, WORKSPACE = 1, ALIGNMENT = 5 };

struct BlasHandle {};
// Numbers of 16 bits are multiplied with this much working memory, others with none.
constexpr size_t BLAS_ROOM = 48;
struct BlasProduct { int computed, scales; int transposed[2]; };
struct Preference { uint64_t room; uint32_t alignment[4]; };
struct Algorithm {
  // What it was chosen for.
  uint32_t mark;
  uint32_t alignment[4];
  uint32_t types[3];
  uint64_t rows, inner, columns;
};
static_assert(sizeof(Algorithm) <= 64, "an algorithm of the library has 64 bytes");
struct Found { char algorithm[64]; size_t bytes; int status; float waves; int reserved[4]; };
constexpr uint32_t MARK = 0xb1a5;

static bool is_known(const BlasProduct& p, int type) {
  bool wide = type == R_64F || type == C_64F;
  return p.scales == computed(type) && p.computed == (wide ? COMPUTE_64F : COMPUTE_32F);
}
static int64_t rows(const DenseMatrix& of, int transposed) { return transposed ? of.columns : of.rows; }
static int64_t columns(const DenseMatrix& of, int transposed) { return transposed ? of.rows : of.columns; }

static int check(const BlasProduct& p, const DenseMatrix& a, const DenseMatrix& b, const DenseMatrix& c, const DenseMatrix& d) {
  if (c.rows != d.rows || c.columns != d.columns || c.type != d.type || c.stride != d.stride) return INVALID;
  if (a.type != b.type || (d.type != a.type && d.type != computed(a.type)) || !is_known(p, a.type)) return UNSUPPORTED;
  bool fits = rows(a, p.transposed[0]) == d.rows && columns(b, p.transposed[1]) == d.columns &&
              columns(a, p.transposed[0]) == rows(b, p.transposed[1]);
  return fits ? OK : INVALID;
}
static Algorithm algorithm(const BlasProduct& p, const DenseMatrix& a, const DenseMatrix& d) {
  Algorithm of{MARK, {}, {(uint32_t)a.type, (uint32_t)d.type, (uint32_t)p.scales}};
  of.rows = d.rows, of.inner = columns(a, p.transposed[0]), of.columns = d.columns;
  return of;
}
static size_t room(const Algorithm& of) { return bytes_of(of.types[0]) == 2 ? BLAS_ROOM : 0; }

template <class T>
static void multiply(const Work& w, const BlasProduct& p, const DenseMatrix& a, const DenseMatrix& b, const DenseMatrix& d) {
  typedef typename Sum<T>::type S;
  w.reads(a.values, sizeof(T) * a.span());
  w.reads(b.values, sizeof(T) * b.span());
  // Numbers between the columns are nobody's.
  size_t width = bytes_of(d.type);
  for (int64_t k = 0; k < d.columns; k++) w.writes(d.values + width * d.stride * k, width * d.rows);
  int64_t inner = columns(a, p.transposed[0]);
  auto of = [](const DenseMatrix& m, int turned, int64_t i, int64_t k) { return turned ? m.at(k, i) : m.at(i, k); };
  for (int64_t i = 0; i < d.rows; i++)
    for (int64_t k = 0; k < d.columns; k++) {
      S sum = S();
      for (int64_t j = 0; j < inner; j++)
        sum += get<T>(a.values, of(a, p.transposed[0], i, j)) * get<T>(b.values, of(b, p.transposed[1], j, k));
      if (d.type == a.type) ((T*)d.values)[d.at(i, k)] = Sum<T>::of(sum);
      else ((S*)d.values)[d.at(i, k)] = sum;
    }
}

extern "C" {
const char* cublasLtGetStatusName(int status) {
  switch (status) {
    case OK: return "CUBLAS_STATUS_SUCCESS";
    case INVALID: return "CUBLAS_STATUS_INVALID_VALUE";
    case UNSUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "unknown";
  }
}
size_t cublasLtGetVersion() { return 130002; }
int cublasLtCreate(BlasHandle** to) { *to = new BlasHandle; return OK; }
int cublasLtDestroy(BlasHandle* of) { delete of; return OK; }

int cublasLtMatrixLayoutCreate(DenseMatrix** to, int type, uint64_t rows, uint64_t columns, int64_t stride) {
  if (!bytes_of(type) || !rows || !columns || stride < (int64_t)rows) return INVALID;
  *to = new DenseMatrix{(int64_t)rows, (int64_t)columns, stride, 0, type, BY_COLUMNS};
  return OK;
}
int cublasLtMatrixLayoutDestroy(DenseMatrix* of) { delete of; return OK; }
int cublasLtMatmulDescCreate(BlasProduct** to, int computed, int scales) {
  *to = new BlasProduct{computed, scales, {0, 0}};
  return OK;
}
int cublasLtMatmulDescDestroy(BlasProduct* of) { delete of; return OK; }
int cublasLtMatmulDescSetAttribute(BlasProduct* of, int what, const void* value, size_t bytes) {
  int number = *(const int*)value;
  if ((what != TRANSPOSE_A && what != TRANSPOSE_B) || bytes != 4 || number < 0 || number > 1) return INVALID;
  of->transposed[what - TRANSPOSE_A] = number;
  return OK;
}
int cublasLtMatmulPreferenceCreate(Preference** to) { *to = new Preference{0, {256, 256, 256, 256}}; return OK; }
int cublasLtMatmulPreferenceDestroy(Preference* of) { delete of; return OK; }
int cublasLtMatmulPreferenceSetAttribute(Preference* of, int what, const void* value, size_t bytes) {
  if (what == WORKSPACE && bytes == 8) of->room = *(const uint64_t*)value;
  else if (what >= ALIGNMENT && what < ALIGNMENT + 4 && bytes == 4) of->alignment[what - ALIGNMENT] = *(const uint32_t*)value;
  else return INVALID;
  return OK;
}
int cublasLtMatmulAlgoGetHeuristic(BlasHandle*, BlasProduct* p, DenseMatrix* a, DenseMatrix* b, DenseMatrix* c, DenseMatrix* d,
                                   Preference* preference, int asked, Found* found, int* count) {
  *count = 0;
  if (int status = check(*p, *a, *b, *c, *d)) return status;
  Algorithm made = algorithm(*p, *a, *d);
  if (asked < 1 || room(made) > preference->room) return UNSUPPORTED;
  memcpy(made.alignment, preference->alignment, sizeof made.alignment);
  *found = Found{};
  memcpy(found->algorithm, &made, sizeof made);
  found->bytes = room(made);
  *count = 1;
  return OK;
}
int cublasLtMatmul(BlasHandle*, BlasProduct* p, const void* one, void* at_a, DenseMatrix* a, void* at_b, DenseMatrix* b,
                   const void* zero, void* at_c, DenseMatrix* c, void* at_d, DenseMatrix* d, const void* how, void* buffer,
                   size_t bytes, void* stream) {
  if (int status = check(*p, *a, *b, *c, *d)) return status;
  if (!is(one, p->scales, 1) || !is(zero, p->scales, 0)) return UNSUPPORTED;
  Algorithm chosen, own = algorithm(*p, *a, *d);
  memcpy(&chosen, how, sizeof chosen);
  memcpy(own.alignment, chosen.alignment, sizeof own.alignment);
  if (memcmp(&own, &chosen, sizeof own) || bytes < room(own)) return INVALID;
  uintptr_t addresses[4] = {(uintptr_t)at_a, (uintptr_t)at_b, (uintptr_t)at_c, (uintptr_t)at_d};
  for (int i = 0; i < 4; i++)
    if (addresses[i] % chosen.alignment[i] || addresses[i] % bytes_of((i < 2 ? a : d)->type)) return INVALID;
  DenseMatrix of_a = *a, of_b = *b, of_d = *d;
  of_a.values = addresses[0], of_b.values = addresses[1], of_d.values = addresses[3];
  Work w{stream, "cublasLtMatmul"};
  BY_TYPE(a->type, return w.run([&] {
    w.writes((uintptr_t)buffer, room(own));
    multiply<T>(w, *p, of_a, of_b, of_d);
  }))
}
}
