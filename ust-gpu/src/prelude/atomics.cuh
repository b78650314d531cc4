// Numbers combined into elements of memory that other threads combine into, too.
// Needs: types, integers, floats.
//
// Of each operator there is one function for all types that an array holds. The value is given as it
// is computed: a `float` for elements of half precision, which are rounded each time. Nothing is said
// about the order in which threads come.
#ifndef UST_ATOMICS
#define UST_ATOMICS

// What stands in memory now. A compare-and-swap that changes nothing reads, too, where there is no
// hardware that orders plain reads.
template <class W> UST_FN W ust_peek(W* word) {
#ifdef __CUDA_ARCH__
    return *(volatile W*)word;
#else
    return atomicCAS(word, (W)0, (W)0);
#endif
}

// The element whose bits are the lowest ones of a word, and the word for an element.
template <class S, class W> UST_FN S ust_of_bits(W bits) {
    union { S element; W bits; } both;
    both.bits = bits;
    return both.element;
}
template <class W, class S> UST_FN W ust_bits_of(S element) {
    union { S element; W bits; } both;
    both.bits = 0;
    both.element = element;
    return both.bits;
}

// The element at `shift` in a word becomes what `f` makes of it. An `f` that changes nothing is done
// without writing.
template <class S, class W, class F> UST_FN void ust_swap_word(W* word, u32 shift, W mask, F f) {
    W seen = ust_peek(word);
    for (;;) {
        S old = ust_of_bits<S>((W)((seen & mask) >> shift));
        W bits = ust_bits_of<W>(ust_put<S>(f(ust_get(old))));
        W next = (seen & ~mask) | (W)(bits << shift);
        if (next == seen) return;
        W before = atomicCAS(word, seen, next);
        if (before == seen) return;
        seen = before;
    }
}

// Two words of 64 bits, and elements made of them.
struct ust_pair { u64 low, high; };
template <class S> union ust_pair_of {
    S element;
    ust_pair pair;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Writes `next` if memory still holds `seen`, in one step. Gives what memory held.
UST_FN ust_pair ust_swap_pair(void* at, ust_pair seen, ust_pair next) {
    ust_pair before;
    asm volatile(
        "{\n\t"
        ".reg .b128 seen, next, before;\n\t"
        "mov.b128 seen, {%3, %4};\n\t"
        "mov.b128 next, {%5, %6};\n\t"
        "atom.cas.b128 before, [%2], seen, next;\n\t"
        "mov.b128 {%0, %1}, before;\n\t"
        "}"
        : "=l"(before.low), "=l"(before.high)
        : "l"(at), "l"(seen.low), "l"(seen.high), "l"(next.low), "l"(next.high)
        : "memory");
    return before;
}

template <class S, class F> UST_FN void ust_update_pair(S* p, F f) {
    ust_pair_of<S> old, next;
    old.pair = ust_swap_pair(p, ust_pair{0, 0}, ust_pair{0, 0});
    for (;;) {
        next.element = ust_put<S>(f(ust_get(old.element)));
        ust_pair before = ust_swap_pair(p, old.pair, next.pair);
        if (before.low == old.pair.low && before.high == old.pair.high) return;
        old.pair = before;
    }
}
#else
// Where 16 bytes cannot be swapped in one step, whoever changes an element holds the lock for its
// address.
[[maybe_unused]] static __device__ u32 ust_locks[64];

// A thread tries, and in the same round of the loop does its work and opens the lock again. Lanes of
// its warp that wait for the lock therefore never keep it from doing so. The words are read and
// written by atomics, because plain reads might come from a cache.
template <class S, class F> UST_FN void ust_update_pair(S* p, F f) {
    u32* lock = &ust_locks[((u64)p >> 4) % 64];
    u64* words = (u64*)p;
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0u, 1u) == 0u) {
            __threadfence();
            ust_pair_of<S> both;
            both.pair.low = atomicCAS(&words[0], 0ull, 0ull);
            both.pair.high = atomicCAS(&words[1], 0ull, 0ull);
            both.element = ust_put<S>(f(ust_get(both.element)));
            atomicExch(&words[0], both.pair.low);
            atomicExch(&words[1], both.pair.high);
            __threadfence();
            atomicExch(lock, 0u);
            done = true;
        }
    }
}
#endif

// The element becomes what `f` makes of it, in one step: `f` takes and gives a number as it is
// computed, may be called several times, and has no effects.
//
//     ust_atomic_update(&longest[i], [=](float old) { return old < length ? length : old; });
//
// Elements of 1 and 2 bytes are swapped with the aligned word of 4 bytes that they are in.
template <class S, class F> UST_FN void ust_atomic_update(S* p, F f) {
    if constexpr (sizeof(S) == 16) {
        ust_update_pair(p, f);
    } else if constexpr (sizeof(S) == 8) {
        ust_swap_word<S>((u64*)p, 0, ~0ull, f);
    } else if constexpr (sizeof(S) == 4) {
        ust_swap_word<S>((u32*)p, 0, ~0u, f);
    } else {
        u64 at = (u64)p;
        u32 shift = (u32)(at & 3) * 8, mask = (sizeof(S) == 1 ? 0xffu : 0xffffu) << shift;
        ust_swap_word<S>((u32*)(at & ~3ull), shift, mask, f);
    }
}

// Integers of these sizes have atomics of their own.
template <class S>
constexpr bool ust_is_wide_integer = ust_kind<S> == ust_kinds::integer && sizeof(S) >= 4;

// Sums. Both parts of a complex number are added apart, because nobody reads them before the end.
// The hardware's sums of `float` take numbers below the smallest normal one as 0.
template <class S> UST_FN void ust_atomic_add(S* p, ust_held<S> value) {
    if constexpr (ust_kind<S> == ust_kinds::complex) {
        atomicAdd(&p->re, value.re);
        atomicAdd(&p->im, value.im);
    } else if constexpr (ust_is_wide_integer<S>) {
        // The sum of signed numbers has the same bits.
        atomicAdd((ust_word<S>*)p, (ust_word<S>)value);
    } else if constexpr (ust_kind<S> == ust_kinds::floating) {
        atomicAdd(p, value);
    } else {
        ust_atomic_update(p, [=](ust_held<S> old) { return ust_add(old, value); });
    }
}

template <class S> UST_FN void ust_atomic_mul(S* p, ust_held<S> value) {
    ust_atomic_update(p, [=](ust_held<S> old) { return ust_mul(old, value); });
}

template <class S> UST_FN void ust_atomic_min(S* p, ust_held<S> value) {
    if constexpr (ust_is_wide_integer<S>) {
        atomicMin(p, value);
    } else {
        ust_atomic_update(p, [=](ust_held<S> old) { return ust_minimum(old, value); });
    }
}

template <class S> UST_FN void ust_atomic_max(S* p, ust_held<S> value) {
    if constexpr (ust_is_wide_integer<S>) {
        atomicMax(p, value);
    } else {
        ust_atomic_update(p, [=](ust_held<S> old) { return ust_maximum(old, value); });
    }
}

template <class S> UST_FN void ust_atomic_and(S* p, ust_held<S> value) {
    if constexpr (ust_is_wide_integer<S>) {
        atomicAnd((ust_word<S>*)p, (ust_word<S>)value);
    } else {
        ust_atomic_update(p, [=](ust_held<S> old) { return ust_and(old, value); });
    }
}

template <class S> UST_FN void ust_atomic_or(S* p, ust_held<S> value) {
    if constexpr (ust_is_wide_integer<S>) {
        atomicOr((ust_word<S>*)p, (ust_word<S>)value);
    } else {
        ust_atomic_update(p, [=](ust_held<S> old) { return ust_or(old, value); });
    }
}

#endif
