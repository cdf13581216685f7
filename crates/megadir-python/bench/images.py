"""Compare what libraries do to find a folder of images with megadir, side by side on one tree.

    python images.py --files 1M --rounds 7 DIRECTORY

fills DIRECTORY/megadir-images with empty files in 1000 classes, reads it once, then runs every task in random order within each round, in
one process, and prints for each pair the median of the ratios of times and a 95 % interval of the median (order statistics). Results are compared
once, before the rounds. Needs fsspec, datasets, torchvision (torch or not) and pyarrow. `--skip NAME` leaves out a slow task, such as `datasets`, whose 66
searches of a million files take minutes; `--rounds` counts for all tasks.
"""

import argparse
import functools
import gc
import os
import pathlib
import random
import shutil
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
sys.path.insert(0, os.fspath(pathlib.Path(__file__).parents[1] / "tests"))

import megadir
import megadir.huggingface
import megadir.torch
import pyarrow
from compare import interval, median, number
from datasets.data_files import DataFilesDict, get_data_patterns
from datasets.utils.logging import disable_progress_bar
from fsspec.implementations.local import LocalFileSystem
from megadir.fsspec import MegadirFileSystem
from test_torch import torchvision_folder

CLASSES = 1000


def fill(path, files):
    for index in range(CLASSES):
        folder = path / f"n{index:08}"
        folder.mkdir(parents=True)
        for image in range(files // CLASSES):
            os.mknod(folder / f"n{index:08}_{image}.JPEG")


def resolved_by_datasets(path):
    return DataFilesDict.from_patterns(get_data_patterns(path), base_path=path)


def names_of_os(path):
    names = []
    for folder in os.scandir(path):
        names += [entry.name for entry in os.scandir(folder.path)]
    return names


def tasks(path, folder):
    """Function and pair of each task: what the library does itself, and the same by megadir."""
    inventory = f"{path}.parquet"
    recorded = MegadirFileSystem(inventory=inventory)

    def found_in_inventory():
        # As in a new process: the inventory is read again.
        recorded._rows = None
        return recorded.find(path, detail=True)

    return {
        "datasets": functools.partial(resolved_by_datasets, path),
        "datasets: megadir.huggingface.data_files": functools.partial(megadir.huggingface.data_files, path),
        "datasets: data_files of an inventory": functools.partial(megadir.huggingface.data_files, path, inventory=inventory),
        "make_dataset": functools.partial(folder.make_dataset, path, extensions=folder.IMG_EXTENSIONS),
        "make_dataset: megadir.torch.make_dataset": functools.partial(megadir.torch.make_dataset, path),
        "make_dataset: make_dataset of an inventory": functools.partial(megadir.torch.make_dataset, path, inventory=inventory),
        "find": functools.partial(LocalFileSystem().find, path, detail=True),
        "find: MegadirFileSystem.find": functools.partial(MegadirFileSystem().find, path, detail=True),
        "find: find in an inventory": found_in_inventory,
        "scandir": functools.partial(names_of_os, path),
        "scandir: megadir.list into Arrow": lambda: pyarrow.table(
            megadir.list(path, columns=["name"], recursive=True, type="file")
        ),
    }


def check(work):
    """The results must be equal."""
    for name, function in work.items():
        reference, _, other = name.partition(": ")
        if other and reference != "scandir" and reference in work:
            one, two = work[reference](), function()
            assert one == two, name


def main():
    parser = argparse.ArgumentParser(description="Compare searches of a folder of images.")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--files", type=number, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", action="append", default=[])
    arguments = parser.parse_args()
    disable_progress_bar()
    top = arguments.directory / "megadir-images"
    top.mkdir()
    try:
        fill(top, arguments.files)
        path = os.fspath(top.resolve())
        print(f"scan: {megadir.scan(path, f'{path}.parquet')}")
        work = {name: task for name, task in tasks(path, torchvision_folder()).items() if name not in arguments.skip}
        check(work)
        chooser = random.Random(arguments.seed)
        times = {name: [] for name in work}
        for _round in range(arguments.rounds):
            for name in chooser.sample(sorted(work), len(work)):
                gc.collect()
                started = time.perf_counter()
                result = work[name]()
                times[name].append(time.perf_counter() - started)
                del result
        for name, measured in times.items():
            line = f"{name}: median {median(measured):.3f} s, n = {len(measured)}"
            reference, _, other = name.partition(": ")
            if other and reference in times:
                ratios = [one / two for one, two in zip(times[reference], measured)]
                low, high = interval(ratios)
                line += f"; {reference} / this: {median(ratios):.2f} [{low:.2f}, {high:.2f}]"
            print(line)
    finally:
        shutil.rmtree(top)
        pathlib.Path(f"{top}.parquet").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
