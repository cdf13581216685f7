"""Compare a scan by several workers with one by a single worker, where each directory takes 5 ms to open.

    python workers.py --workers 8 --rounds 5 [--engine threads|processes|ray]

builds slow_fs.c (needs a C compiler and libfuse3-dev), mounts a file system of 200 000 entries, scans it in tasks with one and with several
workers in random order within each round, and prints the median of the ratios of times and an interval (order statistics).
Ray starts before the first round, with as many processors as workers. It may hang in networks with several addresses: unshare --net.
"""

import argparse
import functools
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

import megadir.futures
from compare import interval, median

DIRECTORIES, FILES, DELAY_US = 4000, 50, 5000


def mount(scratch):
    program, point = scratch / "slow_fs", scratch / "mount"
    point.mkdir()
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], stdout=subprocess.PIPE, check=True, text=True)
    source = pathlib.Path(__file__).with_name("slow_fs.c")
    subprocess.run(["cc", "-O2", source, "-o", program, *flags.stdout.split()], check=True)
    settings = {"DIRECTORIES": str(DIRECTORIES), "FILES": str(FILES), "DELAY_US": str(DELAY_US)}
    server = subprocess.Popen([program, "-f", point], env={**os.environ, **settings})
    while not os.path.ismount(point):
        time.sleep(0.01)
    return server, point


def scans(engine, workers):
    """Function that scans by the engine."""
    if engine == "ray":
        import megadir.ray
        import ray

        ray.init(address="local", num_cpus=workers, include_dashboard=False)
        return megadir.ray.scan
    return functools.partial(megadir.futures.scan, processes=engine == "processes")


def main():
    parser = argparse.ArgumentParser(description="Compare several workers with one.")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=["threads", "processes", "ray"], default="threads")
    arguments = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="megadir-workers-"))
    scan = scans(arguments.engine, arguments.workers)
    server, point = mount(scratch)
    try:
        chooser = random.Random(arguments.seed)
        times = {1: [], arguments.workers: []}
        for round_number in range(arguments.rounds + 1):
            for workers in chooser.sample(sorted(times), 2):
                folder = scratch / f"parts-{round_number}-{workers}"
                started = time.perf_counter()
                scanned = scan(point, folder, workers=workers)
                elapsed = time.perf_counter() - started
                expected = 1 + (DIRECTORIES + 63) // 64 + DIRECTORIES * (FILES + 1)
                assert (scanned.rows, scanned.failed) == (expected, 0), (scanned, expected)
                if round_number > 0:
                    times[workers].append(elapsed)
        for workers, measured in times.items():
            print(f"{workers} workers: median {median(measured):.2f} s, n = {len(measured)}")
        ratios = [one / several for one, several in zip(times[1], times[arguments.workers])]
        low, high = interval(ratios)
        print(f"1 / {arguments.workers} workers: {median(ratios):.2f} [{low:.2f}, {high:.2f}]")
    finally:
        subprocess.run(["umount", point], check=True)
        server.wait()
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
