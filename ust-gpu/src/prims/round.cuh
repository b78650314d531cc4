// Numbers of single precision, rounded.
// Above: `Element`, half precision; grid.cuh.

extern "C" __global__ void __launch_bounds__(THREADS)
halves(const float* __restrict__ from, i64 n, Element* __restrict__ to) {
#pragma unroll 4
    EACH(i, n) to[i] = ust_put<Element>(from[i]);
}
