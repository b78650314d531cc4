"""PyTorch, CuPy and nvmath-python's UST on a GPU, on the inputs of `ust-benches gpu`: a JSON object a line, with the same words.

    ust convert "gen:stencil27(130)" st27.npz --format CSR
    python gpu_peers.py st27.npz

Each library that is not there is told of on standard error, and left out. Times are those of the device, between
two events, medians of 15; the operands are there before. nvmath-python converts between its formats entry by entry
in Python: that is measured once, up to 100,000 entries.
"""

import json
import sys

import numpy as np
import scipy.sparse as sp

ROUNDS = 15
# Entries of a matrix up to which nvmath-python is let convert it.
CONVERTED_BY_PYTHON = 100_000
COLUMNS = {"spmm32": 32, "spmm128": 128, "sddmm64": 64}


def torch_seconds(work, rounds):
    """The median over so many rounds, after one that does not count if there are several."""
    import torch

    times = []
    for _ in range(1 + rounds if rounds > 1 else 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return float(np.median(times[-rounds:]))


def torch_work(a):
    import torch

    device = torch.device("cuda")

    def there(array):
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    def median(work):
        return torch_seconds(work, ROUNDS)

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


def nvmath_formats(a, dtype, device):
    """The matrix in the formats that nvmath-python takes over from PyTorch without a copy."""
    import torch
    from nvmath.sparse.ust import Tensor

    def there(array):
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    csr, csc, coo = a.astype(dtype), a.astype(dtype).tocsc(), a.astype(dtype).tocoo()
    places = there(np.stack([coo.row, coo.col]))
    made = {
        "CSR": torch.sparse_csr_tensor(*map(there, (csr.indptr, csr.indices, csr.data)), size=a.shape),
        "CSC": torch.sparse_csc_tensor(*map(there, (csc.indptr, csc.indices, csc.data)), size=a.shape),
        "COO": torch.sparse_coo_tensor(places, there(coo.data), a.shape).coalesce(),
    }
    return {name: Tensor.from_package(matrix) for name, matrix in made.items()}


def nvmath_work(a):
    import torch
    from nvmath.sparse import Matmul
    from nvmath.sparse.ust import NamedFormats, Tensor

    device = torch.device("cuda")

    def product(matrix, columns, dtype):
        b = torch.ones((a.shape[1], *columns), dtype=dtype, device=device)
        c = torch.zeros((a.shape[0], *columns), dtype=dtype, device=device)
        with Matmul(matrix, Tensor.from_package(b), c=Tensor.from_package(c), beta=0.0) as work:
            work.plan()
            return torch_seconds(work.execute, ROUNDS)

    wide = nvmath_formats(a, np.float64, device)
    for name, matrix in wide.items():
        yield "spmv", name, lambda matrix=matrix: product(matrix, (), torch.float64)
    narrow = nvmath_formats(a, np.float32, device)
    for op in ("spmm32", "spmm128"):
        for name, matrix in narrow.items():
            columns = (COLUMNS[op],)
            yield op, name, lambda m=matrix, c=columns: product(m, c, torch.float32)
    if a.nnz > CONVERTED_BY_PYTHON:
        return
    for source, target in (("CSR", "CSC"), ("CSR", "COO"), ("COO", "CSR")):
        form = getattr(NamedFormats, target)
        work = lambda source=source, form=form: wide[source].convert(tensor_format=form)
        yield "convert", f"{source} -> {target}", lambda work=work: torch_seconds(work, 1)


def main(files):
    for file in files:
        a = sp.csr_matrix(sp.load_npz(file))
        for library, work in PEERS:
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


PEERS = (("torch", torch_work), ("cupy", cupy_work), ("nvmath", nvmath_work))

if __name__ == "__main__":
    main(sys.argv[1:])
