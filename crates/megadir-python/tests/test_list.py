"""Listing, counting and `scandir`, compared with `os`."""

import errno
import itertools
import os
import signal
import stat
import subprocess
import sys

import megadir
import pyarrow
import pytest


def table(*arguments, **options):
    return pyarrow.table(megadir.list(*arguments, **options))


def walked(top):
    return sorted(
        os.path.relpath(os.path.join(directory, name), top)
        for directory, directories, files in os.walk(top)
        for name in directories + files
    )


def test_names_and_paths_are_those_of_os(tree):
    assert sorted(table(tree)["name"].to_pylist()) == sorted(os.listdir(tree))
    assert sorted(table(tree, recursive=True)["path"].to_pylist()) == walked(tree)
    assert table(tree, columns="type").column_names == ["type"]
    assert megadir.count(tree) == len(os.listdir(tree))
    assert megadir.count(tree, recursive=True) == len(walked(tree))
    assert megadir.estimate(tree / "a").entries == 301


def test_attributes_are_those_of_stat(tree):
    columns = ["path", "parent", "name", "type", "inode", "size", "allocated", "mtime", "ctime", "atime", "mode", "uid", "gid", "links", "errno"]
    rows = table(tree, columns=columns, recursive=True)
    assert rows.column_names == columns
    for time in ["mtime", "ctime", "atime"]:
        index = columns.index(time)
        rows = rows.set_column(index, time, rows[time].cast(pyarrow.int64()))
    for row in rows.to_pylist():
        status = os.lstat(tree / row["path"])
        assert os.path.join(row["parent"], row["name"]) == row["path"]
        assert row["inode"] == status.st_ino and row["size"] == status.st_size
        assert (row["mtime"], row["ctime"]) == (status.st_mtime_ns, status.st_ctime_ns)
        assert row["allocated"] == status.st_blocks * 512
        assert row["mode"] == stat.S_IMODE(status.st_mode) and row["links"] == status.st_nlink
        assert (row["uid"], row["gid"], row["errno"]) == (status.st_uid, status.st_gid, None)
        kind = {"directory": stat.S_ISDIR, "file": stat.S_ISREG, "symlink": stat.S_ISLNK, "fifo": stat.S_ISFIFO}
        assert kind[row["type"]](status.st_mode)


def test_stat_backends_return_the_same(tree, file_system_name):
    columns = ["path", "type", "inode", "size", "allocated", "mtime", "ctime", "mode", "uid", "gid", "links"]

    def listed(**options):
        rows = table(tree, columns=columns, recursive=True, **options)
        return rows.sort_by("path")

    expected = listed()
    flat = sorted(table(tree / "a", columns=["name", "size"])["size"].to_pylist())
    for name in ["std", "statx", "fstatat"]:
        assert listed(stat_backend=name) == expected
    for name, home in [("ext4-device", "ext4"), ("xfs-bulkstat", "xfs"), ("btrfs-search", "btrfs")]:
        if home == file_system_name:
            assert listed(stat_backend=name) == expected
            assert sorted(table(tree / "a", columns=["name", "size"], stat_backend=name)["size"].to_pylist()) == flat
            assert megadir.count(tree, recursive=True, larger_than="100B", stat_backend=name) == megadir.count(
                tree, recursive=True, larger_than="100B"
            )
            continue
        for function in [listed, lambda **options: megadir.count(tree, larger_than="1B", **options)]:
            with pytest.raises(OSError, match=home) as caught:
                function(stat_backend=name)
            assert caught.value.errno == errno.EOPNOTSUPP and caught.value.filename == os.fspath(tree)


def test_wrong_stat_backends_are_refused(tree):
    with pytest.raises(ValueError, match="unknown stat backend 'ext4'.*ext4-device"):
        megadir.list(tree, columns=["size"], stat_backend="ext4")
    with pytest.raises(ValueError, match="stat_backend: needs a column"):
        megadir.list(tree, stat_backend="statx")
    with pytest.raises(ValueError, match="fstatat.*never returns btime"):
        megadir.count(tree, older_than="1s", by="btime", stat_backend="fstatat")


def test_conditions_select(tree):
    def names(**conditions):
        return sorted(table(tree, recursive=True, **conditions)["path"].to_pylist())

    assert names(type="directory") == ["a", "a/b", "empty"]
    assert names(type=["fifo", "symlink"]) == ["dangling", "fifo", "link"]
    assert names(match="file-000[12].*") == ["a/file-0001.dat", "a/file-0002.dat"]
    assert names(path_match="a/*/*") == ["a/b/größe.txt"]
    assert names(exclude="a") == ["dangling", "empty", "fifo", "link"]
    assert names(max_depth=1) == sorted(os.listdir(tree))
    assert names(type="file", larger_than="297B") == ["a/file-0298.dat", "a/file-0299.dat"]
    assert names(type="file", smaller_than="1B") == ["a/file-0000.dat"]
    assert names(older_than="1d") == [] and len(names(newer_than="1d")) == len(walked(tree))
    assert len(names(owner=os.getuid())) == len(walked(tree))
    assert megadir.count(tree, recursive=True, match="*.dat", larger_than="0B") == 299


def test_bad_arguments_are_named(tree):
    for error, options in [
        (ValueError, {"columns": ["nam"]}),
        (ValueError, {"type": "folder"}),
        (ValueError, {"match": "[" }),
        (ValueError, {"older_than": "1x"}),
        (ValueError, {"by": "atime"}),
        (ValueError, {"max_depth": 0}),
        (TypeError, {"matches": "x"}),
    ]:
        (key,) = options
        with pytest.raises(error, match=rf"{key}|{options[key]}" if key != "match" else r"\["):
            megadir.list(tree, **options)


def test_errors_have_number_and_file(tree):
    for path, kind, number in [
        (tree / "missing", FileNotFoundError, errno.ENOENT),
        (os.fsencode(tree / "fifo"), NotADirectoryError, errno.ENOTDIR),
    ]:
        for function in [megadir.list, megadir.scandir, megadir.count, megadir.estimate, megadir.limits]:
            with pytest.raises(kind) as caught:
                function(path)
            assert caught.value.errno == number
            assert caught.value.filename == os.fspath(path)


def test_names_that_are_not_utf8_are_bytes(place):
    name = b"caf\xe9"
    (place / os.fsdecode(name)).touch()
    assert table(os.fsencode(place))["name"].to_pylist() == [name]
    assert [entry.name for entry in megadir.scandir(place)] == [os.fsdecode(name)]
    assert [entry.name for entry in megadir.scandir(os.fsencode(place))] == [name]
    with pytest.raises(UnicodeError, match="os.fsencode"):
        next(megadir.list(place))
    with pytest.raises(pyarrow.ArrowInvalid, match="os.fsencode"):
        table(place)


def test_many_entries_come_once_in_bounded_batches(place):
    for index in range(70_000):
        os.mknod(place / f"{index}")
    batches = [pyarrow.record_batch(batch) for batch in megadir.list(place)]
    assert len(batches) > 1 and all(len(batch) < 140_000 for batch in batches)
    names = pyarrow.Table.from_batches(batches)["name"].to_pylist()
    assert sorted(map(int, names)) == list(range(70_000))
    assert sorted(int(entry.name) for entry in megadir.scandir(place)) == list(range(70_000))
    read = []
    assert megadir.count(place, progress=read.append) == 70_000 and read[-1] == 70_000
    assert megadir.remove(place, contents=True).entries == 70_000


def test_a_stream_is_consumed_once(tree):
    stream = megadir.list(tree)
    assert pyarrow.schema(stream).names == ["name"]
    assert len(pyarrow.table(stream)) == 5
    with pytest.raises(ValueError, match="consumed"):
        pyarrow.table(stream)


def test_scandir_is_that_of_os(tree):
    def seen(entries):
        return sorted(
            (
                entry.name,
                entry.path,
                os.fspath(entry),
                entry.inode(),
                entry.is_dir(),
                entry.is_dir(follow_symlinks=False),
                entry.is_file(),
                entry.is_file(follow_symlinks=False),
                entry.is_symlink(),
                entry.stat(follow_symlinks=False),
                entry.stat().st_ino if entry.name not in ("dangling", b"dangling") else None,
            )
            for entry in entries
        )

    for path in [os.fspath(tree), os.fsencode(tree)]:
        with megadir.scandir(path) as entries, os.scandir(path) as expected:
            assert seen(entries) == seen(expected)
    with megadir.scandir(tree) as entries:
        dangling = next(entry for entry in entries if entry.name == "dangling")
        with pytest.raises(FileNotFoundError):
            dangling.stat()
    assert list(entries) == []
    previous = os.getcwd()
    try:
        os.chdir(tree)
        assert sorted(entry.path for entry in megadir.scandir()) == sorted(entry.path for entry in os.scandir("."))
    finally:
        os.chdir(previous)


def test_an_unreadable_directory_is_an_error_or_a_call(tree, tmp_path):
    """In another process, which gives up root's rights."""
    (tree / "a").chmod(0)
    script = """if True:
        import os, sys, megadir
        os.setgid(65534), os.setuid(65534)
        try:
            megadir.count(sys.argv[1], recursive=True)
        except PermissionError as error:
            print(error.errno, error.filename)
        errors = []
        print(megadir.count(sys.argv[1], recursive=True, on_error=errors.append))
        print([type(error).__name__ for error in errors])
        print([len(batch) for batch in megadir.list(sys.argv[1], recursive=True, on_error=errors.append)], len(errors))
    """
    for directory in [tree, *tree.parents]:
        if os.path.ismount(directory.parent):
            directory.chmod(0o755)
            break
    for directory in [tree.parent, tree.parent.parent, tree.parent.parent.parent]:
        directory.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", script, tree], stdout=subprocess.PIPE, text=True, check=True)
    (tree / "a").chmod(0o755)
    assert done.stdout.splitlines() == [f"{errno.EACCES} {tree}/a", "5", "['PermissionError']", "[5] 2"]


def test_the_exception_of_a_callback_ends_the_work(tree):
    def interrupt(_entries):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        megadir.count(tree, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        for _batch in megadir.list(tree, progress=interrupt):
            pass
    output = tree.parent / "inventory.parquet"
    with pytest.raises(KeyboardInterrupt):
        megadir.usage(tree, progress=interrupt)
    with pytest.raises(ZeroDivisionError):
        megadir.count(tree, progress=lambda entries: entries / 0)
    assert not output.exists()


def test_a_signal_is_handled_during_the_work(tree):
    """Calls from C, between which the interpreter does not look for signals itself."""

    class Alarm(Exception):
        pass

    def ring(_number, _frame):
        raise Alarm

    paths = iter([os.fspath(tree)] * 50_000)
    no, access = itertools.repeat(False), itertools.repeat((False, None))
    nothing, conditions = itertools.repeat((None, None)), itertools.repeat({})
    previous = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            list(map(megadir._megadir.count, paths, no, access, nothing, conditions))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert next(paths, None) is not None


def test_an_interrupt_outlives_the_consumer_of_a_stream(tree):
    def interrupt(_entries):
        raise KeyboardInterrupt

    caught = []
    # Python leaves the signal ignored where its parent did, as a shell does for jobs in the background.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            pyarrow.table(megadir.list(tree, progress=interrupt))
        except pyarrow.ArrowException as error:
            caught.append(error)
        for _index in range(1000):
            pass
    except KeyboardInterrupt as error:
        caught.append(error)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert isinstance(caught[-1], KeyboardInterrupt)
