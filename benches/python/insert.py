"""Times entries inserted one by one into SciPy's matrices, beside `ust-benches insert`.

    python insert.py [--entries 1000000] [--extent 1000000]

The places are random, and as many for both. An insertion into `dok_matrix` takes about as long however many
there are; ten million of them take 10 GB, so the default is a tenth of what `ust-benches insert` does.
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp


def timed(what, entries, work):
    start = time.perf_counter()
    made = work()
    seconds = time.perf_counter() - start
    print(f"{what:<44}{seconds * 1e3:>12.1f}{seconds * 1e9 / entries:>12.1f}")
    return made


def inserted(matrix, places):
    for i, j in places:
        matrix[i, j] = 1.0
    return matrix


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--extent", type=int, default=1_000_000)
    args = parser.parse_args()
    n, shape = args.entries, (args.extent, args.extent)
    chance = np.random.default_rng(1)
    columns = chance.integers(0, args.extent, (2, n))
    places = list(zip(*columns.tolist()))
    print(f"{n} entries at random places of {args.extent} x {args.extent}, SciPy")
    print(f"{'':<44}{'ms':>12}{'ns / entry':>12}")
    for name, new in [("dok_matrix", sp.dok_matrix), ("lil_matrix", sp.lil_matrix)]:
        empty = new(shape)
        made = timed(f"{name}, inserts", n, lambda: inserted(empty, places))
        timed(f"{name} -> CSR", n, made.tocsr)
    entries = sp.coo_matrix((np.ones(n), columns), shape)
    timed("unsorted entries -> CSR", n, entries.tocsr)


if __name__ == "__main__":
    main()
