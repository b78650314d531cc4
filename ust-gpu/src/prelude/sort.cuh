// Sorting by one thread.
// Needs: types.
#ifndef UST_SORT
#define UST_SORT

// Moves a number from the place `at` of a heap down, until none below it is larger.
UST_FN void ust_sift_down(i64* heap, i64 at, i64 length, i64 number) {
    for (;;) {
        i64 child = 2 * at + 1;
        if (child >= length) break;
        if (child + 1 < length && heap[child] < heap[child + 1]) child++;
        if (heap[child] <= number) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = number;
}

// Sorts `array[lo..hi]` in ascending order, in place. Does nothing if `hi` is not larger than `lo`.
// Few numbers are inserted one by one; many are sorted as a heap, which takes no more memory.
UST_FN void ust_sort(i64* array, i64 lo, i64 hi) {
    i64* part = array + lo;
    i64 length = hi - lo;
    if (length <= 24) {
        for (i64 i = 1; i < length; i++) {
            i64 number = part[i], at = i;
            for (; at > 0 && number < part[at - 1]; at--) part[at] = part[at - 1];
            part[at] = number;
        }
        return;
    }
    for (i64 at = length / 2; at-- > 0;) ust_sift_down(part, at, length, part[at]);
    while (length-- > 1) {
        i64 last = part[length];
        part[length] = part[0];
        ust_sift_down(part, 0, length, last);
    }
}

#endif
