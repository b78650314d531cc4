// cuSPARSE for the virtual device: the functions that this crate calls, as loops of the host over the
// device's memory. What the library reads and writes is checked as the accesses of kernels are, and so are
// indices. What the library of the vendor refuses is refused here, too, as far as its documentation says so.
#include "sparse.h"
#include <stdlib.h>
#include <algorithm>
#include <map>

// Calls `entry(row, column, place)` for each stored number.
static void walk(const Work& w, const Sparse& a, bool with_values,
                 const std::function<void(int64_t, int64_t, int64_t)>& entry) {
  size_t width = a.index_bytes();
  int64_t parents = a.parents(), children = a.children(), block = a.height * a.width;
  w.reads(a.outer, width * (a.format == COO ? a.stored : parents + 1));
  w.reads(a.inner, width * a.stored);
  if (with_values) w.reads(a.values, bytes_of(a.type) * a.stored * block);
  auto child = [&](int64_t at) {
    int64_t found = a.at(a.inner, at);
    if (found < 0 || found >= children) w.fail("index " + std::to_string(found) + " of " + std::to_string(children));
    return found;
  };
  if (a.format == COO) {
    int64_t last = 0;
    for (int64_t at = 0; at < a.stored; at++) {
      int64_t row = a.at(a.outer, at);
      if (row < last || row >= a.rows) w.fail("row " + std::to_string(row) + " behind row " + std::to_string(last));
      entry(last = row, child(at), at);
    }
    return;
  }
  if (a.at(a.outer, 0) != 0 || a.at(a.outer, parents) != a.stored) w.fail("segments do not cover the stored numbers");
  for (int64_t parent = 0; parent < parents; parent++) {
    int64_t from = a.at(a.outer, parent), to = a.at(a.outer, parent + 1);
    if (from > to || to > a.stored) w.fail("a segment ends before it begins");
    for (int64_t at = from; at < to; at++) {
      int64_t other = child(at);
      if (a.format == CSC) entry(other, parent, at);
      else if (a.format == CSR) entry(parent, other, at);
      else
        for (int64_t i = 0; i < a.height; i++)
          for (int64_t j = 0; j < a.width; j++) {
            int64_t in = a.order == BY_ROWS ? i * a.width + j : j * a.height + i;
            entry(parent * a.height + i, other * a.width + j, at * block + in);
          }
    }
  }
}

// c = op(a) b, where c(row, column) lies at its place and begins with nothing.
template <class T> static void multiply(const Work& w, const Sparse& a, int op, const DenseMatrix& b, const DenseMatrix& c) {
  typedef typename Sum<T>::type S;
  w.reads(b.values, sizeof(T) * b.span());
  std::vector<S> sums(c.rows * c.columns);
  walk(w, a, true, [&](int64_t row, int64_t column, int64_t at) {
    if (op != OP_N) std::swap(row, column);
    S value = get<T>(a.values, at);
    for (int64_t k = 0; k < c.columns; k++) sums[row * c.columns + k] += value * get<T>(b.values, b.at(column, k));
  });
  // Numbers between the lines are nobody's.
  int64_t along = c.order == BY_ROWS ? c.columns : c.rows, lines = c.order == BY_ROWS ? c.rows : c.columns;
  size_t width = bytes_of(c.type);
  for (int64_t line = 0; line < lines; line++) w.writes(c.values + width * c.stride * line, width * along);
  for (int64_t i = 0; i < c.rows; i++)
    for (int64_t k = 0; k < c.columns; k++) {
      S sum = sums[i * c.columns + k];
      if (c.type == a.type) ((T*)c.values)[c.at(i, k)] = Sum<T>::of(sum);
      else ((S*)c.values)[c.at(i, k)] = sum;
    }
}

// The numbers of c = a b that c stores.
template <class T> static void sample(const Work& w, const DenseMatrix& a, const DenseMatrix& b, const Sparse& c) {
  typedef typename Sum<T>::type S;
  w.reads(a.values, sizeof(T) * a.span());
  w.reads(b.values, sizeof(T) * b.span());
  w.writes(c.values, sizeof(T) * c.stored * c.height * c.width);
  walk(w, c, false, [&](int64_t row, int64_t column, int64_t at) {
    S sum = S();
    for (int64_t k = 0; k < a.columns; k++) sum += get<T>(a.values, a.at(row, k)) * get<T>(b.values, b.at(k, column));
    ((T*)c.values)[at] = Sum<T>::of(sum);
  });
}

template <class T> static void gemm(const Work& w, const Sparse& a, const Sparse& b, Gemm& to) {
  std::vector<std::vector<std::pair<int64_t, T>>> rows(b.rows);
  walk(w, b, true, [&](int64_t row, int64_t column, int64_t at) { rows[row].push_back({column, ((T*)b.values)[at]}); });
  std::vector<std::map<int64_t, T>> sums(a.rows);
  walk(w, a, true, [&](int64_t row, int64_t inner, int64_t at) {
    for (auto& [column, value] : rows[inner]) sums[row][column] += ((T*)a.values)[at] * value;
  });
  std::vector<T> values;
  to.starts.assign(1, 0);
  for (auto& row : sums) {
    // The library promises no order within a row.
    for (auto one = row.rbegin(); one != row.rend(); ++one) to.columns.push_back(one->first), values.push_back(one->second);
    to.starts.push_back((int64_t)to.columns.size());
  }
  to.values.assign((char*)values.data(), (char*)(values.data() + values.size()));
}

// Other factors than 1 and 0 are never asked for. The result has the type of the factors, or that of sums.
static int check(const void* one, const void* zero, int sums, int a, int b, int c) {
  if (!bytes_of(a) || a != b || (a != c && c != sums) || sums != computed(a)) return UNSUPPORTED;
  return is(one, sums, 1) && is(zero, sums, 0) ? OK : UNSUPPORTED;
}
// Every product asks for some working memory, in which it leaves a word when it prepares itself.
constexpr size_t ROOM = 40;
static void prepare(const Work& w, Sparse& of, void* buffer) {
  w.writes((uintptr_t)buffer, ROOM);
  memset(buffer, 0x5c, ROOM);
  walk(w, of, false, [](int64_t, int64_t, int64_t) {});
  of.active = (uintptr_t)buffer;
}
static void enter(const Work& w, const Sparse& of, void* buffer) {
  if (of.active && of.active != (uintptr_t)buffer) w.fail("another working memory was prepared");
  if (of.active) w.reads((uintptr_t)buffer, ROOM);
  else w.writes((uintptr_t)buffer, ROOM);
}
static DenseMatrix column(const DenseVector& x) { return {x.length, 1, x.length, x.values, x.type, BY_COLUMNS}; }

extern "C" {
const char* cusparseGetErrorName(int status) {
  switch (status) {
    case OK: return "CUSPARSE_STATUS_SUCCESS";
    case NOT_INITIALIZED: return "CUSPARSE_STATUS_NOT_INITIALIZED";
    case INVALID: return "CUSPARSE_STATUS_INVALID_VALUE";
    case FAILED: return "CUSPARSE_STATUS_EXECUTION_FAILED";
    case UNSUPPORTED: return "CUSPARSE_STATUS_NOT_SUPPORTED";
    default: return "unknown";
  }
}
int cusparseCreate(Handle** h) { *h = new Handle; return OK; }
int cusparseDestroy(Handle* h) { delete h; return OK; }
int cusparseSetStream(Handle* h, void* stream) { h->stream = stream; return OK; }
int cusparseGetVersion(Handle*, int* v) { *v = 12603; return OK; }
// Major, minor, patch.
int cusparseGetProperty(int which, int* v) { *v = which == 0 ? 12 : which == 1 ? 6 : 3; return OK; }

static int create(Sparse** to, Sparse made) {
  bool wrong = made.rows < 0 || made.columns < 0 || made.stored < 0 || made.height <= 0 || made.width <= 0;
  if (wrong || !bytes_of(made.type) || (made.index != INDEX_32 && made.index != INDEX_64)) return INVALID;
  *to = new Sparse(made);
  return OK;
}
int cusparseCreateCsr(Sparse** to, int64_t rows, int64_t columns, int64_t stored, void* starts, void* inner, void* values,
                      int first, int second, int base, int type) {
  if (first != second || base) return INVALID;
  return create(to, {CSR, rows, columns, stored, (uintptr_t)starts, (uintptr_t)inner, (uintptr_t)values, first, type});
}
int cusparseCreateCsc(Sparse** to, int64_t rows, int64_t columns, int64_t stored, void* starts, void* inner, void* values,
                      int first, int second, int base, int type) {
  if (first != second || base) return INVALID;
  return create(to, {CSC, rows, columns, stored, (uintptr_t)starts, (uintptr_t)inner, (uintptr_t)values, first, type});
}
int cusparseCreateCoo(Sparse** to, int64_t rows, int64_t columns, int64_t stored, void* outer, void* inner, void* values,
                      int index, int base, int type) {
  if (base) return INVALID;
  return create(to, {COO, rows, columns, stored, (uintptr_t)outer, (uintptr_t)inner, (uintptr_t)values, index, type});
}
int cusparseCreateBsr(Sparse** to, int64_t rows, int64_t columns, int64_t stored, int64_t height, int64_t width, void* starts,
                      void* inner, void* values, int first, int second, int base, int type, int order) {
  if (first != second || base) return INVALID;
  return create(to, {BSR, rows * height, columns * width, stored, (uintptr_t)starts, (uintptr_t)inner, (uintptr_t)values,
                     first, type, height, width, order});
}
int cusparseDestroySpMat(Sparse* a) { delete a; return OK; }
int cusparseSpMatGetSize(Sparse* a, int64_t* rows, int64_t* columns, int64_t* stored) {
  *rows = a->rows, *columns = a->columns, *stored = a->stored;
  return OK;
}
int cusparseSpMatSetValues(Sparse* a, void* values) { a->values = (uintptr_t)values; return OK; }
int cusparseCsrSetPointers(Sparse* a, void* starts, void* inner, void* values) {
  if (a->format != CSR) return INVALID;
  a->outer = (uintptr_t)starts, a->inner = (uintptr_t)inner, a->values = (uintptr_t)values;
  return OK;
}
int cusparseCreateDnVec(DenseVector** to, int64_t length, void* values, int type) {
  if (length < 0 || !bytes_of(type)) return INVALID;
  *to = new DenseVector{length, (uintptr_t)values, type};
  return OK;
}
int cusparseDestroyDnVec(DenseVector* x) { delete x; return OK; }
int cusparseDnVecSetValues(DenseVector* x, void* values) { x->values = (uintptr_t)values; return OK; }
int cusparseCreateDnMat(DenseMatrix** to, int64_t rows, int64_t columns, int64_t stride, void* values, int type, int order) {
  if (rows < 0 || columns < 0 || stride < (order == BY_ROWS ? columns : rows) || !bytes_of(type)) return INVALID;
  *to = new DenseMatrix{rows, columns, stride, (uintptr_t)values, type, order};
  return OK;
}
int cusparseDestroyDnMat(DenseMatrix* b) { delete b; return OK; }
int cusparseDnMatSetValues(DenseMatrix* b, void* values) { b->values = (uintptr_t)values; return OK; }

static int check_product(int op, const void* one, Sparse* a, const DenseMatrix& b, const void* zero, const DenseMatrix& c,
                         int sums, bool matrix) {
  bool turned = op != OP_N;
  if (op == OP_H) return UNSUPPORTED;
  // Of blocks, only the matrix itself, and by a matrix only blocks stored by rows.
  if (a->format == BSR && (turned || (matrix && a->order != BY_ROWS))) return UNSUPPORTED;
  int64_t rows = turned ? a->columns : a->rows, inner = turned ? a->rows : a->columns;
  if (c.rows != rows || b.rows != inner || c.columns != b.columns) return INVALID;
  return check(one, zero, sums, a->type, b.type, c.type);
}
static int multiply(Handle* h, const char* what, Sparse* a, int op, const DenseMatrix& b, const DenseMatrix& c, void* buffer) {
  Work w{h->stream, what};
  BY_TYPE(a->type, return w.run([&] {
    enter(w, *a, buffer);
    multiply<T>(w, *a, op, b, c);
  }))
}

int cusparseSpMV_bufferSize(Handle*, int op, const void* one, Sparse* a, DenseVector* x, const void* zero, DenseVector* y,
                            int sums, int, size_t* bytes) {
  *bytes = ROOM;
  return check_product(op, one, a, column(*x), zero, column(*y), sums, false);
}
int cusparseSpMV_preprocess(Handle* h, int, const void*, Sparse* a, DenseVector*, const void*, DenseVector*, int, int, void* buffer) {
  Work w{h->stream, "cusparseSpMV_preprocess"};
  return w.run([&] { prepare(w, *a, buffer); });
}
int cusparseSpMV(Handle* h, int op, const void* one, Sparse* a, DenseVector* x, const void* zero, DenseVector* y, int sums, int,
                 void* buffer) {
  if (int status = check_product(op, one, a, column(*x), zero, column(*y), sums, false)) return status;
  return multiply(h, "cusparseSpMV", a, op, column(*x), column(*y), buffer);
}

int cusparseSpMM_bufferSize(Handle*, int op, int own, const void* one, Sparse* a, DenseMatrix* b, const void* zero,
                            DenseMatrix* c, int sums, int, size_t* bytes) {
  *bytes = ROOM;
  return own == OP_N ? check_product(op, one, a, *b, zero, *c, sums, true) : UNSUPPORTED;
}
int cusparseSpMM_preprocess(Handle* h, int, int, const void*, Sparse* a, DenseMatrix*, const void*, DenseMatrix*, int, int,
                            void* buffer) {
  // It has nothing to prepare here: whoever asks must go on without.
  if (a->format == COO) return UNSUPPORTED;
  Work w{h->stream, "cusparseSpMM_preprocess"};
  return w.run([&] { prepare(w, *a, buffer); });
}
int cusparseSpMM(Handle* h, int op, int own, const void* one, Sparse* a, DenseMatrix* b, const void* zero, DenseMatrix* c,
                 int sums, int, void* buffer) {
  if (own != OP_N) return UNSUPPORTED;
  if (int status = check_product(op, one, a, *b, zero, *c, sums, true)) return status;
  return multiply(h, "cusparseSpMM", a, op, *b, *c, buffer);
}

static int check_sampled(int op_a, int op_b, const void* one, DenseMatrix* a, DenseMatrix* b, const void* zero, Sparse* c, int sums) {
  if (op_a != OP_N || op_b != OP_N || c->format != CSR) return UNSUPPORTED;
  if (a->rows != c->rows || b->columns != c->columns || a->columns != b->rows) return INVALID;
  return a->type == c->type ? check(one, zero, sums, a->type, b->type, c->type) : UNSUPPORTED;
}
int cusparseSDDMM_bufferSize(Handle*, int op_a, int op_b, const void* one, DenseMatrix* a, DenseMatrix* b, const void* zero,
                             Sparse* c, int sums, int, size_t* bytes) {
  *bytes = ROOM;
  return check_sampled(op_a, op_b, one, a, b, zero, c, sums);
}
int cusparseSDDMM_preprocess(Handle* h, int, int, const void*, DenseMatrix*, DenseMatrix*, const void*, Sparse* c, int, int,
                             void* buffer) {
  Work w{h->stream, "cusparseSDDMM_preprocess"};
  return w.run([&] { prepare(w, *c, buffer); });
}
int cusparseSDDMM(Handle* h, int op_a, int op_b, const void* one, DenseMatrix* a, DenseMatrix* b, const void* zero, Sparse* c,
                  int sums, int, void* buffer) {
  if (int status = check_sampled(op_a, op_b, one, a, b, zero, c, sums)) return status;
  Work w{h->stream, "cusparseSDDMM"};
  BY_TYPE(a->type, return w.run([&] {
    enter(w, *c, buffer);
    sample<T>(w, *a, *b, *c);
  }))
}

int cusparseSpGEMM_createDescr(Gemm** to) { *to = new Gemm; return OK; }
int cusparseSpGEMM_destroyDescr(Gemm* of) { delete of; return OK; }
static int check_gemm(int op_a, int op_b, const void* one, Sparse* a, Sparse* b, const void* zero, Sparse* c, int sums) {
  if (op_a != OP_N || op_b != OP_N || a->format != CSR || b->format != CSR || c->format != CSR) return UNSUPPORTED;
  if (a->index != INDEX_32 || b->index != INDEX_32 || c->index != INDEX_32) return UNSUPPORTED;
  if (a->type == R_16F || a->type == R_16BF) return UNSUPPORTED;
  if (a->columns != b->rows || c->rows != a->rows || c->columns != b->columns) return INVALID;
  return check(one, zero, sums, a->type, b->type, c->type);
}
int cusparseSpGEMM_workEstimation(Handle* h, int op_a, int op_b, const void* one, Sparse* a, Sparse* b, const void* zero,
                                  Sparse* c, int sums, int, Gemm* notes, size_t* bytes, void* buffer) {
  if (int status = check_gemm(op_a, op_b, one, a, b, zero, c, sums)) return status;
  *bytes = ROOM;
  if (!buffer) return OK;
  notes->first = (uintptr_t)buffer, notes->step = 1;
  Work w{h->stream, "cusparseSpGEMM_workEstimation"};
  return w.run([&] { w.writes(notes->first, ROOM); });
}
int cusparseSpGEMM_compute(Handle* h, int op_a, int op_b, const void* one, Sparse* a, Sparse* b, const void* zero, Sparse* c,
                           int sums, int, Gemm* notes, size_t* bytes, void* buffer) {
  if (int status = check_gemm(op_a, op_b, one, a, b, zero, c, sums)) return status;
  if (notes->step != 1) return INVALID;
  *bytes = 2 * ROOM;
  if (!buffer) return OK;
  notes->second = (uintptr_t)buffer, notes->step = 2;
  Work w{h->stream, "cusparseSpGEMM_compute"};
  int status = w.run([&] {
    w.reads(notes->first, ROOM);
    w.writes(notes->second, 2 * ROOM);
    switch (a->type) {
      case R_32F: gemm<float>(w, *a, *b, *notes); break;
      case R_64F: gemm<double>(w, *a, *b, *notes); break;
      case C_32F: gemm<c64>(w, *a, *b, *notes); break;
      case C_64F: gemm<c128>(w, *a, *b, *notes); break;
    }
  });
  c->stored = (int64_t)notes->columns.size();
  return status;
}
int cusparseSpGEMM_copy(Handle* h, int op_a, int op_b, const void* one, Sparse* a, Sparse* b, const void* zero, Sparse* c,
                        int sums, int, Gemm* notes) {
  if (int status = check_gemm(op_a, op_b, one, a, b, zero, c, sums)) return status;
  if (notes->step != 2) return INVALID;
  Work w{h->stream, "cusparseSpGEMM_copy"};
  return w.run([&] {
    w.reads(notes->second, 2 * ROOM);
    if (notes->starts.empty()) return;
    w.writes(c->outer, 4 * notes->starts.size());
    w.writes(c->inner, 4 * notes->columns.size());
    w.writes(c->values, notes->values.size());
    for (size_t i = 0; i < notes->starts.size(); i++) c->put(c->outer, (int64_t)i, notes->starts[i]);
    for (size_t i = 0; i < notes->columns.size(); i++) c->put(c->inner, (int64_t)i, notes->columns[i]);
    memcpy((void*)c->values, notes->values.data(), notes->values.size());
  });
}
}
