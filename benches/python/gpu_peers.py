"""PyTorch and CuPy on a GPU, on the inputs of `ust-benches gpu`: a JSON object a line, with the same words.

    ust convert "gen:stencil27(130)" st27.npz --format CSR
    python gpu_peers.py st27.npz

Each library that is not there is told of on standard error, and left out. Times are those of the device, between
two events, medians of 15; the operands are there before.
"""

import json
import sys

import numpy as np
import scipy.sparse as sp

ROUNDS = 15
COLUMNS = {"spmm32": 32, "spmm128": 128, "sddmm64": 64}


def torch_work(a):
    import torch

    device = torch.device("cuda")

    def there(array):
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    def median(work):
        work()
        torch.cuda.synchronize()
        times = []
        for _ in range(ROUNDS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) / 1e3)
        return float(np.median(times))

    def csr(dtype):
        parts = [there(part) for part in (a.indptr, a.indices, a.data.astype(dtype))]
        return torch.sparse_csr_tensor(*parts, size=a.shape)

    wide, narrow = csr(np.float64), csr(np.float32)
    x = there(np.ones(a.shape[1]))
    yield "spmv", "CSR", lambda: median(lambda: wide @ x)
    yield "spmv", "COO", lambda: median(lambda coo=wide.to_sparse_coo().coalesce(): coo @ x)
    for name in ("spmm32", "spmm128"):
        b = there(np.ones((a.shape[1], COLUMNS[name]), np.float32))
        yield name, "CSR", lambda b=b: median(lambda: narrow @ b)
    p, q = (there(np.ones((n, COLUMNS["sddmm64"]), np.float32)) for n in a.shape)
    yield (
        "sddmm64",
        "CSR",
        lambda: median(lambda: torch.sparse.sampled_addmm(narrow, p, q.T, beta=0.0)),
    )
    yield "spgemm", "CSR", lambda: median(lambda: wide @ wide)
    coo = wide.to_sparse_coo().coalesce()
    yield "convert", "CSR -> CSC", lambda: median(wide.to_sparse_csc)
    yield "convert", "CSR -> COO", lambda: median(wide.to_sparse_coo)
    yield "convert", "COO -> CSR", lambda: median(coo.to_sparse_csr)


def cupy_work(a):
    import cupy
    import cupyx.scipy.sparse as csp
    from cupyx.profiler import benchmark

    def median(work):
        times = benchmark(work, n_repeat=ROUNDS, n_warmup=1).gpu_times[0]
        return float(np.median(times))

    wide = csp.csr_matrix(a.astype(np.float64))
    narrow = csp.csr_matrix(a.astype(np.float32))
    x = cupy.ones(a.shape[1])
    yield "spmv", "CSR", lambda: median(lambda: wide @ x)
    yield "spmv", "CSC", lambda: median(lambda csc=wide.tocsc(): csc @ x)
    yield "spmv", "COO", lambda: median(lambda coo=wide.tocoo(): coo @ x)
    for name in ("spmm32", "spmm128"):
        b = cupy.ones((a.shape[1], COLUMNS[name]), cupy.float32)
        yield name, "CSR", lambda b=b: median(lambda: narrow @ b)
    yield "spgemm", "CSR", lambda: median(lambda: wide @ wide)
    coo = wide.tocoo()
    yield "convert", "CSR -> CSC", lambda: median(wide.tocsc)
    yield "convert", "CSR -> COO", lambda: median(wide.tocoo)
    yield "convert", "COO -> CSR", lambda: median(coo.tocsr)


def main(files):
    for file in files:
        a = sp.csr_matrix(sp.load_npz(file))
        for library, work in (("torch", torch_work), ("cupy", cupy_work)):
            try:
                for op, form, measure in work(a):
                    line = {"op": op, "input": file, "format": form, "backend": library}
                    try:
                        line["seconds"] = measure()
                    except Exception as error:  # a library refuses what it does not have
                        line["failed"] = str(error).splitlines()[0]
                    print(json.dumps(line), flush=True)
            except Exception as error:
                print(f"{library}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
