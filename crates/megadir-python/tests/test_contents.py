"""Hashes of contents, and files that rot: `scan(hash=...)` and `changes(verify=...)`."""

import datetime
import hashlib
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time

import megadir
import pyarrow
import pyarrow.parquet
import pytest
from conftest import holds_for_an_ordinary_user, make_ext4, needs_root

COMMAND = os.path.join(os.path.dirname(sys.executable), "megadir")
# A scan begins later than the last change by more than a tick, so that no file is a suspect.
SETTLE_S = 0.25


def kinds(stream):
    return {(row["kind"], row["path"]) for row in pyarrow.table(stream).select(["kind", "path"]).to_pylist()}


@pytest.fixture
def rotting(tmp_path):
    """A tree on an ext4 of its own, and a function that changes a byte of a file below the file system."""
    try:
        mount = make_ext4(tmp_path)
    except (OSError, subprocess.CalledProcessError) as error:
        if os.environ.get("MEGADIR_REQUIRE_ALL") == "1":
            raise
        pytest.skip(f"no ext4: {error}")
    image = tmp_path / "image"

    def rot(path):
        key = path.read_bytes()[:32]
        subprocess.run(["umount", mount], check=True)
        contents = image.read_bytes()
        assert contents.count(key) == 1
        with image.open("r+b") as file:
            file.seek(contents.index(key) + 7)
            file.write(bytes([key[7] ^ 0x10]))
        subprocess.run(["mount", "-o", "loop", image, mount], check=True)

    tree = mount / "tree"
    (tree / "a").mkdir(parents=True)
    for number in range(40):
        (tree / "a" / f"{number:02}").write_bytes(os.urandom(4000 + number))
    (tree / "link").symlink_to("a")
    (tree / "empty").touch()
    time.sleep(SETTLE_S)
    try:
        yield tree, rot
    finally:
        subprocess.run(["umount", mount], check=True)


def test_a_rotten_file_is_no_change_and_is_found_by_the_package_and_the_command(rotting, tmp_path):
    tree, rot = rotting
    inventory = tmp_path / "inventory.parquet"
    scanned = megadir.scan(tree, inventory, hash="all", read_threads=3)
    # The link is hashed too, and the empty file has no contents.
    assert scanned.hashes == (41, 0, 0, 0, scanned.hashes.read_bytes)
    assert scanned.hashes.read_bytes >= sum(4000 + number for number in range(40))
    intact = []
    assert kinds(megadir.changes(inventory, verify="all", on_verified=intact.append)) == set()
    assert [(one.rotten, one.intact, one.changed, one.unhashed, one.unreadable) for one in intact] == [([], 41, 0, 0, 0)]
    rot(tree / "a" / "17")
    (tree / "new").write_text("new")
    # Without reading, nothing shows.
    assert ("added", "new") in kinds(megadir.changes(inventory)) and not any("17" in path for _, path in kinds(megadir.changes(inventory)))
    found = []
    changed = kinds(megadir.changes(inventory, verify="all", on_verified=found.append))
    assert changed == kinds(megadir.changes(inventory))
    (verified,) = found
    (rotten,) = verified.rotten
    assert (rotten.root, rotten.path, rotten.size, verified.intact) == (0, "a/17", 4017, 40)
    assert rotten.recorded != rotten.found and len(rotten.recorded) == len(rotten.found) == 64
    with pytest.raises(megadir.RottenError, match=r"^'a/17': rotten.*restore") as caught:
        megadir.changes(inventory, verify="all")
    assert caught.value.verified.rotten == verified.rotten and kinds(caught.value.changes) == changed
    assert caught.value.failures == ()
    # From another process, without the stream.
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.args, copied.verified, copied.changes) == (caught.value.args, caught.value.verified, None)
    with pytest.raises(megadir.RottenError, match="a/17") as caught:
        megadir.changes(os.fsencode(inventory), verify="all")
    assert caught.value.verified.rotten[0].path == b"a/17"
    ran = subprocess.run([COMMAND, "changes", inventory, "--verify=all", "--only=rotten", "--json"], capture_output=True, text=True)
    assert ran.returncode == 12 and rotten.recorded in ran.stdout and rotten.found in ran.stdout
    # The next scan keeps the hash of the good contents: the file stays rotten until it is restored.
    again = megadir.scan(tree, inventory, hash="all")
    assert (again.hashes.hashed, again.hashes.known) == (1, 41)
    with pytest.raises(megadir.RottenError):
        megadir.changes(inventory, verify="all")


def test_shares_of_days_find_each_rotten_file_once(rotting, tmp_path):
    tree, rot = rotting
    inventory = tmp_path / "inventory.parquet"
    megadir.scan(tree, inventory, hash="all")
    rot(tree / "a" / "05")
    days = []
    for day in range(5):
        assert kinds(megadir.changes(inventory, verify=f"1/5@{day}", on_verified=days.append)) == set()
    assert [file.path for day in days for file in day.rotten] == ["a/05"]
    assert sum(day.intact for day in days) == 40 and max(day.intact for day in days) < 40
    today = int(time.time()) // 86400
    same = []
    for share in ["1/5", f"1/5@{today}"]:
        megadir.changes(inventory, verify=share, on_verified=same.append)
    assert same[0] == same[1] or int(time.time()) // 86400 != today


def test_rotten_files_come_before_the_reason_that_ended_the_reading(rotting, tmp_path):
    tree, rot = rotting
    inventory = tmp_path / "inventory.parquet"
    megadir.scan(tree, inventory, hash="all")
    # The first file on the disk is read first; all of them take four seconds.
    rot(min((tree / "a").iterdir(), key=lambda path: path.stat().st_ino))

    class Alarm(Exception):
        pass

    def ring(_number, _frame):
        raise kind

    found = []
    slow = {"verify": "all", "read_rate": "40KiB/s"}
    previous = signal.signal(signal.SIGALRM, ring)
    try:
        for kind, options, raised, cause in [
            (Alarm, {}, megadir.RottenError, Alarm),
            (KeyboardInterrupt, {}, KeyboardInterrupt, megadir.RottenError),
            (Alarm, {"on_verified": found.append}, Alarm, type(None)),
        ]:
            signal.setitimer(signal.ITIMER_REAL, 1.5)
            with pytest.raises(raised) as caught:
                megadir.changes(inventory, **slow, **options)
            assert isinstance(caught.value.__cause__, cause)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert [len(one.rotten) for one in found] == [1] and found[0].intact < 39


def test_conditions_choose_what_is_read(rotting, tmp_path):
    tree, rot = rotting
    inventory = tmp_path / "inventory.parquet"
    megadir.scan(tree, inventory, hash="all")
    rot(tree / "a" / "11")
    found = []
    for given in [{"match": "1?"}, {"exclude": "11"}, {"match": "11"}]:
        megadir.changes(inventory, verify="all", on_verified=found.append, **given)
    assert [(len(one.rotten), one.intact) for one in found] == [(1, 9), (0, 40), (1, 0)]


def test_hashes_are_those_of_the_command(tree, tmp_path):
    of_package, of_command = tmp_path / "package.parquet", tmp_path / "command.parquet"
    time.sleep(SETTLE_S)
    scanned = megadir.scan(tree, of_package, hash="all")
    subprocess.run([COMMAND, "scan", tree, "--hash=all", "--quiet", "--output", of_command], check=True)
    columns = ["parent", "name", "blake3"]
    table = pyarrow.parquet.read_table(of_package, columns=columns)
    assert table.equals(pyarrow.parquet.read_table(of_command, columns=columns))
    assert len(table) - table["blake3"].null_count == scanned.hashes.hashed
    assert megadir.scan(tree, tmp_path / "without.parquet").hashes is None


def test_a_suspect_is_decided_by_its_hash(tree, tmp_path):
    """Right after it was written, a file is a suspect; its SHA-256 is recorded."""
    inventory = tmp_path / "inventory.parquet"
    file = tree / "a" / "file-0100.dat"
    file.write_bytes(b"y" * 100)
    assert megadir.scan(tree, inventory, hash="suspects").hashes.hashed > 0
    row = pyarrow.parquet.read_table(inventory, filters=[("name", "=", file.name.encode())]).to_pylist()[0]
    assert row["sha256"] == hashlib.sha256(b"y" * 100).digest()
    assert kinds(megadir.changes(inventory, verify="suspects")) == set()
    status = file.stat()
    # The same times and size, as by a second write within the tick; on these file systems ctime differs.
    file.write_bytes(b"z" * 100)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert ("modified", "a/file-0100.dat") in kinds(megadir.changes(inventory, verify="suspects"))


def test_what_was_not_verified_is_no_success(tree, tmp_path):
    inventory = tmp_path / "inventory.parquet"
    time.sleep(SETTLE_S)
    megadir.scan(tree, inventory)
    with pytest.raises(ValueError, match='no file of this share has a hash.*hash="all"'):
        megadir.changes(inventory, verify="all")
    with pytest.raises(OSError, match="no file of this share has a hash"):
        megadir.changes(inventory, verify="1/2@0")
    errors, counts = [], []
    megadir.changes(inventory, verify="1/2@0", on_error=errors.append, on_verified=counts.append)
    assert len(errors) == 1 and counts[0].unhashed > 0 and counts[0].intact == 0
    newer = tmp_path / "newer.parquet"
    megadir.scan(tree, newer)
    with pytest.raises(ValueError, match="two inventories have no contents"):
        megadir.changes(inventory, newer, verify="suspects")


def test_wrong_arguments_of_reading_name_what_to_write(tree, tmp_path):
    out, inventory = tmp_path / "out.parquet", tmp_path / "inventory.parquet"
    megadir.scan(tree, inventory)
    functions = [
        (lambda **given: megadir.scan(tree, out, **{"hash": "all", **given}), "hash"),
        (lambda **given: megadir.changes(inventory, **{"verify": "all", **given}), "verify"),
    ]
    for function, name in functions:
        for rate, kind, line in [
            (50, TypeError, 'read_rate="50MB/s"'),
            (0.5, TypeError, "0.5 has no unit"),
            (True, TypeError, "True has no unit"),
            (datetime.timedelta(1), TypeError, "has no unit"),
            ("50MB", ValueError, "50MB/s"),
            ("5000/s", ValueError, "has no unit"),
            ("0MB/s", ValueError, "50MB/s"),
            ("", ValueError, "50MB/s"),
        ]:
            with pytest.raises(kind, match=line):
                function(read_rate=rate)
        for threads in [0, 257]:
            with pytest.raises(ValueError, match="read_threads: write a number from 1 to 256"):
                function(read_threads=threads)
        for word in ["al", "1/0", "2/1", "", "suspect"]:
            with pytest.raises(ValueError, match=f"^{name}: "):
                function(**{name: word})
        for word in [True, 30, 0.5]:
            with pytest.raises(TypeError, match=f"^{name}: .* is no text"):
                function(**{name: word})
        for given in [{}, {"verify": "suspects"}]:
            with pytest.raises(ValueError, match="^on_verified: nothing is verified"):
                megadir.changes(inventory, on_verified=print, **given)
        for given in [{"read_rate": "1MB/s"}, {"read_threads": 2}]:
            with pytest.raises(ValueError, match=f'no contents are read: add {name}="all"'):
                function(**{name: None}, **given)
    assert not out.exists()


def test_the_rate_limits_reading(place, tmp_path):
    (place / "file").write_bytes(os.urandom(300_000))
    time.sleep(SETTLE_S)
    begun = time.monotonic()
    megadir.scan(place, tmp_path / "out.parquet", hash="all", read_rate="500kB/s")
    assert time.monotonic() - begun > 0.3


@needs_root
def test_unreadable_contents_are_counted_and_reported(place, tmp_path):
    tree, out = place / "tree", place / "out"
    tree.mkdir()
    out.mkdir(mode=0o777)
    out.chmod(0o777)
    (tree / "secret").write_bytes(b"secret")
    (tree / "secret").chmod(0)
    (tree / "open").write_bytes(b"open")
    time.sleep(SETTLE_S)

    def check():
        errors = []
        scanned = megadir.scan(tree, out / "out.parquet", hash="all", on_error=errors.append)
        assert (scanned.hashes.hashed, scanned.hashes.unreadable) == (1, 1), scanned
        assert [type(error) for error in errors] == [PermissionError]
        assert pathlib.Path(os.fsdecode(errors[0].filename)).name == "secret"
        assert megadir.scan(tree, out / "out.parquet", hash="all").hashes == (0, 1, 0, 1, 0)

    assert holds_for_an_ordinary_user(tree, check)


def test_a_scan_that_was_interrupted_keeps_its_hashes(place, tmp_path):
    for number in range(40):
        (place / f"{number:02}").write_bytes(os.urandom(4000))
    time.sleep(SETTLE_S)
    out = tmp_path / "out.parquet"

    class Alarm(Exception):
        pass

    def ring(_number, _frame):
        raise Alarm

    previous = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.5)
        with pytest.raises(Alarm):
            megadir.scan(place, out, hash="all", read_rate="40KiB/s")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert not out.exists()
    hashes = megadir.scan(place, out, hash="all").hashes
    assert hashes.known > 0 and hashes.hashed > 0 and hashes.known + hashes.hashed == 40
    assert os.listdir(tmp_path) == ["out.parquet"]
