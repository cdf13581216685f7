"""Packs: every read is as the file, or an error that names what is wrong."""

import errno
import os
import pathlib
import pickle
import random
import subprocess
import sys
import threading

import megadir
import megadir.pack
import pyarrow
import pytest


def write(top, files):
    for name, contents in files.items():
        path = os.path.join(os.fsencode(top), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(contents)


def packed(place, files, **options):
    """Directory of a pack of these files, and that of the tree."""
    (place / "source").mkdir()
    write(place / "source", files)
    megadir.pack.create(place / "source", place / "packed", **options)
    return place / "packed", place / "source"


FILES = {
    "empty": b"",
    "a.txt": b"a",
    "directory/a.txt": b"another",
    "directory/large.bin": bytes(range(256)) * 5000,
    "deep/" * 60 + "n" * 200: b"long headers",
    "größe.txt": "größe".encode(),
    "new\nline": b"line",
    b"caf\xe9/\xff.bin": b"not UTF-8",
    "ends with space ": b"space",
}


def test_every_file_has_its_contents_by_each_kind_of_key(place):
    where, source = packed(place, FILES)
    os.link(source / "a.txt", source / "second name")
    os.symlink("a.txt", source / "link")
    with (source / "sparse").open("wb") as file:
        file.truncate(3 << 20)
        file.seek(1 << 20)
        file.write(b"data")
    megadir.pack.create(source, place / "again", shard_size="64KiB")
    for directory, more in [(where, []), (place / "again", ["second name", "sparse"])]:
        pack = megadir.pack.open(directory)
        names = [os.fsdecode(name) for name in FILES] + more
        assert sorted(pack) == sorted(names) and len(pack) == len(names)
        assert list(pack) == sorted(names, key=lambda name: tuple(map(os.fsencode, os.path.split(name))))
        for name in names:
            contents = (source / name).read_bytes()
            for key in [name, os.fsencode(name), pathlib.PurePath(name)]:
                assert pack[key] == contents and key in pack and pack.get(key) == contents, name
            shard, offset, length = pack.place(name)
            descriptor = os.open(shard, os.O_RDONLY)
            assert os.pread(descriptor, length, offset) == contents, name
            os.close(descriptor)
        assert dict(pack) == {name: (source / name).read_bytes() for name in names}
        assert megadir.pack.open(directory / "index.parquet")["a.txt"] == b"a"


@pytest.mark.parametrize("name", ["missing", "directory", "", ".", "/a.txt", "directory//a.txt", "a.txt/", "link", "nul\0"])
def test_names_that_are_no_files_of_the_pack_are_absent(place, name):
    where, _ = packed(place, FILES)
    pack = megadir.pack.open(where)
    assert name not in pack and os.fsencode(name) not in pack
    assert pack.get(name) is None and pack.get(name, 5) == 5 and pack.get(name, default=b"") == b""
    for reading in [pack.__getitem__, pack.place]:
        with pytest.raises(KeyError) as raised:
            reading(name)
        assert raised.value.args == (name,)


def test_keys_of_other_types_are_refused(place):
    pack = megadir.pack.open(packed(place, FILES)[0])
    for key in [5, None, ("a.txt",)]:
        for reading in [pack.__getitem__, pack.__contains__, pack.get, pack.place]:
            with pytest.raises(TypeError):
                reading(key)


def test_a_pack_without_files_is_empty(place):
    (place / "source" / "only" / "directories").mkdir(parents=True)
    created = megadir.pack.create(place / "source", place / "packed")
    assert (created.entries, created.failed) == (3, 0)
    pack = megadir.pack.open(place / "packed")
    assert len(pack) == 0 and not pack and list(pack) == [] and list(pack.samples()) == [] and "only" not in pack


def test_threads_share_a_pack(place):
    files = {f"{number % 7}/{number}": os.urandom(number % 900) for number in range(500)}
    where, _ = packed(place, files, shard_size="64KiB")
    pack = megadir.pack.open(where)
    assert len(list(where.glob("*.tar"))) > 5
    failures = []

    def read(seed):
        try:
            chooser = random.Random(seed)
            for name in chooser.choices(sorted(files), k=1000):
                assert pack[name] == files[name], name
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    # One iterator of several threads: each file once.
    samples, found = pack._members.in_order(), []

    def take():
        found.extend(path for path, contents in samples if files[path] == contents)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(files)


def test_pickled_and_forked_packs_read_the_same(place, monkeypatch):
    where, _ = packed(place, FILES)
    monkeypatch.chdir(place)
    pack = megadir.pack.open("packed")
    pickled = pickle.dumps(pack)
    monkeypatch.chdir("/")
    again = pickle.loads(pickled)
    assert dict(again) == dict(pack) and str(where) in repr(again)
    script = "import pickle, sys; print(len(pickle.load(sys.stdin.buffer)['directory/large.bin']))"
    done = subprocess.run([sys.executable, "-c", script], input=pickled, stdout=subprocess.PIPE, check=True)
    assert int(done.stdout) == 256 * 5000
    # As the workers of a DataLoader on Linux.
    child = os.fork()
    if child == 0:
        os._exit(0 if pack["a.txt"] == b"a" and dict(pack) == dict(again) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


SAMPLES = {
    "0001.jpg": b"image 1",
    "0001.cls": b"1",
    "0002.left.JPG": b"left",
    "0002.right.jpg": b"right",
    "README": b"no ending",
    "deep.er/0001.jpg": b"another directory",
    "deep.er/0001.seg.png": b"mask",
    "deep.er/.hidden": b"hidden",
    "deep.er/end.": b"no ending",
    b"deep.er/\xff.jpg": b"not UTF-8",
}


def test_samples_are_files_with_one_beginning(place):
    where, _ = packed(place, SAMPLES)
    expected = [
        {"__key__": "0001", "jpg": b"image 1", "cls": b"1"},
        {"__key__": "0002", "left.jpg": b"left", "right.jpg": b"right"},
        {"__key__": "deep.er/0001", "jpg": b"another directory", "seg.png": b"mask"},
        {"__key__": os.fsdecode(b"deep.er/\xff"), "jpg": b"not UTF-8"},
    ]
    pack = megadir.pack.open(where)
    assert list(pack.samples(by_path=True)) == expected
    # The order of inodes is that of creation, or another one: the files of each sample remain.
    together = {}
    for sample in pack.samples():
        key = sample.pop("__key__")
        assert sample and not together.get(key, {}).keys() & sample.keys()
        together.setdefault(key, {}).update(sample)
    assert together == {sample["__key__"]: {k: v for k, v in sample.items() if k != "__key__"} for sample in expected}


def test_samples_are_read_in_the_order_of_the_shards(place):
    where, _ = packed(place, {f"{number:03}.x": b"%d" % number for number in range(300)}, shard_size="64KiB")
    pack = megadir.pack.open(where)
    keys = [sample["__key__"] for sample in pack.samples()]
    places = [pack.place(f"{key}.x") for key in keys]
    assert len(keys) == 300 and places == sorted(places) and len({place.shard for place in places}) > 1


def test_endings_of_a_sample_that_differ_in_case_only_are_refused(place):
    pack = megadir.pack.open(packed(place, {"a.jpg": b"1", "a.JPG": b"2"})[0])
    for by_path in [False, True]:
        with pytest.raises(ValueError, match="'jpg' already"):
            list(pack.samples(by_path=by_path))


def test_the_table_has_the_entries_of_the_index(place):
    where, source = packed(place, {"a.txt": b"a", "b/c.txt": b"ccc", "b/d.jpg": b"dd"})
    pack = megadir.pack.open(where)
    table = pyarrow.table(pack.table(type="file", larger_than="1B"))
    assert sorted(map(tuple, (row.values() for row in table.to_pylist()))) == [("b/c.txt", "file", 3), ("b/d.jpg", "file", 2)]
    assert pyarrow.table(pack.table(columns="path", match="*.txt"))["path"].to_pylist() == ["a.txt", "b/c.txt"]
    columns = ["path", "size", "mtime", "mode"]
    assert pyarrow.table(pack.table(columns=columns)).sort_by("path") == pyarrow.table(
        megadir.list(where / "index.parquet", columns=columns, recursive=True)
    ).sort_by("path")
    with pytest.raises(TypeError, match="unit"):
        pack.table(larger_than=5)
    with pytest.raises(ValueError, match="unknown column"):
        pack.table(columns="sizes")


def shard_of(where):
    (shard,) = where.glob("*.tar")
    return shard


def test_damage_is_an_error_with_the_shard(place):
    where, source = packed(place, FILES)
    shard = shard_of(where)
    _, offset, _ = megadir.pack.open(where).place("directory/a.txt")
    whole = shard.read_bytes()
    shard.write_bytes(whole[:offset] + b"X" + whole[offset + 1 :])
    pack = megadir.pack.open(where)
    with pytest.raises(megadir.pack.PackError, match="'directory/a.txt' are damaged") as raised:
        pack["directory/a.txt"]
    assert raised.value.filename == str(shard) and isinstance(raised.value, ValueError)
    assert pack["a.txt"] == b"a", "the others are whole"
    unchecked = megadir.pack.open(where, check=False)
    for opened in [unchecked, pickle.loads(pickle.dumps(unchecked))]:
        assert opened["directory/a.txt"] == b"Xnother" and opened["a.txt"] == b"a"
    # An iterator continues behind it.
    files, good = pack._members.in_order(), []
    while len(good) < len(FILES) - 1:
        try:
            good.append(next(files)[0])
        except megadir.pack.PackError:
            pass
    assert "directory/a.txt" not in good
    problems = []
    verified = megadir.pack.verify(where, on_error=problems.append)
    assert verified.problems == len(problems) == 1 and isinstance(problems[0], megadir.pack.PackError)
    assert problems[0].filename == "directory/a.txt"
    with pytest.raises(megadir.pack.PackError, match="not those that were packed"):
        megadir.pack.verify(where)
    for length in [0, len(whole) - 1]:
        shard.write_bytes(whole[:length])
        pack = megadir.pack.open(where)
        with pytest.raises(megadir.pack.PackError, match="bytes instead of"):
            pack["a.txt"]
    shard.unlink()
    with pytest.raises(FileNotFoundError) as missing:
        megadir.pack.open(where)["a.txt"]
    assert missing.value.filename == str(shard)


def test_what_is_no_pack_is_refused(place):
    with pytest.raises(FileNotFoundError):
        megadir.pack.open(place / "missing")
    (place / "tree").mkdir()
    with pytest.raises(OSError, match="no index.parquet") as raised:
        megadir.pack.open(place / "tree")
    assert raised.value.errno == errno.EOPNOTSUPP and raised.value.filename == str(place / "tree")
    megadir.scan(place / "tree", place / "inventory.parquet")
    with pytest.raises(megadir.pack.PackError, match="not the index of a pack"):
        megadir.pack.open(place / "inventory.parquet")
    where, _ = packed(place, FILES)
    index = where / "index.parquet"
    index.write_bytes(index.read_bytes()[:-20])
    with pytest.raises(megadir.pack.PackError) as damaged:
        megadir.pack.open(where)
    assert damaged.value.filename == str(index)


def test_create_and_verify_return_what_they_did(place):
    where, source = packed(place, FILES)
    entries = sum(1 for _ in source.rglob("*")) + 1
    done = []
    created = megadir.pack.create(source, place / "again", shard_size="64KiB", progress=done.append)
    sizes = [shard.stat().st_size for shard in (place / "again").glob("*.tar")]
    assert created == (entries, len(sizes), sum(sizes), 0) and done[-1] == entries
    done.clear()
    verified = megadir.pack.verify(os.fsencode(where), source, progress=done.append)
    assert verified == (entries, sum(map(len, FILES.values())), 0) and done[-1] == entries
    (source / "a.txt").write_bytes(b"changed")
    (source / "added").touch()
    problems = []
    assert megadir.pack.verify(where, source, on_error=problems.append).problems == 3
    texts = sorted(str(problem) for problem in problems)
    assert "changed since" in texts[1] and "not in the pack" in texts[2], texts
    with pytest.raises(ValueError, match="has a finished pack"):
        megadir.pack.create(source, where)
    with pytest.raises(FileNotFoundError):
        megadir.pack.create(place / "missing", place / "third")


def test_what_cannot_be_packed_is_reported_after_the_others_are_packed(place):
    (place / "source").mkdir()
    write(place / "source", {"a.txt": b"a"})
    os.mkfifo(place / "source" / "pipe")
    errors = []
    created = megadir.pack.create(place / "source", place / "packed", on_error=errors.append)
    assert (created.entries, created.failed) == (2, 1) and [error.filename for error in errors] == [str(place / "source" / "pipe")]
    assert megadir.pack.open(place / "packed")["a.txt"] == b"a" and "pipe" not in megadir.pack.open(place / "packed")
    with pytest.raises(OSError, match="pipe"):
        megadir.pack.create(place / "source", place / "second")
    assert megadir.pack.open(place / "second")["a.txt"] == b"a", "the pack is complete otherwise"


@pytest.mark.parametrize(
    "size, error, words",
    [(1 << 20, TypeError, "has no unit"), ("1048576", ValueError, "has no unit"), ("1KiB", ValueError, "too small"), ("big", ValueError, "not a size")],
)
def test_sizes_of_shards_need_a_unit(place, size, error, words):
    (place / "source").mkdir()
    with pytest.raises(error, match=words):
        megadir.pack.create(place / "source", place / "packed", shard_size=size)
    assert not (place / "packed").exists()


SCRIPT = """if True:
    import megadir.pack, os, signal, sys
    def interrupt(done):
        if done > 500:
            signal.raise_signal(signal.SIGINT)
    try:
        megadir.pack.create(sys.argv[1], sys.argv[2], shard_size="64KiB", progress=interrupt)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_an_interrupted_pack_is_continued(place):
    files = {f"{number}": b"x" * 3000 for number in range(6000)}
    (place / "source").mkdir()
    write(place / "source", files)
    done = subprocess.run([sys.executable, "-c", SCRIPT, place / "source", place / "packed"], stdout=subprocess.PIPE, text=True, check=True)
    if done.stdout == "interrupted\n" and not (place / "packed" / "index.parquet").exists():
        with pytest.raises(OSError, match="not finished"):
            megadir.pack.open(place / "packed")
        assert megadir.pack.create(place / "source", place / "packed").entries == len(files) + 1
    assert dict(megadir.pack.open(place / "packed")) == files


def test_packs_are_found_as_the_kernel_finds_them(place, monkeypatch):
    """Not by the text of the path: what is above a link's target is not what is above the link."""
    for name, contents in {"a": b"a", "b": b"b"}.items():
        (place / f"tree-{name}").mkdir()
        (place / f"tree-{name}" / name).write_bytes(contents)
    (place / "x" / "y").mkdir(parents=True)
    (place / "link").symlink_to("x/y")
    megadir.pack.create(place / "tree-a", place / "x" / "packed")
    megadir.pack.create(place / "tree-b", place / "packed")
    monkeypatch.chdir(place)
    assert dict(megadir.pack.open("link/../packed")) == {"a": b"a"}
