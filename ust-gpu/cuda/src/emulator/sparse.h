// What cuSPARSE speaks in: matrices and vectors as it was told of them.
#pragma once
#include "products.h"

enum Status { OK = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID = 3, FAILED = 6, UNSUPPORTED = 10 };
enum Format { CSR = 1, CSC = 2, COO = 3, BSR = 6 };
enum { OP_N = 0, OP_T = 1, OP_H = 2 };
enum { INDEX_32 = 2, INDEX_64 = 3 };

struct Sparse {
  int format;
  int64_t rows, columns, stored;
  uintptr_t outer, inner, values;
  int index, type;
  // Of blocks.
  int64_t height = 1, width = 1;
  int order = BY_ROWS;
  // The working memory that was prepared for its indices.
  uintptr_t active = 0;

  size_t index_bytes() const { return index == INDEX_64 ? 8 : 4; }
  int64_t parents() const { return format == CSC ? columns : rows / height; }
  int64_t children() const { return format == CSC ? rows : columns / width; }
  int64_t at(uintptr_t array, int64_t i) const {
    return index == INDEX_64 ? ((int64_t*)array)[i] : ((int32_t*)array)[i];
  }
  void put(uintptr_t array, int64_t i, int64_t v) const {
    if (index == INDEX_64) ((int64_t*)array)[i] = v;
    else ((int32_t*)array)[i] = (int32_t)v;
  }
};
struct DenseVector { int64_t length; uintptr_t values; int type; };
struct Handle { void* stream = nullptr; };
struct Gemm { int step = 0; std::vector<int64_t> starts, columns; std::vector<char> values; uintptr_t first = 0, second = 0; };
