"""Streams in other libraries, threads beside a listing, and the memory of a stream."""

import os
import pathlib
import subprocess
import sys
import threading

import megadir
import megadir.futures
import pytest

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "inventory.md"


def sizes(top):
    return sorted((entry.name, entry.stat(follow_symlinks=False).st_size) for entry in os.scandir(top))


def stream(top):
    return megadir.list(top, columns=["name", "size"])


def test_polars_takes_a_stream(tree):
    polars = pytest.importorskip("polars")
    assert sorted(polars.DataFrame(stream(tree / "a")).rows()) == sizes(tree / "a")


def test_pandas_takes_a_stream(tree):
    pandas = pytest.importorskip("pandas", "3")
    frame = pandas.DataFrame.from_arrow(stream(tree / "a"))
    assert sorted(zip(frame["name"], frame["size"])) == sizes(tree / "a")


def test_duckdb_takes_a_stream_and_the_query_on_the_page_takes_a_folder_of_parts(tree, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    assert sorted(duckdb.from_arrow(stream(tree / "a")).fetchall()) == sizes(tree / "a")
    scanned = megadir.futures.scan(tree, tree.parent / "parts", workers=2, entries=50)
    monkeypatch.chdir(tree.parent)
    (query,) = [block.split("```")[0] for block in PAGE.read_text().split("```sql\n")[1:] if "'parts/" in block]
    counts = dict(duckdb.sql(query).fetchall())
    assert scanned.parts > 1 and sum(counts.values()) == scanned.rows
    assert (counts["symlink"], counts["fifo"]) == (2, 1)


def test_tqdm_shows_progress(tree):
    tqdm = pytest.importorskip("tqdm")
    with tqdm.tqdm(disable=True) as silent, open(os.devnull, "w") as nowhere, tqdm.tqdm(file=nowhere) as bar:
        assert silent.n == 0
        count = megadir.count(tree, recursive=True, progress=lambda entries: bar.update(entries - bar.n))
        assert bar.n == count


def test_other_threads_run_while_a_directory_is_read(place):
    for index in range(20_000):
        os.mknod(place / f"{index}")
    interval = sys.getswitchinterval()
    # A thread that does not give up the lock by itself keeps it.
    sys.setswitchinterval(1000)
    try:
        assert any(runs_beside(place) for _attempt in range(200))
    finally:
        sys.setswitchinterval(interval)


def runs_beside(place):
    reading, begin, found = [False], threading.Event(), []

    def look():
        begin.wait()
        found.append(reading[0])

    other = threading.Thread(target=look)
    other.start()
    reading[0] = True
    begin.set()
    megadir.count(place)
    reading[0] = False
    other.join()
    return found == [True]


PEAK = """if True:
    import megadir, sys
    rows = sum(len(batch) for batch in megadir.list(sys.argv[1], columns=["name", "size", "mtime"]))
    # ru_maxrss would begin with the peak of the process that started this one.
    with open("/proc/self/status") as status:
        print(rows, next(line.split()[1] for line in status if line.startswith("VmHWM:")))
"""


def peak_kib(directory):
    done = subprocess.run([sys.executable, "-c", PEAK, directory], stdout=subprocess.PIPE, check=True, text=True)
    rows, peak = done.stdout.split()
    return int(rows), int(peak)


def test_memory_does_not_grow_with_the_directory(place):
    (place / "small").mkdir()
    (place / "large").mkdir()
    for index in range(10):
        os.mknod(place / "small" / f"{index:0250}")
    for index in range(220_000):
        os.mknod(place / "large" / f"{index:0250}")
    (few, before), (many, after) = peak_kib(place / "small"), peak_kib(place / "large")
    assert (few, many) == (10, 220_000)
    # All rows at once would be 60 MB. Two batches of 18 MB exist: the loop keeps the last while it gets the next.
    assert after - before < 46_000
