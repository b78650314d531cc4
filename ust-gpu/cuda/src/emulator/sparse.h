// What cuSPARSE speaks in: its numbers for types, and matrices and vectors as it was told of them.
#pragma once
#include <stdint.h>
#include <string.h>
#include <complex>
#include <string>
#include <vector>

enum Status { OK = 0, NOT_INITIALIZED = 1, ALLOC_FAILED = 2, INVALID = 3, FAILED = 6, UNSUPPORTED = 10 };
enum Type { R_32F = 0, R_64F = 1, R_16F = 2, C_32F = 4, C_64F = 5, R_16BF = 14 };
enum Format { CSR = 1, CSC = 2, COO = 3, BSR = 6 };
enum { OP_N = 0, OP_T = 1, OP_H = 2 };
enum { INDEX_32 = 2, INDEX_64 = 3, BY_COLUMNS = 1, BY_ROWS = 2 };

typedef std::complex<float> c64;
typedef std::complex<double> c128;

// Numbers of 16 bits, which are computed with in 32.
static float from_bits(uint32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
static uint32_t to_bits(float f) { uint32_t bits; memcpy(&bits, &f, 4); return bits; }
struct bf16 {
  uint16_t bits;
  float get() const { return from_bits((uint32_t)bits << 16); }
  static bf16 of(float f) {
    uint32_t b = to_bits(f);
    if (f != f) return {(uint16_t)(b >> 16 | 0x40)};
    return {(uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16)};
  }
};
struct f16 {
  uint16_t bits;
  float get() const {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00) return from_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    // An exponent too small by 112, also for numbers below the normal ones.
    float f = from_bits(rest << 13) * from_bits(239u << 23);
    return from_bits(to_bits(f) | sign);
  }
  static f16 of(float f) {
    uint32_t b = to_bits(f), sign = b >> 16 & 0x8000, rest = b & 0x7fffffff;
    if (rest > 0x7f800000) return {(uint16_t)(sign | 0x7e00)};
    if (rest >= 0x477ff000) return {(uint16_t)(sign | 0x7c00)};
    if (rest < 0x38800000) {
      // The sum rounds at the last place of the smallest numbers.
      float sum = from_bits(rest) + 0.5f;
      return {(uint16_t)(sign | (to_bits(sum) - to_bits(0.5f)))};
    }
    uint32_t odd = rest >> 13 & 1;
    return {(uint16_t)(sign | (rest - (112u << 23) + 0xfff + odd) >> 13)};
  }
};
// The type of sums, and the way there and back.
template <class T> struct Sum { typedef T type; static T get(T v) { return v; } static T of(T v) { return v; } };
template <> struct Sum<f16> { typedef float type; static float get(f16 v) { return v.get(); } static f16 of(float v) { return f16::of(v); } };
template <> struct Sum<bf16> { typedef float type; static float get(bf16 v) { return v.get(); } static bf16 of(float v) { return bf16::of(v); } };

static size_t bytes_of(int type) {
  switch (type) {
    case R_16F: case R_16BF: return 2;
    case R_32F: return 4;
    case R_64F: case C_32F: return 8;
    case C_64F: return 16;
    default: return 0;
  }
}
static int computed(int type) { return type == R_16F || type == R_16BF ? R_32F : type; }

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
struct DenseMatrix {
  int64_t rows, columns, stride;
  uintptr_t values;
  int type, order;
  // The numbers from the first to the last.
  int64_t span() const {
    int64_t along = order == BY_ROWS ? columns : rows, lines = order == BY_ROWS ? rows : columns;
    return along && lines ? stride * (lines - 1) + along : 0;
  }
  int64_t at(int64_t row, int64_t column) const {
    return order == BY_ROWS ? row * stride + column : column * stride + row;
  }
};
struct DenseVector { int64_t length; uintptr_t values; int type; };
struct Handle { void* stream = nullptr; };
struct Gemm { int step = 0; std::vector<int64_t> starts, columns; std::vector<char> values; uintptr_t first = 0, second = 0; };
