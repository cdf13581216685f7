"""`remove(keep_within=...)`: the files that were not used for the longest time go, until the rest fits."""

import datetime
import json
import os
import subprocess
import sys
import time

import megadir
import pytest
from conftest import holds_for_an_ordinary_user, needs_root

COMMAND = os.path.join(os.path.dirname(sys.executable), "megadir")
SECOND_NS = 10**9
BASE_NS = 1_700_000_000 * SECOND_NS
# Files that were written while the removal begins stay.
SETTLE_S = 0.05


@pytest.fixture
def cache(place):
    """Files `d0/f00` to `d3/f11` of 8 KiB, the first used last; a directory, a link and a FIFO stay and do not count."""
    top = place / "cache"
    for number in range(12):
        (top / f"d{number % 4}").mkdir(parents=True, exist_ok=True)
        file = top / f"d{number % 4}" / f"f{number:02}"
        file.write_bytes(b"x" * 8192)
        os.utime(file, ns=(BASE_NS + (100 - number) * SECOND_NS, BASE_NS))
    (top / "empty").mkdir()
    (top / "link").symlink_to("d0/f00")
    os.mkfifo(top / "fifo")
    time.sleep(SETTLE_S)
    return top


def left(top):
    return sorted(int(name[1:]) for _, _, names in os.walk(top) for name in names if name.startswith("f") and name != "fifo")


def oldest_first(top):
    """Oracle: which files stay, by the documented order, with the present times."""
    files = [os.path.join(directory, name) for directory, _, names in os.walk(top) for name in names]
    files = [path for path in files if os.path.isfile(path) and not os.path.islink(path)]
    return sorted(files, key=lambda path: (max(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns), path))


@pytest.mark.parametrize("budget", ["64KiB", "67KiB", "5 files", "8KiB", "1 file", "1GB"])
def test_the_oldest_files_go_until_the_rest_fits(cache, budget):
    order = [int(os.path.basename(path)[1:]) for path in oldest_first(cache)]
    amount = {"64KiB": 8, "67KiB": 8, "5 files": 5, "8KiB": 1, "1 file": 1, "1GB": 12}[budget]
    planned = megadir.remove(cache, keep_within=budget, dry_run=True)
    assert len(left(cache)) == 12
    gone = megadir.remove(cache, keep_within=budget)
    assert left(cache) == sorted(order[12 - amount :])
    assert (planned.entries, planned.budget) == (gone.entries, gone.budget) and gone.entries == 12 - amount
    kept = gone.budget
    assert gone.complete and kept.is_met and not kept.is_out_of_reach and not kept.is_of_free
    assert (kept.held_files, kept.linked_files, kept.changed, kept.unread) == (12, 0, 0, 0)
    assert kept.now == (amount if "file" in budget else sum(os.stat(path).st_blocks * 512 for path in oldest_first(cache)))
    assert kept.now <= kept.limit and kept.measure == ("files" if "file" in budget else "bytes")
    assert (cache / "fifo").exists() and (cache / "empty").is_dir() and (cache / "link").is_symlink()


def test_the_command_has_the_same_figures(cache):
    for budget, words in [("40KiB", []), ("3 files", ["--by=mtime"]), ("1 file", ["--match=*1"])]:
        given = {"by": "mtime"} if "--by=mtime" in words else {"match": "*1"} if words else {}
        removed = megadir.remove(cache, keep_within=budget, dry_run=True, **given)
        ran = subprocess.run(
            [COMMAND, "remove", "--dry-run", "--json", f"--keep-within={budget}", *words, cache], stdout=subprocess.PIPE, text=True
        )
        of_command = json.loads(ran.stdout)
        assert of_command["removed"] == removed.entries
        of_package = removed.budget._asdict()
        del of_package["access_times"]
        assert of_package == of_command["budget"]
        assert removed.complete == (ran.returncode == 0)


def test_conditions_protect_and_excluded_files_do_not_count(cache):
    removed = megadir.remove(cache, keep_within="1 file", match=["*1", "*2"])
    assert left(cache) == [0, 3, 4, 5, 6, 7, 8, 9, 10]
    assert not removed.complete and not removed.budget.is_met and removed.budget.now == 9
    # The use counts, and the young files stay.
    os.utime(cache / "d0" / "f00")
    removed = megadir.remove(cache, keep_within="1 file", older_than=datetime.timedelta(hours=1), exclude="d2")
    assert left(cache) == [0, 6, 10] and removed.budget.is_met and removed.budget.now == 1


def test_by_is_the_order_without_an_age_too(cache):
    os.utime(cache / "d0" / "f00", ns=(BASE_NS + 1000 * SECOND_NS, BASE_NS - SECOND_NS))
    time.sleep(SETTLE_S)
    assert megadir.remove(cache, keep_within="11 files", by="mtime").budget.is_met
    assert 0 not in left(cache)
    with pytest.raises(ValueError, match="by: needs older_than or newer_than"):
        megadir.remove(cache, by="mtime")
    assert len(left(cache)) == 11


def test_files_with_several_names_stay_and_nothing_goes_in_vain(cache):
    for number in range(11):
        os.link(cache / f"d{number % 4}" / f"f{number:02}", cache / f"other{number}")
    time.sleep(SETTLE_S)
    removed = megadir.remove(cache, keep_within="3 files")
    assert removed.entries == 0 and not removed.complete and removed.budget.is_out_of_reach
    assert removed.budget.linked_files == 11 and len(left(cache)) == 12


def test_free_space_and_inodes(cache, file_system_name):
    for budget in ["1B free", "0% free", "1 free inodes"]:
        removed = megadir.remove(cache, keep_within=budget)
        assert removed.entries == 0 and removed.budget.is_met and removed.budget.is_of_free
    # Two files of 8 KiB have to go.
    os.sync()
    status = os.statvfs(cache)
    budget = f"{status.f_bavail * status.f_frsize + 16384}B free"
    removed = megadir.remove(cache, keep_within=budget, dry_run=True)
    assert removed.entries == 2 and removed.budget.is_met and removed.budget.measure == "bytes"
    if file_system_name == "tmpfs":
        assert megadir.remove(cache, keep_within=budget).entries == 2 and left(cache) == [*range(10)]
    assert removed.budget.access_times in {"recorded", "seldom", "never"}
    with pytest.raises(ValueError, match="less free space in all"):
        megadir.remove(cache, keep_within="900TB free")
    assert len(left(cache)) >= 10


def test_a_budget_without_a_unit_is_refused_and_removes_nothing(cache):
    for number, line in [
        (50, 'keep_within="50GB", keep_within="50 files"'),
        (0, 'keep_within="0GB"'),
        (0.5, "0.5 has no unit"),
        (True, "True has no unit"),
        (-1, "-1 has no unit"),
        (datetime.timedelta(days=1), "has no unit"),
        (b"50GB", "has no unit"),
        (("50GB",), "has no unit"),
    ]:
        with pytest.raises(TypeError, match=line):
            megadir.remove(cache, keep_within=number)
    for text in ["", "50", "50G", "100k", "10%", "-1GB", "nan% free", "50 free", "5GB files"]:
        with pytest.raises(ValueError, match="keep_within: .*write 50GB"):
            megadir.remove(cache, keep_within=text)
    for text in ["0B", "0 files", "100% free"]:
        with pytest.raises(ValueError, match="would remove everything"):
            megadir.remove(cache, keep_within=text)
    with pytest.raises(ValueError, match="leave contents out"):
        megadir.remove(cache, keep_within="1 file", contents=True)
    with pytest.raises(TypeError, match="keep_witin"):
        megadir.remove(cache, keep_witin="1 file")
    assert len(left(cache)) == 12


def test_a_budget_is_for_a_directory_that_may_be_removed(cache, monkeypatch):
    with pytest.raises(FileNotFoundError):
        megadir.remove(cache / "missing", keep_within="1 file")
    for path in ["d0/f00", "fifo"]:
        with pytest.raises(NotADirectoryError):
            megadir.remove(cache / path, keep_within="1 file")
    monkeypatch.chdir(cache / "d0")
    for path in ["/", ".", "..", cache]:
        with pytest.raises(ValueError, match="remove"):
            megadir.remove(path, keep_within="1 file")
    assert len(left(cache)) == 12


@needs_root
def test_what_could_not_be_read_is_a_failure(cache):
    for directory, _, _ in os.walk(cache):
        os.chown(directory, 65534, 65534)
    (cache / "d1").chmod(0)

    def check():
        errors = []
        removed = megadir.remove(cache, keep_within="2 files", on_error=errors.append)
        assert [type(error) for error in errors] == [PermissionError] and errors[0].filename.endswith("/d1")
        assert (removed.entries, removed.failures, removed.complete) == (7, 1, False)
        assert (removed.budget.now, removed.budget.unread, removed.budget.is_met) == (2, 1, False)
        with pytest.raises(PermissionError):
            megadir.remove(cache, keep_within="2 files")

    holds = holds_for_an_ordinary_user(cache, check)
    (cache / "d1").chmod(0o755)
    assert holds and len(left(cache)) == 5


def test_an_exception_of_the_progress_ends_the_removal(place):
    top = place / "many"
    top.mkdir()
    for number in range(20_000):
        (top / f"f{number:05}").touch()
    time.sleep(SETTLE_S)

    class Enough(Exception):
        pass

    def progress(done):
        seen.append(done)
        if done > 20_000:
            raise Enough

    seen = []
    with pytest.raises(Enough):
        megadir.remove(top, keep_within="10 files", progress=progress)
    assert seen == sorted(seen)
    rest = len(left(top))
    assert rest >= 10
    # The next run goes on.
    removed = megadir.remove(top, keep_within="10 files", progress=seen.append)
    assert removed.budget.now == 10 and removed.entries == rest - 10
