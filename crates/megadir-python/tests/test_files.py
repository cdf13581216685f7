"""Paths and sizes for libraries that would search the tree again, listings of inventories, and progress bars."""

import os
import subprocess
import sys

import pyarrow
import pytest

import megadir

FULL = os.environ.get("MEGADIR_FULL") == "1"


COLUMNS = ["path", "parent", "name", "type", "inode", "size", "allocated", "mtime", "ctime", "btime", "atime", "mode", "uid", "gid", "links", "errno"]
CONDITIONS = [
    {},
    {"type": "file"},
    {"match": "*1.dat"},
    {"path_match": "a/*"},
    {"exclude": "b"},
    {"max_depth": 1},
    {"larger_than": "290B"},
    {"newer_than": "1d", "by": "ctime"},
    {"owner": os.getuid(), "smaller_than": "10B"},
]


def plain(table):
    """Rows, with times in nanoseconds: without pandas, pyarrow has no objects for these."""
    for index, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type):
            table = table.set_column(index, field.name, table[field.name].cast(pyarrow.int64()))
    return table.to_pylist()


def by_name(table):
    """Rows by the first column. The scan has read the directories, which may set their access times."""
    rows = plain(table)
    for row in rows:
        if row["type"] == "directory":
            del row["atime"]
    return sorted(rows, key=lambda row: next(iter(row.values())))


@pytest.mark.parametrize("conditions", CONDITIONS, ids=str)
def test_an_inventory_is_listed_like_its_tree(tree, conditions):
    inventory = tree.parent / "tree.parquet"
    megadir.scan(tree, inventory)
    for recursive in [True, False]:
        columns = COLUMNS if recursive else COLUMNS[2:]
        expected = pyarrow.table(megadir.list(tree, columns=columns, recursive=recursive, **conditions))
        found = pyarrow.table(megadir.list(inventory, columns=columns, recursive=recursive, **conditions))
        assert found.schema == expected.schema
        assert by_name(found) == by_name(expected)
        assert megadir.count(inventory, recursive=recursive, **conditions) == len(expected)


def test_errors_of_the_scan_are_errors_of_the_listing(tree, tmp_path):
    inventory = tree.parent / "tree.parquet"
    megadir.scan([tree / "a", tree / "empty"], inventory)
    with pytest.raises(ValueError, match="has 2 trees"):
        megadir.list(inventory)
    (tmp_path / "no inventory").write_bytes(b"PAR1 damaged")
    with pytest.raises(ValueError):
        megadir.list(tmp_path / "no inventory")
    (tmp_path / "no inventory").write_bytes(b"text")
    with pytest.raises(NotADirectoryError):
        megadir.list(tmp_path / "no inventory")
    megadir.scan(tree, inventory)
    with pytest.raises(ValueError, match="is an inventory"):
        megadir.list(inventory, columns=["size"], stat_backend="statx")


def test_paths_and_sizes_are_those_of_the_files(tree):
    expected = sorted(os.path.join(directory, name) for directory, _, names in os.walk(tree) for name in names)
    expected = [path for path in expected if os.path.isfile(path) and not os.path.islink(path)]
    megadir.scan(tree, tree.parent / "tree.parquet")
    for source in [{}, {"inventory": tree.parent / "tree.parquet"}]:
        files = megadir.files(tree, **source)
        assert files.paths == expected and files.sizes == [os.path.getsize(path) for path in expected]
        assert len(megadir.files(tree, match="*.dat", larger_than="0B", **source).paths) == 299
    with pytest.raises(FileNotFoundError) as raised:
        megadir.files(tree / "missing")
    assert raised.value.filename == f"{tree}/missing"


def test_changes_take_the_same_conditions(tree):
    inventory = tree.parent / "tree.parquet"
    megadir.scan(tree, inventory)
    (tree / "new.dat").write_bytes(b"12345")
    (tree / "a" / "new.txt").touch()
    (tree / "a" / "file-0007.dat").unlink()

    def paths(**conditions):
        found = pyarrow.table(megadir.changes(inventory, **conditions))
        assert found.schema == pyarrow.table(megadir.changes(inventory)).schema
        return [row["path"] for row in plain(found) if row["type"] == "file" and row["kind"] != "suspect"]

    assert paths() == ["a/file-0007.dat", "a/new.txt", "new.dat"]
    assert paths(match="*.dat") == ["a/file-0007.dat", "new.dat"]
    assert paths(larger_than="6B") == ["a/file-0007.dat"]
    assert paths(exclude="a") == ["new.dat"] and paths(max_depth=1) == ["new.dat"]
    assert paths(path_match="a/*", type="file", smaller_than="1B") == ["a/new.txt"]


def test_changes_apply_the_conditions_of_the_scan(tree):
    inventory = tree.parent / "tree.parquet"
    megadir.scan(tree, inventory, match="*.dat")
    kinds = plain(pyarrow.table(megadir.changes(inventory)))
    assert [row for row in kinds if row["kind"] not in ("suspect", "modified")] == []
    megadir.scan(tree, inventory, larger_than="10B")
    with pytest.raises(ValueError, match="conditions on time, size or owner"):
        megadir.changes(inventory)


def test_streams_have_the_same_types_for_the_same_columns(tree):
    inventory = tree.parent / "tree.parquet"
    megadir.scan(tree, inventory)
    (tree / "new").touch()
    listed = pyarrow.schema(megadir.list(tree, columns=COLUMNS))
    changed = pyarrow.schema(megadir.changes(inventory))
    used = pyarrow.schema(megadir.usage(tree))
    for name in ["path", "type", "size", "mtime"]:
        assert changed.field(name).type == listed.field(name).type, name
    assert used.field("path").type == listed.field("path").type
    assert used.field("allocated").type == listed.field("allocated").type
    assert used.field("newest").type == listed.field("mtime").type


def test_progress_is_a_bar_of_tqdm(tree, capsys):
    pytest.importorskip("tqdm")
    inventory = tree.parent / "tree.parquet"
    calls = [
        lambda: megadir.count(tree, recursive=True, progress=True),
        lambda: megadir.scan(tree, inventory, progress=True),
        lambda: megadir.changes(inventory, progress=True),
        lambda: megadir.usage(tree, progress=True),
        lambda: len(pyarrow.table(megadir.list(tree, recursive=True, progress=True))),
        lambda: megadir.remove(tree, dry_run=True, progress=True),
    ]
    for call in calls:
        call()
        assert "entries" in capsys.readouterr().err
    assert megadir.count(tree, progress=False) == 5 and capsys.readouterr().err == ""


def test_without_tqdm_a_progress_bar_is_refused(tree, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ModuleNotFoundError, match="progress=print"):
        megadir.count(tree, progress=True)


def test_help_is_a_page(capsys):
    help(megadir)
    text = capsys.readouterr().out
    for name in set(megadir.__all__) - {"__version__"}:
        assert name in text
    for name in ["megadir.fsspec", "megadir.torch", "megadir.huggingface", "Conditions", "progress=True"]:
        assert name in text


@pytest.fixture
def tables(tmp_path):
    """Parquet files in folders of one key each, 30 rows."""
    import pyarrow.parquet

    for number in range(3):
        folder = tmp_path / "tables" / f"part={number}"
        folder.mkdir(parents=True)
        pyarrow.parquet.write_table(pyarrow.table({"x": list(range(number * 10, number * 10 + 10))}), folder / "x.parquet")
    return tmp_path / "tables"


def test_pyarrow_makes_a_dataset_without_searching(tables):
    dataset, fs = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("pyarrow.fs")
    found = megadir.files(tables, match="*.parquet")
    # That each path is a file, and its size, are taken from here.
    infos = [fs.FileInfo(path, fs.FileType.File, size=size) for path, size in zip(*found)]
    options = dataset.FileSystemFactoryOptions(
        partition_base_dir=os.fspath(tables), partitioning=dataset.HivePartitioning.discover()
    )
    factory = dataset.FileSystemDatasetFactory(fs.LocalFileSystem(), infos, dataset.ParquetFileFormat(), options)
    made = factory.finish()
    assert made.files == dataset.dataset(tables, partitioning="hive").files
    assert made.to_table(filter=dataset.field("part") == 1)["x"].to_pylist() == list(range(10, 20))


RAY = """if True:
    import sys
    import megadir, pyarrow, ray
    files = megadir.files(sys.argv[1], match="*.parquet")
    ray.init(address="local", num_cpus=2, include_dashboard=False)
    table = pyarrow.table({"path": files.paths, "size": files.sizes})
    read = ray.data.from_arrow(table).map(lambda row: {"same": row["size"] == len(open(row["path"], "rb").read())})
    assert [row["same"] for row in read.take_all()] == [True] * 3
    assert ray.data.read_parquet(files.paths).sum("x") == 435
"""


@pytest.mark.skipif(not FULL, reason="a cluster: MEGADIR_FULL=1")
def test_ray_reads_the_paths(tables):
    """In a network namespace with loopback only: a cluster that picks another address may hang."""
    pytest.importorskip("ray")
    inside = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_DOCKER_CPU_WARNING": "1"}
    subprocess.run([*inside, sys.executable, "-c", RAY, tables], env=environment, check=True, timeout=150)


def test_daft_reads_the_paths(tables):
    daft = pytest.importorskip("daft")
    files = megadir.files(tables, match="*.parquet")
    assert sum(daft.read_parquet(files.paths).to_pydict()["x"]) == 435
    frame = daft.from_pydict({"path": files.paths, "size": files.sizes})
    read = frame.with_column("bytes", daft.col("path").download()).to_pydict()
    assert [len(contents) for contents in read["bytes"]] == files.sizes


def test_files_of_an_inventory_are_those_of_its_tree(tree):
    inventory = tree.parent / "tree.parquet"
    megadir.scan(tree, inventory)
    assert megadir.files(inventory) == megadir.files(tree) == megadir.files(inventory, match="*")
    assert megadir.files(inventory, inventory=inventory).paths[0].startswith(f"{inventory}/"), "the tree has moved there"
    for options in [{}, {"inventory": inventory}]:
        with pytest.raises(ValueError, match="cross_mounts: .*tree.parquet' is an inventory"):
            megadir.files(inventory, cross_mounts=True, **options)
    megadir.scan([tree / "a", tree / "empty"], inventory)
    with pytest.raises(ValueError, match="has 2 trees"):
        megadir.files(inventory)
