"""Compare megadir with os.scandir and scandir-rs on one directory, side by side.

    python compare.py --entries 1M --rounds 9 DIRECTORY

fills DIRECTORY/megadir-compare with empty files, reads it once, then runs every task in random order within each round, in one
process, and prints for each pair the median of the ratios of times and a 95 % interval of the median (order statistics).
Needs pyarrow; scandir-rs is left out if it is not installed, and the stat backend ext4-device without root or ext4.
"""

import argparse
import contextlib
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import megadir
import pyarrow

try:
    import scandir_rs
except ImportError:
    scandir_rs = None


def os_names(path):
    return len([entry.name for entry in os.scandir(path)])


def os_attributes(path):
    rows = []
    for entry in os.scandir(path):
        status = entry.stat(follow_symlinks=False)
        rows.append((entry.name, status.st_size, status.st_mtime_ns))
    return len(rows)


def megadir_table(path):
    return len(pyarrow.table(megadir.list(path)))


def megadir_attributes(path):
    return len(pyarrow.table(megadir.list(path, columns=["name", "size", "mtime"])))


def megadir_device(path):
    columns = ["name", "size", "mtime"]
    return len(pyarrow.table(megadir.list(path, columns=columns, stat_backend="ext4-device")))


def megadir_scandir(path):
    return len([entry.name for entry in megadir.scandir(path)])


def rs_scandir(path):
    return sum(1 for _entry in scandir_rs.Scandir(path, return_type=scandir_rs.ReturnType.Base))


TASKS = {
    "megadir.count": megadir.count,
    "os.scandir, names": os_names,
    "os.scandir + stat": os_attributes,
    "megadir.list, names": megadir_table,
    "megadir.list, sizes and times": megadir_attributes,
    "megadir.scandir, names": megadir_scandir,
}
PAIRS = [
    ("os.scandir, names", "megadir.count"),
    ("os.scandir, names", "megadir.list, names"),
    ("os.scandir + stat", "megadir.list, sizes and times"),
    ("os.scandir, names", "megadir.scandir, names"),
]
if scandir_rs is not None:
    TASKS["scandir-rs"] = rs_scandir
    PAIRS += [("scandir-rs", "megadir.list, names"), ("scandir-rs", "megadir.scandir, names")]


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(values):
    """Interval of the median by order statistics, at least 95 % if there are six values or more."""
    ordered, count = sorted(values), len(values)
    weights = [1]
    for k in range(1, count + 1):
        weights.append(weights[-1] * (count - k + 1) // k)
    below, rank = 0, 0
    while rank < count // 2 and 2 * (below + weights[rank]) <= 0.05 * 2**count:
        below += weights[rank]
        rank += 1
    rank = max(rank - 1, 0)
    return ordered[rank], ordered[-1 - rank]


STREAM = """if True:
    import megadir, sys
    for _batch in megadir.list(sys.argv[1], columns=["name", "size", "mtime"]):
        pass
    # ru_maxrss would begin with the peak of the process that started this one.
    with open("/proc/self/status") as status:
        print(next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:")))
"""


def peak_mib(path):
    done = subprocess.run([sys.executable, "-c", STREAM, path], stdout=subprocess.PIPE, check=True, text=True)
    return float(done.stdout)


def number(text):
    return int(float(text.replace("k", "e3").replace("M", "e6")))


def main():
    parser = argparse.ArgumentParser(description="Compare megadir with os.scandir and scandir-rs.")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--entries", type=number, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    path = arguments.directory / "megadir-compare"
    path.mkdir()
    with contextlib.suppress(OSError):
        megadir_device(path)
        TASKS["megadir.list, ext4-device"] = megadir_device
        PAIRS.append(("os.scandir + stat", "megadir.list, ext4-device"))
    try:
        for index in range(arguments.entries):
            os.mknod(path / f"file-{index:027}")
        chooser = random.Random(arguments.seed)
        times = {name: [] for name in TASKS}
        for round_number in range(arguments.rounds + 1):
            for name in chooser.sample(sorted(TASKS), len(TASKS)):
                started = time.perf_counter()
                count = TASKS[name](os.fspath(path))
                elapsed = time.perf_counter() - started
                assert count == arguments.entries, (name, count)
                if round_number > 0:
                    times[name].append(elapsed)
        for name, measured in times.items():
            print(f"{name}: median {median(measured):.3f} s, n = {len(measured)}")
        for slow, fast in PAIRS:
            ratios = [one / other for one, other in zip(times[slow], times[fast])]
            low, high = interval(ratios)
            print(f"{slow} / {fast}: {median(ratios):.2f} [{low:.2f}, {high:.2f}]")
        print(f"peak memory of a process that reads names, sizes and times in batches: {peak_mib(path):.0f} MiB")
    finally:
        shutil.rmtree(path)


if __name__ == "__main__":
    main()
