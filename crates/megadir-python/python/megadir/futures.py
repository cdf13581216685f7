"""Work on large trees by threads or processes: `concurrent.futures`.

The work is divided into tasks of a few seconds, which return the directories that they did not visit. ``processes=True`` starts processes instead
of threads; ``executor`` takes an executor of the caller, such as an ``MPIPoolExecutor``, with ``workers`` as the number of its processes. All
processes need the same paths and the same version of this package.

>>> import megadir.futures
>>> megadir.futures.scan("photos", "parts", workers=2).rows
5
>>> pyarrow.table(megadir.futures.usage("photos", workers=2)).select(["path", "entries"]).to_pylist()
[{'path': '', 'entries': 4}, {'path': 'old', 'entries': 1}]
>>> megadir.futures.remove("photos", workers=2).complete
True
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
from typing import TYPE_CHECKING

from . import _driver, _megadir
from ._driver import Progress, Removed, Scanned

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess
    from typing import Any, Optional

    from ._megadir import Stream, _Path, _Paths

__all__ = ["Progress", "Removed", "Scanned", "remove", "scan", "usage"]


class _Pool:
    def __init__(
        self, workers: Optional[int], processes: bool, executor: Optional[concurrent.futures.Executor]
    ) -> None:
        self.processes = workers or os.cpu_count() or 1
        self.as_processes = processes
        self.own = executor is None
        self.pool = executor or self.make()
        self.futures: set[concurrent.futures.Future[str]] = set()
        self.members: set[BaseProcess] = set()

    def make(self) -> concurrent.futures.Executor:
        if not self.as_processes:
            return concurrent.futures.ThreadPoolExecutor(self.processes, "megadir-task")
        # A fork would copy the locks of other threads.
        context = multiprocessing.get_context("spawn")
        return concurrent.futures.ProcessPoolExecutor(self.processes, context)

    def submit(self, task: str) -> Any:
        try:
            future = self.pool.submit(_megadir.run_task, task)
        except Exception:
            # A process was killed. The tasks of the others are lost too. If the pool was starting another process meanwhile,
            # the exception may be BrokenProcessPool, OSError or ValueError.
            if not (self.own and self.as_processes):
                raise
            self.end_broken()
            self.pool = self.make()
            future = self.pool.submit(_megadir.run_task, task)
        processes: Optional[dict[int, BaseProcess]] = getattr(self.pool, "_processes", None)
        self.members.update((processes or {}).values())
        self.futures.add(future)
        return future

    def end_broken(self) -> None:
        """End a pool that lost a process, and the process that it may have started meanwhile.

        It terminates the processes that it knew when it noticed the loss. Python waits at exit for all.
        """
        self.pool.shutdown(wait=False)
        for process in self.members:
            process.kill()
        self.members.clear()

    def wait(self, seconds: float) -> list[tuple[Any, Callable[[], str]]]:
        done, self.futures = concurrent.futures.wait(
            self.futures, seconds, concurrent.futures.FIRST_COMPLETED
        )
        return [(future, future.result) for future in done]

    def close(self) -> None:
        for future in self.futures:
            future.cancel()
        if self.own and getattr(self.pool, "_broken", False):
            self.end_broken()
        elif self.own:
            self.pool.shutdown(wait=False, cancel_futures=True)


def scan(
    paths: _Paths,
    output_folder: _Path,
    *,
    workers: Optional[int] = None,
    processes: bool = False,
    executor: Optional[concurrent.futures.Executor] = None,
    seconds: float = 2.0,
    entries: int = 1_000_000,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Scanned:
    """Write an inventory of trees as a folder of parts, which :func:`megadir.changes` and :func:`megadir.usage` read like one file.

    ``seconds`` and ``entries`` are the budget of a task. Large directories are divided on ext4, XFS and btrfs. The folder must not
    be in one of the trees. It keeps a journal: if the driver died, the same call continues. Directories that vanish
    meanwhile are left out, and those that cannot be read are rows with an error.
    """
    return _driver.scan(lambda: _Pool(workers, processes, executor), paths, output_folder, (seconds, entries), progress)


def usage(
    paths: _Paths,
    *,
    top: int = 20,
    depth: int = 1,
    workers: Optional[int] = None,
    processes: bool = False,
    executor: Optional[concurrent.futures.Executor] = None,
    seconds: float = 2.0,
    entries: int = 1_000_000,
    journal: Optional[_Path] = None,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Stream:
    """Sum up entries and bytes, with the columns of :func:`megadir.usage`.

    The first rows are the trees; then come the ``top`` directories down to ``depth`` levels, most entries first. Hard links
    count once. With ``journal``, a file, the same call continues if the driver died.
    """
    return _driver.usage(lambda: _Pool(workers, processes, executor), paths, (top, depth), (seconds, entries), journal, progress)


def remove(
    paths: _Paths,
    *,
    contents: bool = False,
    workers: Optional[int] = None,
    processes: bool = False,
    executor: Optional[concurrent.futures.Executor] = None,
    seconds: float = 2.0,
    entries: int = 1_000_000,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Removed:
    """Remove directories with everything in them; with ``contents``, only what is in them.

    Refuses the same paths as :func:`megadir.remove`, follows no symbolic link and enters no mounted file system. A directory that
    is replaced meanwhile stays. If the driver died, the same call continues.
    """
    return _driver.remove(lambda: _Pool(workers, processes, executor), paths, contents, (seconds, entries), progress)
