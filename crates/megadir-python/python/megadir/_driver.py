"""Drives a job: starts its tasks by an executor, writes the journal, and reports progress.

The schedule is the extension's. A task is text, so any process with this package can run it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import time
from typing import TYPE_CHECKING, NamedTuple

from . import _megadir

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import IO, Any, Optional, Protocol

    from ._megadir import Schedule, Stream, _Path, _Paths

    class Executor(Protocol):
        """Starts tasks on processes or machines."""

        processes: int

        def submit(self, task: str) -> Any:
            """Start a task; returns a hashable handle."""
            ...

        def wait(self, seconds: float) -> list[tuple[Any, Callable[[], str]]]:
            """Wait for a task to end; returns the handles of those that ended, with functions that return the outcome or raise."""
            ...

        def close(self) -> None:
            """End the executor without waiting for its tasks."""
            ...


JOURNAL = "megadir-journal.jsonl"
LOOK_SECONDS = 0.1
# An idle process runs a task a second time if it takes this much longer than its budget: its process may hang.
AGAIN_AFTER_SECONDS = 60.0


class Progress(NamedTuple):
    """Progress of a job on many machines."""

    entries: int
    """Number of entries visited."""
    per_second: float
    """Entries per second since the start of this driver."""
    failures: int
    """Number of failures so far."""
    done: int
    """Number of finished tasks."""
    running: int
    """Number of running tasks."""
    waiting: int
    """Number of known directories that wait; each may hold many more."""
    stragglers: list[tuple[int, float]]
    """Number of each task that runs more than twice as long as its budget, and its seconds so far."""


class Scanned(NamedTuple):
    """Result of a scan into a folder of parts."""

    rows: int
    """Number of rows in the inventory."""
    failed: int
    """Number of rows with an error."""
    unread_directories: int
    """Number of directories that could not be read completely."""
    parts: int
    """Number of parts."""


class Removed(NamedTuple):
    """Result of a removal. What a task removed whose process was lost is not counted."""

    entries: int
    """Number of entries that are no directories."""
    directories: int
    """Number of directories."""
    failures: int
    """Number of entries that could not be removed."""
    mounts: int
    """Number of mount points among these, which are not entered."""
    messages: list[str]
    """First failures, as text."""
    complete: bool
    """``True`` if everything requested is gone."""


class Journal:
    """Lines of a schedule, by which another driver continues."""

    def __init__(self, file: Optional[IO[bytes]]) -> None:
        self.file = file

    def write(self, line: Optional[str]) -> None:
        if self.file is not None and line is not None:
            self.file.write(line.encode() + b"\n")
            self.file.flush()

    def sync(self) -> None:
        """Make the lines durable; what is lost without it is done again."""
        if self.file is not None:
            os.fsync(self.file.fileno())


@contextlib.contextmanager
def opened(path: Optional[_Path], schedule: Schedule) -> Generator[tuple[Schedule, Journal], None, None]:
    """Open a journal, and continue from its lines if it has any."""
    if path is None:
        yield schedule, Journal(None)
        return
    with open(path, "a+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, "another driver works on this job", os.fspath(path)) from None
        file.seek(0)
        lines = file.read().splitlines(keepends=True)
        if lines and not lines[-1].endswith(b"\n"):
            # The driver died while it wrote this line.
            file.truncate(sum(len(line) for line in lines[:-1]))
            lines.pop()
        journal = Journal(file)
        if lines:
            schedule = schedule.replayed([line.decode() for line in lines])
        else:
            journal.write(schedule.first_line())
            journal.sync()
        yield schedule, journal


class Driver:
    """One run of a job."""

    def __init__(
        self,
        schedule: Schedule,
        executor: Executor,
        journal: Journal,
        seconds: float,
        progress: Optional[Callable[[Progress], object]],
    ) -> None:
        self.schedule = schedule
        self.executor = executor
        self.journal = journal
        self.seconds = seconds
        self.progress = progress
        self.running: dict[Any, tuple[int, float]] = {}
        self.twice: set[int] = set()
        self.started = time.monotonic()
        self.entries_before = schedule.progress()[0]

    def drive(self) -> None:
        try:
            while not self.schedule.is_done():
                self.start()
                ended = self.executor.wait(LOOK_SECONDS)
                for handle, result in ended:
                    self.end(handle, result)
                if ended:
                    self.journal.sync()
                self.report()
        finally:
            self.executor.close()

    def start(self) -> None:
        while len(self.running) < self.executor.processes:
            assigned = self.schedule.next(self.executor.processes)
            if assigned is None:
                self.start_again()
                return
            number, task, line = assigned
            self.journal.write(line)
            self.running[self.executor.submit(task)] = (number, time.monotonic())

    def start_again(self) -> None:
        now = time.monotonic()
        for number, since in list(self.running.values()):
            if number not in self.twice and now - since > self.seconds + AGAIN_AFTER_SECONDS:
                self.twice.add(number)
                task = self.schedule.again(number)
                if task is not None:
                    self.running[self.executor.submit(task)] = (number, now)
                return

    def end(self, handle: Any, result: Callable[[], str]) -> None:
        number, _since = self.running.pop(handle)
        try:
            outcome = result()
        except Exception:
            if not self.schedule.failed(number):
                raise
        else:
            self.journal.write(self.schedule.finished(number, outcome))

    def report(self) -> None:
        if self.progress is None:
            return
        entries, failures, done, running, waiting = self.schedule.progress()
        now = time.monotonic()
        rate = (entries - self.entries_before) / max(now - self.started, 1e-9)
        slow = [(number, now - since) for number, since in self.running.values() if now - since > 2 * self.seconds]
        self.progress(Progress(entries, rate, failures, done, running, waiting, slow))


Budget = tuple[float, int]


def scan(
    executor: Callable[[], Executor],
    paths: _Paths,
    output_folder: _Path,
    budget: Budget,
    progress: Optional[Callable[[Progress], object]],
) -> Scanned:
    folder = pathlib.Path(os.fsdecode(output_folder))
    folder.mkdir(exist_ok=True)
    schedule = _megadir.Schedule("scan", paths, output_folder, budget, 0, False)
    journal = folder / JOURNAL
    if not journal.exists():
        _megadir.check_folder(output_folder)
    with opened(journal, schedule) as (schedule, lines):
        if not schedule.is_done():
            Driver(schedule, executor(), lines, budget[0], progress).drive()
        return Scanned(*schedule.finish_folder(output_folder))


def usage(
    executor: Callable[[], Executor],
    paths: _Paths,
    ranking: tuple[int, int],
    budget: Budget,
    journal: Optional[_Path],
    progress: Optional[Callable[[Progress], object]],
) -> Stream:
    top, depth = ranking
    with opened(journal, _megadir.Schedule("usage", paths, None, budget, depth, False)) as (schedule, lines):
        if not schedule.is_done():
            Driver(schedule, executor(), lines, budget[0], progress).drive()
        return schedule.sums(top)


def remove(
    executor: Callable[[], Executor],
    paths: _Paths,
    contents: bool,
    budget: Budget,
    progress: Optional[Callable[[Progress], object]],
) -> Removed:
    schedule = _megadir.Schedule("remove", paths, None, budget, 0, contents)
    Driver(schedule, executor(), Journal(None), budget[0], progress).drive()
    entries, directories, failures, mounts = schedule.removal()
    return Removed(entries, directories, failures, mounts, schedule.messages(), failures == 0)
