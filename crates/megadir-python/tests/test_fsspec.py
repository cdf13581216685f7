"""`megadir://`, compared with fsspec's own file system of local files, and read by the libraries that use fsspec."""

import os
import pickle
import shutil
import subprocess
import sys
import threading

import pytest

fsspec = pytest.importorskip("fsspec")

from fsspec.implementations.local import LocalFileSystem, make_path_posix  # noqa: E402
from fsspec.tests import abstract  # noqa: E402

import megadir  # noqa: E402
from megadir.fsspec import MegadirFileSystem  # noqa: E402

NAMES = [
    "a/x.csv",
    "a/b/y.csv",
    "a-b/z",
    "blank name",
    "new\nline",
    "back\\slash",
    "[1]*?",
    ".hidden",
    "a/.hidden.csv",
    ".directory/file",
    "a/größe",
    "a/\U0001f600",
    # Sorts between the two below as text, but not as bytes.
    "a/\ue000",
    os.fsdecode(b"a/not \xff UTF-8"),
    os.fsdecode(b"a/\xfe"),
]


@pytest.fixture
def hostile(place):
    """Names, links and types that need care; of different sizes."""
    top = place / "tree"
    for size, name in enumerate(NAMES):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    (top / "empty").mkdir()
    (top / "link to directory").symlink_to("a")
    (top / "link to file").symlink_to("blank name")
    (top / "broken.csv").symlink_to("missing")
    os.link(top / "blank name", top / "a" / "second name")
    os.mkfifo(top / "fifo")
    return top


@pytest.fixture(params=["live", "inventory"])
def systems(request, hostile):
    """fsspec's file system and that of megadir, from the tree or from an inventory of it."""
    if request.param == "live":
        return LocalFileSystem(), MegadirFileSystem()
    inventory = hostile.parent / "tree.parquet"
    megadir.scan(hostile, inventory)
    return LocalFileSystem(), MegadirFileSystem(inventory=inventory)


def places(top):
    return [os.fspath(path) for path in [top, top / "a", top / "link to directory", top / "blank name", top / "empty", top / "missing"]]


FIND = [
    {},
    {"withdirs": True},
    {"detail": True},
    {"detail": True, "withdirs": True},
    {"detail": True, "maxdepth": 1},
    {"maxdepth": 2},
]


@pytest.mark.parametrize("options", FIND, ids=str)
def test_find_returns_the_same_in_the_same_order(systems, hostile, options):
    expected, found = systems
    for path in places(hostile):
        one, other = expected.find(path, **options), found.find(path, **options)
        assert one == other and list(one) == list(other)


def test_ls_info_and_walk_return_the_same(systems, hostile):
    expected, found = systems

    def name(info):
        return info["name"]

    def walked(system):
        return sorted((path, sorted(directories), sorted(files)) for path, directories, files in system.walk(hostile))

    for path in places(hostile)[:-1]:
        assert sorted(found.ls(path)) == sorted(expected.ls(path))
        assert sorted(found.ls(path, detail=True), key=name) == sorted(expected.ls(path, detail=True), key=name)
        assert found.info(path) == expected.info(path)
        assert (found.isdir(path), found.isfile(path), found.exists(path)) == (expected.isdir(path), expected.isfile(path), True)
    assert walked(found) == walked(expected)
    for path in [hostile / "missing", hostile / "broken.csv", hostile / "a" / "missing"]:
        for function in [found.info, found.ls]:
            with pytest.raises(FileNotFoundError):
                function(path)
        assert not found.exists(path)


@pytest.mark.parametrize("pattern", ["*", "**", "**/", "*/", "a/**/*.csv", "**/*", "?????", "[ab]*", "blank name", "missing*"])
def test_glob_returns_the_same(systems, hostile, pattern):
    expected, found = systems
    assert found.glob(f"{hostile}/{pattern}") == expected.glob(f"{hostile}/{pattern}")
    assert found.glob(f"{hostile}/{pattern}", detail=True) == expected.glob(f"{hostile}/{pattern}", detail=True)


def test_du_returns_the_same_and_takes_a_broken_link_for_nothing(systems, hostile):
    expected, found = systems
    before = found.du(hostile, total=False)
    assert before[f"{hostile}/broken.csv"] == 0
    with pytest.raises(FileNotFoundError):
        expected.du(hostile)
    (hostile / "broken.csv").unlink()
    del before[f"{hostile}/broken.csv"]
    assert expected.du(hostile, total=False) == before
    if found.inventory is None:
        for options in [{}, {"withdirs": True}, {"maxdepth": 1}, {"withdirs": True, "total": False}]:
            assert found.du(hostile, **options) == expected.du(hostile, **options)


def test_contents_are_those_of_the_files(systems, hostile):
    _, found = systems
    for size, name in enumerate(NAMES):
        assert found.cat_file(f"{hostile}/{name}") == b"x" * size
    assert found.open(f"{hostile}/blank name", "rb").read() == b"x" * 3


SCRIPT = """if True:
    import os, sys
    from fsspec.implementations.local import LocalFileSystem
    from megadir.fsspec import MegadirFileSystem
    os.setgid(65534), os.setuid(65534)
    top = sys.argv[1]
    for options in [{"detail": True}, {"detail": True, "withdirs": True}, {"withdirs": True}]:
        names, expected = (system.find(top, **options) for system in (MegadirFileSystem(), LocalFileSystem()))
        print(names == expected)
    errors = []
    MegadirFileSystem().find(top, detail=True, on_error=errors.append)
    print(sorted((type(error).__name__, os.path.relpath(error.filename, top)) for error in errors))
    for path in [top, top + "/a"]:
        try:
            MegadirFileSystem().find(path, on_error="raise")
        except PermissionError as error:
            print(os.path.relpath(error.filename, top))
    print(MegadirFileSystem().find(top + "/a"), LocalFileSystem().find(top + "/a"))
"""


def test_what_may_not_be_read_is_omitted_or_reported(tree, tmp_path):
    """In another process, which gives up root's rights."""
    for directory in [tree.parent, *tree.parents]:
        if os.path.ismount(directory.parent):
            directory.chmod(0o755)
            break
    for directory in [tree.parent, tree.parent.parent, tree.parent.parent.parent]:
        directory.chmod(0o755)
    (tree / "a").chmod(0)
    done = subprocess.run([sys.executable, "-c", SCRIPT, tree], stdout=subprocess.PIPE, text=True, check=True)
    (tree / "a").chmod(0o755)
    assert done.stdout.splitlines() == ["True"] * 3 + ["[('PermissionError', 'a')]", "a", "a", "[] []"]


def test_an_inventory_answers_without_the_tree(hostile):
    inventory = hostile.parent / "tree.parquet"
    megadir.scan(hostile, inventory)
    expected = LocalFileSystem().find(hostile, withdirs=True)
    details = LocalFileSystem().info(hostile / "a")
    moved = hostile.rename(hostile.parent / "moved")
    found = MegadirFileSystem(inventory=inventory)
    assert found.find(hostile, withdirs=True) == expected and found.isdir(hostile)
    assert found.info(hostile / "a") == details
    shutil.rmtree(moved / "a-b")
    again = MegadirFileSystem(inventory=inventory, root=moved)
    assert again.find(moved, withdirs=True) == [path.replace(os.fspath(hostile), os.fspath(moved), 1) for path in expected]
    assert found.find(moved) == LocalFileSystem().find(moved), "outside of its tree the disk counts"
    with pytest.raises(ValueError, match="needs inventory"):
        MegadirFileSystem(root=moved)
    with pytest.raises(FileNotFoundError):
        MegadirFileSystem(inventory=hostile.parent / "missing.parquet")


def test_an_inventory_of_several_trees_is_refused(hostile):
    megadir.scan([hostile / "a", hostile / "empty"], hostile.parent / "two.parquet")
    with pytest.raises(ValueError, match="has 2 trees"):
        MegadirFileSystem(inventory=hostile.parent / "two.parquet")


def test_wrong_options_are_refused(hostile):
    with pytest.raises(ValueError, match="on_error: 'ignore'"):
        MegadirFileSystem().find(hostile, on_error="ignore")
    with pytest.raises(ValueError, match="maxdepth"):
        MegadirFileSystem().find(hostile, maxdepth=0)


def test_the_protocol_is_registered_and_file_systems_travel_between_processes(hostile):
    inventory = hostile.parent / "tree.parquet"
    megadir.scan(hostile, inventory)
    assert isinstance(fsspec.filesystem("megadir"), MegadirFileSystem)
    system, path = fsspec.url_to_fs(f"megadir://{hostile}/a", inventory=os.fspath(inventory))
    expected = system.find(path)
    assert expected == LocalFileSystem().find(path) and system.unstrip_protocol(path) == f"megadir://{path}"
    assert pickle.loads(pickle.dumps(system)).find(path) == expected
    script = "import pickle, sys; print(len(pickle.loads(sys.stdin.buffer.read()).find(sys.argv[1])))"
    done = subprocess.run([sys.executable, "-c", script, path], input=pickle.dumps(system), stdout=subprocess.PIPE, check=True)
    assert int(done.stdout) == len(expected)


def test_threads_share_one_file_system_of_an_inventory(place):
    top = place / "many"
    for directory in range(200):
        (top / f"{directory}").mkdir(parents=True)
        for name in range(100):
            (top / f"{directory}" / f"{name}").touch()
    inventory = place / "many.parquet"
    megadir.scan(top, inventory)
    expected = LocalFileSystem().find(top)
    failures, loads = [], []
    added = megadir.fsspec._rows.add

    def counted(*arguments, **options):
        loads.append(threading.current_thread())
        return added(*arguments, **options)

    def work(system, start):
        try:
            start.wait()
            assert system.find(top) == expected
            assert len(system.ls(f"{top}/7", detail=True)) == 100 and system.isfile(f"{top}/9/9")
        except BaseException as error:
            failures.append(error)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(megadir.fsspec._rows, "add", counted)
        for _ in range(5):
            loads.clear()
            system, start = MegadirFileSystem(inventory=inventory, skip_instance_cache=True), threading.Barrier(8)
            threads = [threading.Thread(target=work, args=(system, start)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failures == [] and len(loads) == 1
    assert pickle.loads(pickle.dumps(system)).find(top) == expected


def test_files_that_could_be_inventories_are_files(hostile):
    inventory = hostile / "inventory.parquet"
    megadir.scan(hostile / "a", inventory)
    expected, found = LocalFileSystem(), MegadirFileSystem()
    for function in ["ls", "find"]:
        for options in [{}, {"detail": True}]:
            assert getattr(found, function)(inventory, **options) == getattr(expected, function)(inventory, **options)
    assert found.du(inventory) == inventory.stat().st_size
    assert list(found.walk(inventory)) == list(expected.walk(inventory))


def test_folders_that_are_inventories_are_listed_as_folders(hostile):
    folder = hostile.parent / "parts"
    megadir.scan(hostile, hostile.parent / "tree.parquet")
    folder.mkdir()
    (hostile.parent / "tree.parquet").rename(folder / "part-00000.parquet")
    (folder / "megadir-parts.json").write_text('{"version": 1, "parts": 1}')
    assert megadir.count(folder, recursive=True) == megadir.count(hostile, recursive=True), "it is an inventory"
    expected, found = LocalFileSystem(), MegadirFileSystem()
    for options in FIND:
        assert found.find(folder, **options) == expected.find(folder, **options)
    assert sorted(map(str, found.ls(folder, detail=True))) == sorted(map(str, expected.ls(folder, detail=True)))
    assert MegadirFileSystem(inventory=folder).find(hostile) == expected.find(hostile)


def test_find_of_a_file_takes_the_same_options_as_of_a_directory(systems, hostile):
    _, found = systems
    missing, errors = f"{hostile}/missing", []
    assert found.find(missing) == [] == found.find(missing, on_error=errors.append)
    assert [type(error) for error in errors] == [FileNotFoundError]
    for raising in ["raise", None]:
        with pytest.raises(FileNotFoundError):
            found.find(missing, on_error=raising)
    for path in [hostile / "blank name", hostile / "a"]:
        with pytest.raises(ValueError, match="on_error: 'ignore'"):
            found.find(path, on_error="ignore")
    path = f"{hostile}/a/x.csv"
    if found.inventory is None:
        in_directory = found.find(hostile, detail=True, attributes=False)[path]
        assert in_directory["size"] is None
        assert found.find(path, detail=True, attributes=False) == {path: in_directory}


class Fixtures(abstract.AbstractFixtures):
    """As fsspec tests its own file system of local files."""

    @pytest.fixture
    def fs(self):
        return MegadirFileSystem(auto_mkdir=True)

    @pytest.fixture
    def fs_path(self, tmpdir):
        return str(tmpdir)

    @pytest.fixture
    def fs_sanitize_path(self):
        return make_path_posix


class TestCopy(abstract.AbstractCopyTests, Fixtures):
    """fsspec's suite."""


class TestGet(abstract.AbstractGetTests, Fixtures):
    """fsspec's suite."""


class TestOpen(abstract.AbstractOpenTests, Fixtures):
    """fsspec's suite."""


class TestPipe(abstract.AbstractPipeTests, Fixtures):
    """fsspec's suite."""


class TestPut(abstract.AbstractPutTests, Fixtures):
    """fsspec's suite."""


@pytest.fixture
def tables(place):
    """Parquet and CSV files in two folders, 30 rows."""
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.csv
    import pyarrow.parquet

    for number in range(3):
        folder = place / "tables" / f"part={number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        table = pyarrow.table({"x": list(range(number * 10, number * 10 + 10))})
        pyarrow.parquet.write_table(table, folder / f"{number}.parquet")
        pyarrow.csv.write_csv(table, folder / f"{number}.csv")
    return place / "tables"


def test_pandas_reads_and_writes(tables):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_parquet(f"megadir://{tables}/part=0/0.parquet")
    assert frame["x"].sum() == 45
    frame.to_csv(f"megadir://{tables}/out.csv")
    assert len(pandas.read_csv(f"megadir://{tables}/out.csv")) == 10


def test_pyarrow_reads_a_dataset(tables):
    dataset = pytest.importorskip("pyarrow.dataset")
    read = dataset.dataset(f"{tables}/part=0", format="parquet", filesystem=fsspec.filesystem("megadir"), exclude_invalid_files=True)
    assert sum(read.to_table()["x"].to_pylist()) == 45 + 245


def test_duckdb_reads_a_glob(tables):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register_filesystem(fsspec.filesystem("megadir"))
    assert connection.sql(f"SELECT sum(x) FROM read_parquet('megadir://{tables}/**/*.parquet')").fetchall() == [(435,)]


def test_dask_reads_a_glob(tables):
    bag = pytest.importorskip("dask.bag")
    lines = bag.read_text(f"megadir://{tables}/**/*.csv").compute(scheduler="sync")
    assert len(lines) == 33


def test_zarr_reads_and_writes_a_store(place):
    zarr = pytest.importorskip("zarr")
    options = {"auto_mkdir": True}
    array = zarr.create_array(f"megadir://{place}/array.zarr", shape=(4, 4), chunks=(2, 2), dtype="i4", storage_options=options)
    array[:] = 7
    assert int(zarr.open_array(f"megadir://{place}/array.zarr", mode="r")[:].sum()) == 112
