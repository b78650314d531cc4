"""Contenders that live in Python: SciPy, Numba, PyTorch. Driven by `ust-benches matrix --python`.

Requests come as JSON lines on standard input, and each is answered by a line on standard output:

    {"do": "prepare", "id": 1, "who": "scipy", "op": "spmv", "format": "CSR", "threads": 1,
     "operands": [["A", "A.npz"], ["x", "x.npy"]]}       {"ready": true}, or false for "not mine"
    {"do": "time", "id": 1, "calls": 3}                   {"seconds": 0.01}
    {"do": "outcome", "id": 1, "to": "out.npy"}           {}; a number for each row, float64
    {"do": "drop", "id": 1}                               {}
    {"do": "version", "id": 0, "package": "scipy"}        {"version": "1.2.3"}, or null

A request that fails is answered by {"error": "..."}. A new contender is one function here and one
line in `src/contenders/python.rs`.
"""

import gc
import importlib.metadata
import json
import re
import sys
import time

import numpy as np
import scipy.io
import scipy.sparse as sp
from scipy.io import _fast_matrix_market as fast_matrix_market

FORMATS = {
    "COO": lambda a: a.tocoo(),
    "CSR": lambda a: a.tocsr(),
    "CSC": lambda a: a.tocsc(),
    "DIA-J": lambda a: a.todia(),
}


def maker(name):
    """What puts a matrix into a format, where SciPy has it."""
    block = re.fullmatch(r"BSR\((\d+), (\d+)\)", name)
    if block:
        size = tuple(int(n) for n in block.groups())
        return lambda a: a.tobsr(size) if all(n % m == 0 for n, m in zip(a.shape, size)) else None
    return FORMATS.get(name)


def read(path, threads):
    # The number of threads of its reader; all by default.
    fast_matrix_market.PARALLELISM = threads
    return scipy.io.mmread(path).tocsr()


def scipy_work(request, operands):
    op = request["op"]
    if op == "mtx-read":
        return lambda: read(request["file"], request["threads"])
    if request["threads"] != 1:
        return None
    if op == "coo-csr":
        rows, columns, values = (operands[name] for name in ("rows", "columns", "values"))
        entries = sp.coo_array((values, (rows, columns)), shape=request["shape"])
        return lambda: entries.tocsr()
    a = operands["A"] if "A" in operands else None
    if op in ("csr-csc", "csr-bsr", "csr-dia"):
        to = {"csr-csc": "CSC", "csr-bsr": "BSR(4, 4)", "csr-dia": "DIA-J"}[op]
        convert = maker(to)
        return lambda: convert(a)
    if op == "dense-csr":
        cells = a.toarray()
        return lambda: sp.csr_array(cells)
    make = maker(request["format"])
    if make is None or a is None or op not in ("spmv", "spmvt", "spmm32", "spmm128", "spgemm", "spadd"):
        return None
    a = make(a)
    if a is None:
        return None
    if op == "spgemm":
        return lambda: a @ a
    if op == "spadd":
        b = make(operands["B"])
        return lambda: a + b
    dense = operands["x"] if "x" in operands else operands["B"]
    if op == "spmvt":
        a = a.T
    return lambda: a @ dense


def sorted_work(request, operands):
    """Products whose rows are sorted afterwards, as those of others are."""
    if request["op"] != "spgemm" or request["format"] != "CSR" or request["threads"] != 1:
        return None
    a = operands["A"]

    def work():
        c = a @ a
        c.sort_indices()
        return c

    return work


def numba_work(request, operands):
    global numba  # The loops below are compiled with it in sight.
    import numba

    if request["format"] != "CSR":
        return None
    numba.set_num_threads(min(request["threads"], numba.config.NUMBA_NUM_THREADS))
    jit = numba.njit(parallel=request["threads"] > 1, fastmath=True)
    op = request["op"]
    if op == "spmv":
        a, x = operands["A"], operands["x"]
        y, kernel = np.empty(a.shape[0], a.dtype), jit(numba_spmv)
        arguments = (a.indptr, a.indices, a.data, x, y)
    elif op in ("spmm32", "spmm128"):
        a, b = operands["A"], operands["B"]
        y, kernel = np.empty((a.shape[0], b.shape[1]), a.dtype), jit(numba_spmm)
        arguments = (a.indptr, a.indices, a.data, b, y)
    elif op == "sddmm":
        m, kernel = operands["M"], jit(numba_sddmm)

        def sampled():
            values = np.empty_like(m.data)
            kernel(m.indptr, m.indices, m.data, operands["A"], operands["B"], values)
            return sp.csr_array((values, m.indices, m.indptr), shape=m.shape)

        return sampled
    else:
        return None

    def work():
        kernel(*arguments)
        return y

    return work


def numba_spmv(pos, crd, values, x, y):
    for i in numba.prange(y.shape[0]):
        total = y.dtype.type(0)
        for at in range(pos[i], pos[i + 1]):
            total += values[at] * x[crd[at]]
        y[i] = total


def numba_spmm(pos, crd, values, b, c):
    for i in numba.prange(c.shape[0]):
        c[i, :] = 0
        for at in range(pos[i], pos[i + 1]):
            value, j = values[at], crd[at]
            for k in range(c.shape[1]):
                c[i, k] += value * b[j, k]


def numba_sddmm(pos, crd, values, a, b, c):
    for i in numba.prange(a.shape[0]):
        for at in range(pos[i], pos[i + 1]):
            j = crd[at]
            total = a.dtype.type(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[j, k]
            c[at] = values[at] * total


def torch_work(request, operands):
    import torch

    torch.set_num_threads(request["threads"])
    op = request["op"]
    if op not in ("spmv", "spmm32", "spmm128", "spgemm", "spadd", "sddmm"):
        return None

    def made(a):
        if request["format"] == "CSR":
            parts = (a.indptr.astype(np.int64), a.indices.astype(np.int64), a.data)
            return torch.sparse_csr_tensor(*map(torch.from_numpy, parts), size=a.shape)
        if request["format"] == "COO":
            a = a.tocoo()
            places = np.stack([a.row, a.col]).astype(np.int64)
            entries = torch.from_numpy(places), torch.from_numpy(a.data)
            return torch.sparse_coo_tensor(*entries, size=a.shape, is_coalesced=True)
        return None

    if op == "sddmm":
        return torch_sddmm(torch, made(operands["M"]), operands)
    a = made(operands["A"])
    if a is None:
        return None
    if op == "spgemm":
        return lambda: a @ a
    if op == "spadd":
        b = made(operands["B"])
        return lambda: a + b
    dense = torch.from_numpy(operands["x" if op == "spmv" else "B"])
    return lambda: a @ dense


def torch_sddmm(torch, m, operands):
    if m is None or m.layout != torch.sparse_csr:
        return None
    a, b = torch.from_numpy(operands["A"]), torch.from_numpy(operands["B"]).T

    def work():
        # It samples at the places of `m`, and leaves out its values.
        c = torch.sparse.sampled_addmm(m, a, b, beta=0.0)
        c.values().mul_(m.values())
        return c

    return work


CONTENDERS = {"scipy": scipy_work, "scipy-sorted": sorted_work, "numba": numba_work, "torch": torch_work}


def weights(n):
    """A number for each column, as in `src/matrix/case.rs`."""
    mixed = (np.arange(n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return 0.5 + mixed.astype(np.float64) / (1 << 25)


def rows(result):
    """A result as a number for each row."""
    if type(result).__module__.startswith("torch"):
        if str(result.layout) == "torch.sparse_csr":
            parts = (result.values(), result.col_indices(), result.crow_indices())
            result = sp.csr_array(tuple(p.numpy() for p in parts), shape=tuple(result.shape))
        elif str(result.layout) == "torch.sparse_coo":
            result = result.coalesce()
            places = tuple(result.indices().numpy())
            result = sp.coo_array((result.values().numpy(), places), shape=tuple(result.shape))
        else:
            result = result.numpy()
    if result.ndim == 1:
        return np.asarray(result, dtype=np.float64)
    return np.asarray(result.astype(np.float64) @ weights(result.shape[1]))


def loaded(path):
    return sp.csr_array(sp.load_npz(path)) if path.endswith(".npz") else np.load(path)


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def answer(request, ready, cache):
    do, name = request["do"], request["id"]
    if do == "prepare":
        paths = [path for _, path in request["operands"]]
        for path in [known for known in cache if known not in paths]:
            del cache[path]
        for path in paths:
            if path not in cache:
                cache[path] = loaded(path)
        operands = {name: cache[path] for name, path in request["operands"]}
        work = CONTENDERS[request["who"]](request, operands)
        if work is not None:
            ready[name] = work
        return {"ready": work is not None}
    if do == "time":
        work, calls = ready[name], request["calls"]
        start = time.perf_counter()
        for _ in range(calls):
            work()
        return {"seconds": time.perf_counter() - start}
    if do == "outcome":
        np.save(request["to"], rows(ready[name]()))
    if do == "version":
        return {"version": version(request["package"])}
    if do == "drop":
        ready.pop(name, None)
        gc.collect()
    return {}


def main():
    # What packages print must not be taken for answers.
    out, sys.stdout = sys.stdout, sys.stderr
    ready, cache = {}, {}
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), ready, cache)
        except ModuleNotFoundError as error:
            reply = {"ready": False, "why": str(error)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=out, flush=True)


if __name__ == "__main__":
    main()
