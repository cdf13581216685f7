"""`megadir.compare`: a tree and its copy, by the command as oracle."""

import json
import os
import shutil
import subprocess
import sys

import megadir
import pyarrow
import pytest
from conftest import holds_for_an_ordinary_user, needs_root

COMMAND = os.path.join(os.path.dirname(sys.executable), "megadir")


def rows(compared):
    return pyarrow.table(compared.differences).to_pylist()


def of_command(*words):
    """Kind, path and fields of each difference, and the exit code."""
    ran = subprocess.run([COMMAND, "compare", "--json", *words], stdout=subprocess.PIPE, text=True)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    return [(line["difference"], line["path"], ",".join(line.get("fields", []))) for line in lines], ran.returncode


@pytest.fixture
def copied(tree, tmp_path):
    (tree / "fifo").unlink()
    copy = tree.parent / "copy"
    shutil.copytree(tree, copy, symlinks=True)
    return tree, copy


def changed(copy):
    (copy / "a" / "file-0007.dat").unlink()
    (copy / "new").write_text("new")
    (copy / "a" / "file-0008.dat").write_bytes(b"x" * 9)
    status = (copy / "a" / "file-0009.dat").stat()
    (copy / "a" / "file-0009.dat").write_bytes(b"y" * 9)
    os.utime(copy / "a" / "file-0009.dat", ns=(status.st_atime_ns, status.st_mtime_ns))
    (copy / "link").unlink()
    (copy / "link").symlink_to("b")
    (copy / "a" / "b" / "gr\u00f6\u00dfe.txt").chmod(0o600)
    (copy / "empty").rmdir()
    (copy / "empty").write_text("")


def test_a_copy_without_differences(copied):
    tree, copy = copied
    for by in ["size", ["size", "mtime"], ["contents", "target", "mode", "owner"], []]:
        compared = megadir.compare(tree, copy, by=by)
        assert rows(compared) == [] and compared.complete
        assert compared[1:] == (306, 0, 0, 0, 0, 0, 0, 0, True)


def test_differences_are_those_of_the_command(copied, tmp_path):
    tree, copy = copied
    changed(copy)
    inventories = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    megadir.scan(tree, inventories[0])
    megadir.scan(copy, inventories[1])
    for by in [["size"], ["size", "mtime"], ["size", "mode", "owner"], ["size", "target", "contents"]]:
        expected, code = of_command(f"--by={','.join(by)}", tree, copy)
        assert code == 0 and len(expected) >= 4
        compared = megadir.compare(tree, copy, by=by)
        assert [(row["kind"], row["path"], row["fields"]) for row in rows(compared)] == expected
        kinds = [kind for kind, _, _ in expected]
        assert (compared.missing, compared.extra, compared.differing) == tuple(map(kinds.count, ["missing", "extra", "differs"]))
        if "contents" not in by and "target" not in by:
            for a, b in [inventories, [tree, inventories[1]], [inventories[0], copy]]:
                found = rows(megadir.compare(a, os.fspath(b), by=by))
                assert [(row["kind"], row["path"], row["fields"]) for row in found] == expected
    found = {row["path"]: row for row in rows(megadir.compare(os.fsencode(tree), copy, by=["size", "contents"]))}
    assert found[b"a/file-0009.dat"]["fields"] == "contents" and found[b"new"]["a_size"] is None and found[b"new"]["b_size"] == 3
    assert (found[b"a/file-0008.dat"]["a_size"], found[b"a/file-0008.dat"]["b_size"]) == (8, 9)
    assert (found[b"empty"]["kind"], found[b"empty"]["a_type"], found[b"empty"]["b_type"]) == ("differs", "directory", "file")
    compared = megadir.compare(tree, copy, exclude=["a", "new", "link", "empty"])
    assert rows(compared) == [] and compared.agreeing == 1


def test_wrong_arguments_of_a_comparison(copied, tmp_path):
    tree, copy = copied
    with pytest.raises(ValueError, match="by: unknown property 'sise'.*size"):
        megadir.compare(tree, copy, by="sise")
    with pytest.raises(FileNotFoundError):
        megadir.compare(tree, copy / "missing")
    with pytest.raises(ValueError, match="not a Parquet file"):
        megadir.compare(tree / "a" / "file-0009.dat", copy)
    inventory = tmp_path / "a.parquet"
    megadir.scan(tree, inventory)
    with pytest.raises(ValueError, match="cross_mounts: .* is an inventory"):
        megadir.compare(inventory, inventory, cross_mounts=True)
    with pytest.raises(ValueError, match="contents"):
        megadir.compare(inventory, copy, by="contents")
    with pytest.raises(ValueError, match="^exclude '"):
        megadir.compare(tree, copy, exclude="")


@needs_root
def test_what_could_not_be_read_is_a_row_and_makes_it_incomplete(copied):
    tree, copy = copied
    (copy / "a" / "b").chmod(0)

    def check():
        compared = megadir.compare(tree, copy)
        (row,) = rows(compared)
        assert (row["kind"], row["path"], row["side"]) == ("unreadable", "a/b", "b") and "ermission" in row["error"]
        assert not compared.complete and (compared.missing, compared.unreadable, compared.below_unread) == (0, 1, 1)

    holds = holds_for_an_ordinary_user(tree, check)
    (copy / "a" / "b").chmod(0o755)
    assert holds


def test_progress_counts_both_sides_and_its_exception_is_raised(copied):
    tree, copy = copied
    seen = []
    megadir.compare(tree, copy, progress=seen.append)
    assert seen == sorted(seen) and seen[-1] >= 2 * 306

    def refuse(_done):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        megadir.compare(tree, copy, progress=refuse)
