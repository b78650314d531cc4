"""Times SciPy's conversions on the matrices that `ust-benches convert --npz FOLDER` wrote.

    python convert.py FOLDER [--rounds 3] [--ours ours.jsonl]

With `--ours`, the JSON lines of `ust-benches convert --json`, prints both times and their ratio.
"""

import argparse
import json
import pathlib
import statistics
import time

import scipy.sparse as sp

# Our names of SciPy's formats. Blocks are 4 x 4.
FORMATS = {
    "COO": lambda a: a.tocoo(),
    "CSR": lambda a: a.tocsr(),
    "CSC": lambda a: a.tocsc(),
    "BSR(4, 4)": lambda a: a.tobsr((4, 4)),
    "DIA-J": lambda a: a.todia(),
    # By row, as ours; of columns the default is by column.
    "Dense": lambda a: a.toarray(order="C"),
}
SUITED = {
    "random": ["COO", "CSR", "CSC"],
    "stencil": ["COO", "CSR", "CSC", "DIA-J"],
    "banded": ["COO", "CSR", "CSC", "DIA-J", "BSR(4, 4)"],
    "blocked": ["COO", "CSR", "CSC", "BSR(4, 4)"],
    "cells": ["COO", "CSR", "CSC", "Dense"],
}


def timed(work, rounds):
    work()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ours", type=pathlib.Path)
    args = parser.parse_args()
    ours = {}
    if args.ours:
        for line in args.ours.read_text().splitlines():
            row = json.loads(line)
            ours[row["group"], row["from"], row["to"], row["threads"]] = row["seconds"]
    threads = sorted({key[3] for key in ours})
    heads = "".join(f"{f'ours x{t}':>12}{'ratio':>8}" for t in threads)
    print(f"{'input':<10}{'from -> to':<28}{'SciPy ms':>10}{heads}")
    for group, names in SUITED.items():
        path = args.folder / f"{group}.npz"
        if not path.exists():
            continue
        matrix = sp.load_npz(path)
        for source in names:
            made = FORMATS[source](matrix)
            if isinstance(made, sp.coo_matrix | sp.coo_array):
                made.sum_duplicates()
            for target in names:
                if source == target:
                    continue
                if source == "Dense":
                    kinds = {"COO": sp.coo_array, "CSR": sp.csr_array, "CSC": sp.csc_array}
                    work = lambda kind=kinds[target]: kind(made)
                else:
                    work = lambda: FORMATS[target](made)
                seconds = timed(work, args.rounds)
                row = f"{group:<10}{f'{source} -> {target}':<28}{seconds * 1e3:>10.1f}"
                for t in threads:
                    mine = ours.get((group, source, target, t))
                    row += f"{mine * 1e3:>12.1f}{mine / seconds:>8.2f}" if mine else " " * 20
                print(row, flush=True)


if __name__ == "__main__":
    main()
