// Types, and how arrays hold numbers.
// Needs: nothing.
#ifndef UST_TYPES
#define UST_TYPES

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// What stands before each function.
#define UST_FN __device__ __forceinline__

// What kind of number a type holds. A type that is not listed is an integer.
enum class ust_kinds { truth, integer, floating, complex };
template <class T> constexpr ust_kinds ust_kind = ust_kinds::integer;
template <> constexpr ust_kinds ust_kind<bool> = ust_kinds::truth;
template <> constexpr ust_kinds ust_kind<float> = ust_kinds::floating;
template <> constexpr ust_kinds ust_kind<double> = ust_kinds::floating;

// Whether an integer type has negative numbers.
template <class T> constexpr bool ust_is_signed = T(-1) < T(0);

// The unsigned type in which an integer type is computed. It is never narrower than 32 bits, because
// C++ would promote a narrower one to `int`, whose overflow is undefined.
template <bool wide> struct ust_word_of { typedef u32 type; };
template <> struct ust_word_of<true> { typedef u64 type; };
template <class T> using ust_word = typename ust_word_of<(sizeof(T) > 4)>::type;

// How arrays hold numbers. Elements of most types are computed as they are stored; the section
// `halves` says how the other ones are.
template <class S> struct ust_storage {
    typedef S held;
    static UST_FN S get(S stored) { return stored; }
    static UST_FN S put(S value) { return value; }
};

// The type in which a stored element is computed.
template <class S> using ust_held = typename ust_storage<S>::held;

// The number that an element stores.
template <class S> UST_FN ust_held<S> ust_get(S stored) { return ust_storage<S>::get(stored); }

// The element that stores a number: `ust_put<f16>(0.5f)`.
template <class S> UST_FN S ust_put(ust_held<S> value) { return ust_storage<S>::put(value); }

// One of the indices of two bits that are packed, four to a byte, the first in the lowest bits.
UST_FN i64 ust_two_bits(const u8* packed, i64 at) { return packed[at >> 2] >> ((at & 3) * 2) & 3; }

#endif
