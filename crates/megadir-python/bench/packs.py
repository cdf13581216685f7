"""Compare reads of files by megadir.pack with open, read and close of the files, in random order.

    python packs.py --files 50k --size 4KiB --reads 20k --rounds 9 DIRECTORY

fills DIRECTORY/megadir-packs with files and a pack of them, reads both once, so that both are in the page cache, then reads the same files in
random order by each method, in random order of methods within each round, and prints the median of the ratios of times and an interval of it
(order statistics). By default the pack compares each file with its SHA-256, with check=False it does not. With --threads, that many threads share
the reads.
"""

import argparse
import functools
import os
import pathlib
import random
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import megadir._megadir
import megadir.pack
from compare import interval, median, number


def read_file(top, name):
    with open(f"{top}/{name}", "rb", buffering=0) as file:
        return file.readall()


def measured(read, names, size, threads):
    started = time.perf_counter()
    if threads == 1:
        lengths = [len(read(name)) for name in names]
    else:
        with ThreadPoolExecutor(threads) as executor:
            parts = [names[start::threads] for start in range(threads)]
            work = executor.map(lambda part: [len(read(name)) for name in part], parts)
            lengths = [length for part in work for length in part]
    elapsed = time.perf_counter() - started
    assert lengths == [size] * len(names)
    return elapsed


def main():
    parser = argparse.ArgumentParser(description="Compare reads by megadir.pack with reads of the files.")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--files", type=number, default=50_000)
    parser.add_argument("--size", default="4KiB")
    parser.add_argument("--reads", type=number, default=20_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    size, chooser = megadir._megadir.size_bytes("size", arguments.size), random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="megadir-packs-", dir=arguments.directory) as folder:
        top = pathlib.Path(folder)
        source = top / "source"
        names = [f"{index % 100:02}/file-{index:07}.bin" for index in range(arguments.files)]
        for directory in range(min(100, len(names))):
            (source / f"{directory:02}").mkdir(parents=True)
        for name in names:
            (source / name).write_bytes(chooser.randbytes(size))
        megadir.pack.create(source, top / "packed")
        started = time.perf_counter()
        pack = megadir.pack.open(top / "packed")
        print(f"megadir.pack.open of {len(pack)} files: {time.perf_counter() - started:.3f} s")
        methods = {"open, read, close": functools.partial(read_file, os.fspath(source)), "megadir.pack": pack.__getitem__}
        methods["megadir.pack, check=False"] = megadir.pack.open(top / "packed", check=False).__getitem__
        times = {method: [] for method in methods}
        for read in methods.values():
            measured(read, names, size, 1)
        for _round in range(arguments.rounds):
            chosen = chooser.choices(names, k=arguments.reads)
            for method in chooser.sample(sorted(methods), len(methods)):
                times[method].append(measured(methods[method], chosen, size, arguments.threads))
        for method, elapsed in times.items():
            each = median(elapsed) / arguments.reads * 1e6
            print(f"{method}: median {median(elapsed):.3f} s, {each:.1f} us for each read, n = {len(elapsed)}")
        files, *packs = methods
        for pack in packs:
            ratios = [slow / fast for slow, fast in zip(times[files], times[pack])]
            low, high = interval(ratios)
            print(f"{files} / {pack}: {median(ratios):.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
