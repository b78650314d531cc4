// Elements side by side, accessed at once.
// Needs: types.
#ifndef UST_VECTORS
#define UST_VECTORS

// Elements that are accessed at once: their address is a multiple of their size.
template <class S, int count> struct alignas(sizeof(S) * count) ust_vector { S at[count]; };

// Number of elements that are accessed at once, of so many: 16 bytes at most.
template <class S, int count> constexpr int ust_at_once =
    sizeof(S) >= 16 ? 1 : count < 16 / (int)sizeof(S) ? count : 16 / (int)sizeof(S);

// The numbers that elements store, beginning with this one.
template <class S, class... T> UST_FN void ust_load(const S* from, T&... to) {
    constexpr int count = sizeof...(T), once = ust_at_once<S, count>;
    ust_vector<S, once> all[count / once];
    for (int at = 0; at < count / once; ++at) all[at] = ((const ust_vector<S, once>*)from)[at];
    int at = 0;
    ((to = (T)ust_get(all[at / once].at[at % once]), ++at), ...);
}

// Sets elements to these numbers, beginning with this one.
template <class S, class... T> UST_FN void ust_store(S* to, T... values) {
    constexpr int count = sizeof...(T), once = ust_at_once<S, count>;
    ust_vector<S, once> all[count / once];
    int at = 0;
    ((all[at / once].at[at % once] = ust_put<S>(values), ++at), ...);
    for (int at = 0; at < count / once; ++at) ((ust_vector<S, once>*)to)[at] = all[at];
}

#endif
