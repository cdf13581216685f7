"""Every SQL statement of docs/inventory.md, in DuckDB, on an inventory with names and times that need care."""

import collections
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

import megadir
import megadir.futures

duckdb = pytest.importorskip("duckdb")

PAGE = Path(__file__).parents[3] / "docs" / "inventory.md"

# Directories and files, below the tree.
DIRECTORIES = [
    b"not \xff UTF-8/in\nside",
    b"quoted ' \" `",
    b"back\\xffslash",
    b"\xe2\x80\xae right to left",
    b"%s {} $(x) ; DROP",
]
FILES = [b"a", b"not \xff UTF-8/b", b"not \xff UTF-8/in\nside/\xfe", b"quoted ' \" `/NULL", b"back\\xffslash/\xff", b"\xed\xa0\x80"]


def statements() -> list[str]:
    """Statements of the page's SQL blocks, and those within its text."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    found = [line.strip().rstrip(";") for block in blocks for line in block.split(";\n") if line.strip()]
    return found + re.findall(r"`(SELECT [^`]*)`", text)


def statement(words: str) -> str:
    """The one statement that contains these words."""
    (found,) = [one for one in statements() if words in one]
    return found


@pytest.fixture
def inventory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files that the statements name."""
    tree = os.fsencode(tmp_path / "tree")
    for name in DIRECTORIES:
        os.makedirs(tree + b"/" + name)
    for size, name in enumerate(FILES):
        with open(tree + b"/" + name, "wb") as file:
            file.write(b"1" * size)
    # Beyond the year 2262, which signed nanoseconds of 64 bits cannot hold.
    os.utime(tree + b"/a", (0, 9_300_000_000))
    megadir.scan(tree, output=tmp_path / "inventory.parquet")
    # So small that each directory is a task, and has a part.
    megadir.futures.scan([tree], tmp_path / "parts", workers=2, entries=1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("inventory")
def test_every_statement_of_the_page_runs() -> None:
    assert len(statements()) == 5
    for one in statements():
        assert duckdb.sql(one).fetchall() is not None, one


@pytest.mark.usefixtures("inventory")
def test_the_statements_of_the_page_give_what_they_promise() -> None:
    by_size = duckdb.sql(statement("ORDER BY size DESC")).fetchall()
    assert [size for _, size in by_size] == list(reversed(range(len(FILES))))
    assert by_size[1][0].endswith("/back\\xffslash/\\xff") and by_size[3][0].endswith("/not \\xff UTF-8/in\nside/\\xfe")
    directories = duckdb.sql(statement("count(*)")).fetchall()
    # Of the root, its own row too.
    assert dict(directories) == {
        "": 8,
        "not \\xFF UTF-8": 2,
        "not \\xFF UTF-8/in\\x0Aside": 1,
        "quoted ' \" `": 1,
        "back\\xffslash": 1,
    }
    assert duckdb.sql(statement("error IS NOT NULL")).fetchall() == []
    types = dict(duckdb.sql(statement("DISTINCT (root")).fetchall())
    assert types == {"directory": 1 + 6, "file": len(FILES)}
    assert len(list(Path("parts").glob("*.parquet"))) > 1
    ((text,),) = duckdb.sql(statement("parquet_kv_metadata")).fetchall()
    assert json.loads(text)["rows"] == 1 + 6 + len(FILES)


@pytest.mark.usefixtures("inventory")
def test_names_and_directories_are_exact_bytes() -> None:
    rows = duckdb.sql("SELECT parent, name FROM 'inventory.parquet'").fetchall()
    found = collections.Counter(parent + b"/" + name if parent else name for parent, name in rows)
    every = [*FILES, *DIRECTORIES, b"not \xff UTF-8", b""]
    assert found == collections.Counter(every)


@pytest.mark.usefixtures("inventory")
def test_times_beyond_the_range_are_timestamps_of_duckdb() -> None:
    rows = duckdb.sql("SELECT max(make_timestamp_ns(mtime_ns)), max(mtime_ns) FROM 'inventory.parquet'").fetchall()
    assert rows[0][0].year == 2262 and rows[0][1] == 2**63 - 2


def test_times_before_the_range_are_timestamps_of_duckdb(tmp_path: Path) -> None:
    if not os.path.isdir("/dev/shm"):
        pytest.skip("ext4 keeps no times before 1901, and there is no tmpfs")
    tree = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        (tree / "old").write_bytes(b"")
        os.utime(tree / "old", (0, -9_300_000_000))
        megadir.scan(tree, output=tmp_path / "old.parquet")
    finally:
        shutil.rmtree(tree)
    found = duckdb.sql(f"SELECT min(make_timestamp_ns(mtime_ns)), min(mtime_ns) FROM '{tmp_path}/old.parquet'").fetchall()
    assert found[0][0].year == 1677 and found[0][1] == -(2**63 - 2)
