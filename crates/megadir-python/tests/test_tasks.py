"""Work in tasks gives the result of one process, whichever process dies meanwhile."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import megadir
import megadir.futures
import pyarrow
import pytest
from megadir import _megadir

COMMAND = os.path.join(os.path.dirname(sys.executable), "megadir")
FULL = os.environ.get("MEGADIR_FULL") == "1"


def required(module):
    """The module, or a visible skip; a failure if every test must run."""
    if os.environ.get("MEGADIR_REQUIRE_ALL") == "1":
        return __import__(module)
    return pytest.importorskip(module)


def grow(top, seed, directories):
    """Random tree with one large directory."""
    numbers = random.Random(seed)
    top.mkdir()
    all_directories = [top]
    for index in range(directories):
        below = numbers.choice(all_directories) / f"{numbers.choice(['a', 'a-b', 'größe', 'x y'])}{index}"
        below.mkdir()
        for file in range(numbers.randrange(6)):
            (below / f"f{file}").write_bytes(b"x" * numbers.randrange(2000))
        all_directories.append(below)
    (top / "large").mkdir()
    for file in range(3000):
        os.mknod(top / "large" / f"file-{file:032}")
    (top / "link").symlink_to("large")
    return top


def lines(*words):
    """Inventory as text."""
    # Exit code 1: some entries failed.
    done = subprocess.run([COMMAND, "scan", *words, "--csv"], stdout=subprocess.PIPE)
    assert done.returncode in (0, 1), done.returncode
    return done.stdout.splitlines()


def rows(stream):
    """Rows as dictionaries, with times in nanoseconds."""
    table = pyarrow.table(stream)
    for index, field in enumerate(table.schema):
        if pyarrow.types.is_timestamp(field.type):
            table = table.set_column(index, field.name, table[field.name].cast(pyarrow.int64()))
    return table.to_pylist()


def by_path(table):
    return {row["path"]: row for row in table}


def check(tree, folder):
    """The parts are the inventory of one process, to the byte."""
    merged, whole = lines("--merge", folder), lines(tree)
    assert merged == whole and len(whole) > 100
    hidden = [name for name in os.listdir(folder) if name.startswith(".")]
    assert not hidden and (folder / "megadir-parts.json").exists()


@pytest.fixture
def tree_of_tasks(place):
    top = grow(place / "grown", 1, 150)
    lines(top)  # Sets the access times.
    return top


def test_parts_are_the_inventory_of_one_process(tree_of_tasks):
    folder = tree_of_tasks.parent / "parts"
    reports = []
    scanned = megadir.futures.scan(tree_of_tasks, folder, workers=3, entries=200, progress=reports.append)
    check(tree_of_tasks, folder)
    assert scanned.rows == len(lines("--merge", folder)) - 1 and scanned.failed == 0
    assert scanned.parts > 5 and reports[-1].entries == scanned.rows - 1 and reports[-1].waiting == 0
    # A folder of parts is complete.
    assert megadir.futures.scan(tree_of_tasks, folder) == scanned
    changed = pyarrow.table(megadir.changes(folder))["kind"].to_pylist()
    assert set(changed) <= {"suspect"}


def test_usage_and_removal(tree_of_tasks):
    alone = rows(megadir.usage(tree_of_tasks, top=900, depth=1))
    summed = rows(megadir.futures.usage(tree_of_tasks, top=900, workers=3, entries=100))
    assert len(alone) > 2 and by_path(summed) == by_path(alone)
    entries = [row["entries"] for row in summed[1:]]
    assert entries == sorted(entries, reverse=True)
    outside = tree_of_tasks.parent / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (tree_of_tasks / "out").symlink_to(outside)
    everything = megadir.count(tree_of_tasks, recursive=True)
    removed = megadir.futures.remove(os.fsencode(tree_of_tasks), workers=3, entries=100, contents=True)
    assert removed.complete and removed.entries + removed.directories == everything
    assert os.listdir(tree_of_tasks) == [] and (outside / "kept").exists()
    assert megadir.futures.remove(tree_of_tasks).directories == 1 and not tree_of_tasks.exists()


def test_refusals(tree_of_tasks):
    other = tree_of_tasks.parent / "other"
    other.mkdir()
    (other / "part-1.parquet").touch()
    for folder, text in [(tree_of_tasks / "parts", "in the tree"), (other, "another scan")]:
        with pytest.raises(ValueError, match=text):
            megadir.futures.scan(tree_of_tasks, folder)
    with pytest.raises(ValueError, match="budget"):
        megadir.futures.usage(tree_of_tasks, seconds=0)
    with pytest.raises(NotADirectoryError):
        megadir.futures.remove(tree_of_tasks / "link")
    with pytest.raises(ValueError, match="remove"):
        megadir.futures.remove(os.path.join(tree_of_tasks, ".."))
    with pytest.raises(FileNotFoundError):
        megadir.futures.scan(tree_of_tasks / "missing", tree_of_tasks.parent / "parts")
    assert tree_of_tasks.exists()


def test_the_command_runs_a_task_too(tree_of_tasks):
    folder = tree_of_tasks.parent / "parts"
    folder.mkdir()
    schedule = _megadir.Schedule("scan", tree_of_tasks, folder, (1.0, 500), 0, False)
    while not schedule.is_done():
        number, task, _line = schedule.next(2)
        run = subprocess.run([COMMAND, "task"], input=task.encode(), stdout=subprocess.PIPE, check=True)
        assert json.loads(run.stdout) == json.loads(_megadir.run_task(task))
        assert schedule.finished(number, run.stdout.decode()) is not None
    schedule.finish_folder(folder)
    check(tree_of_tasks, folder)
    bad = subprocess.run([COMMAND, "task"], input=b"{}", stderr=subprocess.PIPE)
    assert bad.returncode == 2 and b"no task" in bad.stderr


def test_a_worker_is_killed(tree_of_tasks, monkeypatch):
    """At any moment, also while the pool starts another: none is left, for Python waits for all of them at exit."""
    killed = []

    class Watched(megadir.futures._Pool):
        def submit(self, task):
            process = next(iter(list((self.pool._processes or {}).values())), None)
            if process is not None and process.pid not in killed and len(killed) < limit:
                killed.append(process.pid)
                os.kill(process.pid, signal.SIGKILL)
                time.sleep(delay)
            return super().submit(task)

    monkeypatch.setattr(megadir.futures, "_Pool", Watched)
    for attempt in range(10):
        delay, limit = attempt % 5 * 0.0005, len(killed) + 2
        folder = tree_of_tasks.parent / f"parts-{attempt}"
        megadir.futures.scan(tree_of_tasks, folder, workers=3, processes=True, entries=300)
        check(tree_of_tasks, folder)
    assert len(killed) > 10
    deadline = time.monotonic() + 5
    while multiprocessing.active_children():
        assert time.monotonic() < deadline, multiprocessing.active_children()
        time.sleep(0.01)


DRIVER = """if True:
    import megadir.futures, signal, sys, time
    if __name__ == "__main__":
        # A shell starts jobs in the background with this signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        megadir.futures.scan(sys.argv[1], sys.argv[2], workers=2, entries=60, progress=lambda _: time.sleep(0.01))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_another_driver_continues(tree_of_tasks, number):
    folder = tree_of_tasks.parent / "parts"
    ended = 0
    for tasks in [3, 9, 20]:
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, tree_of_tasks, folder], stderr=subprocess.PIPE)
        with driver:
            journal = folder / "megadir-journal.jsonl"
            while driver.poll() is None and (not journal.exists() or journal.read_bytes().count(b'"done"') < tasks):
                time.sleep(0.002)
            driver.send_signal(number)
            started = time.monotonic()
            _, text = driver.communicate()
            assert time.monotonic() - started < 5
        ended += driver.returncode != 0
        assert driver.returncode in (0, -number) or (number == signal.SIGINT and b"KeyboardInterrupt" in text), text
    assert ended > 0
    # The line that a driver wrote when it died.
    with journal.open("ab") as file:
        if not (folder / "megadir-parts.json").exists():
            file.write(b'{"done":1,"outc')
    megadir.futures.scan(tree_of_tasks, folder, workers=2)
    check(tree_of_tasks, folder)


def test_a_journal_of_another_tree_is_refused(tree_of_tasks):
    folder = tree_of_tasks.parent / "parts"
    megadir.futures.scan(tree_of_tasks, folder)
    (folder / "megadir-parts.json").unlink()
    shutil.rmtree(tree_of_tasks)
    tree_of_tasks.mkdir()
    with pytest.raises(ValueError, match="another job"):
        megadir.futures.scan(tree_of_tasks, folder)


def test_dask(tree_of_tasks):
    distributed = required("distributed")
    import megadir.dask

    folder = tree_of_tasks.parent / "parts"
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            megadir.dask.scan(tree_of_tasks, folder, client=client, entries=500)
            check(tree_of_tasks, folder)
            assert megadir.dask.remove(tree_of_tasks, client=client, entries=500).complete
    assert not tree_of_tasks.exists()


RAY = """if True:
    import json, os, signal, subprocess, sys
    import ray
    from ray.cluster_utils import Cluster
    import megadir.ray
    tree, folder, kill = sys.argv[1], sys.argv[2], sys.argv[3] == "kill"
    reports = []
    if kill:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        ray.init(address=cluster.address)
        # After the driver has joined the first node, which must not be lost.
        second = cluster.add_node(num_cpus=1)
    else:
        ray.init(address="local", num_cpus=2, include_dashboard=False)

    def progress(report):
        reports.append(report)
        if kill and report.done > 5 and len(cluster.list_all_nodes()) == 2:
            cluster.remove_node(second, allow_graceful=False)

    scanned = megadir.ray.scan(tree, folder, entries=100, workers=2, progress=progress)
    assert not kill or len(cluster.list_all_nodes()) == 1, "no node was killed"
    ray.shutdown()
    print(json.dumps(scanned))
"""


def ray_scan(tree, how):
    """In a network namespace with loopback only: a cluster that picks another address may hang."""
    required("ray")
    folder = tree.parent / "parts"
    inside = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_DOCKER_CPU_WARNING": "1"}
    subprocess.run([*inside, sys.executable, "-c", RAY, tree, folder, how], env=environment, check=True, timeout=150)
    check(tree, folder)


@pytest.mark.parametrize("file_system", ["tmpfs"], indirect=True)
def test_ray(tree_of_tasks):
    ray_scan(tree_of_tasks, "all")


@pytest.mark.parametrize("file_system", ["tmpfs"], indirect=True)
@pytest.mark.skipif(not FULL, reason="two raylets, one of which is killed: MEGADIR_FULL=1")
def test_a_raylet_is_killed(tree_of_tasks):
    ray_scan(tree_of_tasks, "kill")
