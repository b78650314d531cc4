// What libraries of products have in common: numbers, dense matrices, and work on the device's memory, whose accesses
// are checked as those of kernels are.
#pragma once
#include <stdint.h>
#include <string.h>
#include <complex>
#include <functional>
#include <string>
#include <vector>

enum Type { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, C_32F = 4, C_64F = 5, R_32I = 10, R_16BF = 14 };
enum { BY_COLUMNS = 1, BY_ROWS = 2 };

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
template <> struct Sum<int8_t> { typedef int32_t type; static int32_t get(int8_t v) { return v; } };
template <> struct Sum<f16> { typedef float type; static float get(f16 v) { return v.get(); } static f16 of(float v) { return f16::of(v); } };
template <> struct Sum<bf16> { typedef float type; static float get(bf16 v) { return v.get(); } static bf16 of(float v) { return bf16::of(v); } };

static size_t bytes_of(int type) {
  switch (type) {
    case R_8I: return 1;
    case R_16F: case R_16BF: return 2;
    case R_32I: case R_32F: return 4;
    case R_64F: case C_32F: return 8;
    case C_64F: return 16;
    default: return 0;
  }
}
static int computed(int type) { return type == R_16F || type == R_16BF ? R_32F : type; }

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

extern "C" int ust_emulator_use(void* stream, uintptr_t at, size_t n, int writes, const char* what);
extern "C" int ust_emulator_fail(void* stream, int code, const char* why);

// Work of a stream. An access that fails ends it; the stream tells of it.
struct Stop {};
struct Work {
  void* stream;
  const char* what;
  void use(uintptr_t at, size_t n, bool writes) const {
    if (ust_emulator_use(stream, at, n, writes, what)) throw Stop();
  }
  void reads(uintptr_t at, size_t n) const { use(at, n, false); }
  void writes(uintptr_t at, size_t n) const { use(at, n, true); }
  [[noreturn]] void fail(const std::string& why) const {
    ust_emulator_fail(stream, 719, (std::string(what) + ": " + why).c_str());
    throw Stop();
  }
  // As the library, it says nothing until somebody waits for the stream.
  int run(const std::function<void()>& work) const {
    try { work(); } catch (const Stop&) {}
    return 0;
  }
};

template <class T> static typename Sum<T>::type get(uintptr_t values, int64_t at) { return Sum<T>::get(((const T*)values)[at]); }

// Calls a function for the type of numbers. Each library has its own number for what is not supported.
#define BY_TYPE(TYPE, CALL)                          \
  switch (TYPE) {                                    \
    case R_16F: { typedef f16 T; CALL; break; }      \
    case R_16BF: { typedef bf16 T; CALL; break; }    \
    case R_32F: { typedef float T; CALL; break; }    \
    case R_64F: { typedef double T; CALL; break; }   \
    case C_32F: { typedef c64 T; CALL; break; }      \
    case C_64F: { typedef c128 T; CALL; break; }     \
    default: return UNSUPPORTED;                     \
  }

template <class T> static bool is(const void* number, double value) { return *(const T*)number == T(value); }
// Whether a number of the host, in which sums are formed, has a value.
static bool is(const void* number, int sums, double value) {
  switch (sums) {
    case R_32F: return is<float>(number, value);
    case R_64F: return is<double>(number, value);
    case C_32F: return is<c64>(number, value);
    case C_64F: return is<c128>(number, value);
    default: return false;
  }
}
