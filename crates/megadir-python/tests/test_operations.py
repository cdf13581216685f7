"""Inventories, changes, usage, limits, layouts and removal."""

import csv
import gzip
import io
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import megadir
import pyarrow
import pytest


def rows(stream):
    """Rows as dictionaries, with times in nanoseconds."""
    table = pyarrow.table(stream)
    for index, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type):
            table = table.set_column(index, field.name, table[field.name].cast(pyarrow.int64()))
    return table.to_pylist()


def test_changes_since_a_scan(tree):
    inventory = tree.parent / "inventory.parquet"
    scanned = megadir.scan(tree, inventory)
    assert scanned == (308, 0, 0, inventory.stat().st_size, None)
    (tree / "new").write_text("new")
    (tree / "a" / "file-0007.dat").unlink()
    (tree / "a" / "file-0008.dat").write_text("changed")
    (tree / "a" / "file-0009.dat").rename(tree / "empty" / "moved")
    changed = {
        (row["kind"], row["path"], row["from"], row["old_size"], row["size"])
        for row in rows(megadir.changes(inventory))
        if row["type"] == "file" and row["kind"] != "suspect"
    }
    expected = {
        ("added", "new", None, None, 3),
        ("removed", "a/file-0007.dat", None, 7, None),
        ("modified", "a/file-0008.dat", None, 8, 7),
        ("renamed", "empty/moved", "a/file-0009.dat", 9, 9),
    }
    assert changed == expected
    newer = tree.parent / "newer.parquet"
    megadir.scan(tree, newer)
    of_two = {
        (row["kind"], row["path"], row["from"], row["old_size"], row["size"])
        for row in rows(megadir.changes(inventory, newer))
        if row["type"] == "file" and row["kind"] != "suspect"
    }
    assert of_two == expected
    shutil.copytree(tree, tree.parent / "copy", symlinks=True, ignore=lambda *_: ["fifo"])
    with pytest.raises(ValueError, match="not the directory"):
        megadir.changes(inventory, tree.parent / "copy")
    assert rows(megadir.changes(os.fsencode(inventory), any_root=True))[0]["kind"]


def test_a_folder_of_parts_is_an_inventory(tree):
    inventory, folder = tree.parent / "inventory.parquet", tree.parent / "parts"
    folder.mkdir()
    megadir.scan(tree, inventory)
    shutil.copy(inventory, folder / "part-1.parquet")
    (tree / "new").write_text("new")
    changed = rows(megadir.changes(inventory))
    with pytest.raises(OSError, match="incomplete: it has no megadir-parts.json"):
        megadir.changes(folder)
    errors = []
    assert rows(megadir.changes(folder, on_error=errors.append)) == changed
    assert len(errors) == 1
    (folder / "megadir-parts.json").write_text('{"version": 1, "parts": 1}')
    assert rows(megadir.changes(folder)) == changed
    assert rows(megadir.usage(folder)) == rows(megadir.usage(inventory))
    megadir.scan(tree, tree.parent / "newer.parquet")
    newer = tree.parent / "newer"
    newer.mkdir()
    (tree.parent / "newer.parquet").rename(newer / "1.parquet")
    (newer / "megadir-parts.json").write_text('{"version": 1, "parts": 1}')
    added = [row["path"] for row in rows(megadir.changes(os.fsencode(folder), newer)) if row["kind"] == "added"]
    assert added == ["new"]
    shutil.copy(inventory, folder / "part-2.parquet")
    with pytest.raises(ValueError, match="2 parts instead of 1"):
        megadir.usage(folder)


def test_the_command_and_the_package_agree(tree):
    """The command of the wheel compares an inventory of the package with the tree."""
    inventory = tree.parent / "inventory.parquet"
    megadir.scan([tree], inventory, exclude="fifo")
    command = os.path.join(os.path.dirname(sys.executable), "megadir")
    listed = subprocess.run([command, "list", "--recursive", tree], stdout=subprocess.PIPE, text=True, check=True)
    paths = sorted(os.path.relpath(line, tree) for line in listed.stdout.splitlines())
    assert paths == sorted(pyarrow.table(megadir.list(tree, recursive=True))["path"].to_pylist())
    used = subprocess.run([command, "usage", inventory, "--csv"], stdout=subprocess.PIPE, text=True, check=True)
    assert ",306," in used.stdout


def test_usage_of_a_tree_and_its_inventory(tree):
    table = rows(megadir.usage(tree, top=2))
    assert [(row["path"], row["depth"], row["entries"]) for row in table] == [("", 0, 307), ("a", 1, 301 + 1), ("a/b", 2, 1)]
    assert table[0]["directories"] == 3 and table[1]["apparent"] >= sum(range(300))
    inventory = tree.parent / "inventory.parquet"
    megadir.scan(tree, inventory)
    assert rows(megadir.usage(inventory, top=2)) == table
    (files,) = rows(megadir.usage(os.fsencode(tree), top=0, type="file"))
    assert (files["path"], files["entries"]) == (b"", 301)
    with pytest.raises(ValueError, match="entries"):
        megadir.usage(tree, order="entrys")


def test_stat_backends_of_scan_and_usage(tree, file_system_name):
    other = "ext4-device" if file_system_name == "ext4" else "fstatat"
    for number, name in enumerate([None, other]):
        megadir.scan(tree, tree.parent / f"{number}.parquet", stat_backend=name)
    assert rows(megadir.usage(tree, stat_backend=other)) == rows(megadir.usage(tree))
    assert {row["kind"] for row in rows(megadir.changes(tree.parent / "0.parquet", tree.parent / "1.parquet"))} <= {"suspect"}
    for function in [lambda **options: megadir.scan(tree, tree.parent / "2.parquet", **options), lambda **options: megadir.usage(tree, **options)]:
        with pytest.raises(OSError, match="btrfs"):
            function(stat_backend="btrfs-search")
        with pytest.raises(ValueError, match="unknown stat backend"):
            function(stat_backend="device")
    assert not (tree.parent / "2.parquet").exists()
    with pytest.raises(ValueError, match="stat_backend: .* is an inventory"):
        megadir.usage(tree.parent / "0.parquet", stat_backend="statx")
    with pytest.raises(ValueError, match="cross_mounts: .* is an inventory"):
        megadir.usage(tree.parent / "0.parquet", cross_mounts=True)


def test_files_that_are_no_inventories(tree):
    inventory, other = tree.parent / "inventory.parquet", tree.parent / "other.parquet"
    megadir.scan(tree, inventory)
    other.write_bytes(inventory.read_bytes()[:-30])
    for path, reason in [
        (tree / "a" / "file-0009.dat", "not a Parquet file"),
        (other, "other.parquet.*truncated"),
        (tree / "empty", "no part"),
    ]:
        with pytest.raises(ValueError, match=reason):
            megadir.changes(path)
    with pytest.raises(ValueError, match="other.parquet.*truncated"):
        megadir.changes(inventory, other)
    with pytest.raises(ValueError, match="other.parquet.*truncated"):
        megadir.usage(other)
    with pytest.raises(FileNotFoundError):
        megadir.changes(tree / "missing")


def test_limits_of_a_directory(tree):
    limits = megadir.limits(tree / "a", count=True)
    assert limits["entries"] == (301, 301, 301)
    likely, low, high = limits["entries_until_full"]
    assert 0 < low <= likely <= high
    assert limits["runs_out_first"] == limits["limits"][0]["limit"]


def test_advice_is_that_of_the_command(tree):
    advice = megadir.advise(tree, files=1_000_000, name_length="8-64", size="10k", writers=2, churn=True)
    assert (advice["files"], advice["writers"], advice["churn"], advice["pattern"]) == (1_000_000, 2, True, "mixed")
    assert advice["name_bytes"]["longest"] == 64 and advice["measured"] is None
    assert megadir.Layout(advice["layout"]["name"])
    present = megadir.advise(os.fsencode(tree / "a"), like=tree)
    assert present["files"] == 301 and present["files_of_directory"]
    for options, text in [({"files": 0}, "at least 1"), ({"pattern": "raed"}, "raed"), ({"time": "1s"}, "2s")]:
        with pytest.raises(ValueError, match=text):
            megadir.advise(tree, **options)
    with pytest.raises(ValueError, match="contradict"):
        megadir.advise(tree, files=9, writers=2, pattern="read")
    for path, kind in [(tree / "missing", FileNotFoundError), (os.fsencode(tree / "fifo"), NotADirectoryError)]:
        with pytest.raises(kind) as caught:
            megadir.advise(path)
        assert caught.value.filename == os.fspath(path)


def test_an_interrupt_ends_the_measurement_of_advice(tree):
    """The program removes its files before the exception is raised."""

    class Alarm(Exception):
        pass

    def ring(_number, _frame):
        if len(os.listdir(tree)) == len(before):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            raise Alarm

    before = os.listdir(tree)
    previous = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(Alarm):
            megadir.advise(tree, files=1_000_000, time="60s")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert sorted(os.listdir(tree)) == sorted(before)


def test_records_have_the_rows_of_the_command(tmp_path):
    records = pathlib.Path(__file__).parents[3] / "records"
    compressed = records / "2026-11-21-lookup-ext4" / "record.jsonl.gz"
    record = tmp_path / "record.jsonl"
    record.write_bytes(gzip.decompress(compressed.read_bytes()))
    command = os.path.join(os.path.dirname(sys.executable), "megadir")
    written = [command, "bench", "report", record, "--format", "csv"]
    text = subprocess.run(written, stdout=subprocess.PIPE, text=True, check=True).stdout
    expected = list(csv.DictReader(io.StringIO(text)))
    table = pyarrow.table(megadir.records.read(record))
    assert table.equals(pyarrow.table(megadir.records.read(compressed)))
    found = table.to_pylist()
    assert len(found) == len(expected) > 100 and table.schema.names == list(expected[0])
    for row, line in zip(found, expected):
        row["hash"] = f"{row['hash']:#018x}"
        assert {key: "" if value is None else str(value) for key, value in row.items()} == line
    cut, damaged = tmp_path / "cut.jsonl", tmp_path / "damaged.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    cut.write_bytes(b"".join(lines[:-5]))
    assert 0 < len(pyarrow.table(megadir.records.read(cut))) < len(found)
    damaged.write_bytes(b"".join([*lines[:-5], b"{}\n", *lines[-5:]]))
    for path in [damaged, __file__]:
        with pytest.raises(ValueError, match=os.path.basename(path)):
            megadir.records.read(path)


def test_layouts_go_both_ways():
    layout = megadir.Layout("digest:2")
    assert layout.path("abcdef") == "be/abcdef" and layout.path(b"abcdef") == b"be/abcdef"
    assert layout.name("be/abcdef") == "abcdef"
    assert str(layout) == "digest:2" and layout == megadir.Layout("digest:2") != megadir.Layout("digest:3")
    with pytest.raises(ValueError, match="be/other"):
        layout.name("be/other")
    with pytest.raises(ValueError):
        megadir.Layout("digets:2")
    with pytest.raises(ValueError, match="empty"):
        layout.path("")


def test_removal_stays_in_its_directory(tree):
    outside = tree.parent / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (tree / "out").symlink_to(outside)
    planned = megadir.remove(tree, dry_run=True)
    assert planned.complete and tree.exists()
    some = megadir.remove(tree, match="file-000?.dat")
    assert (some.entries, some.directories) == (10, 0) and tree.exists()
    gone = megadir.remove(tree)
    assert gone.entries == planned.entries - 10 and gone.directories == planned.directories == 4
    assert gone.complete and not tree.exists() and (outside / "kept").exists()


def test_removal_is_refused(tree):
    previous = os.getcwd()
    try:
        os.chdir(tree / "a")
        for path in ["..", ".", "/", "", tree, tree / "a", "../../tree", "b/.."]:
            with pytest.raises(ValueError, match="remove"):
                megadir.remove(path)
        with pytest.raises(FileNotFoundError):
            megadir.remove("missing")
        for path in ["link", "fifo"]:
            with pytest.raises(NotADirectoryError):
                megadir.remove(tree / path, contents=True)
        with pytest.raises(ValueError, match="link"):
            megadir.remove(f"{tree}/link/")
        (tree.parent / "elsewhere").symlink_to(tree.parent)
        for path in ["elsewhere/tree", "elsewhere/tree/a"]:
            with pytest.raises(ValueError, match="current"):
                megadir.remove(tree.parent / path)
        (tree.parent / "elsewhere").unlink()
    finally:
        os.chdir(previous)
    assert megadir.count(tree, recursive=True) == 307
