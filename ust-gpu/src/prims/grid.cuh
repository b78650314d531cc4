// All threads of the grid share `n` elements: neighbours have neighbours.
#define EACH(i, n) \
    for (i64 i = (i64)blockIdx.x * THREADS + threadIdx.x; i < (n); i += (i64)gridDim.x * THREADS)
