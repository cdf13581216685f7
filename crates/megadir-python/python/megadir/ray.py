"""Work on large trees by a Ray cluster.

As :mod:`megadir.futures`, on the processors of the cluster that ``ray.init`` has joined; without it, on this machine. All machines need the same paths
and the same version of this package. Tasks of a machine that is lost are run again.

    import megadir.ray, ray
    ray.init("auto")
    megadir.ray.scan("/data", "/results/parts")
"""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING

from . import _driver, _megadir
from ._driver import Progress, Removed, Scanned

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Optional

    from ._megadir import Stream, _Path, _Paths

__all__ = ["Progress", "Removed", "Scanned", "remove", "scan", "usage"]


def _run(task: str) -> str:
    return _megadir.run_task(task)


class _Cluster:
    def __init__(self, workers: Optional[int]) -> None:
        self.ray: Any = importlib.import_module("ray")
        if not self.ray.is_initialized():
            self.ray.init()
        self.run: Any = self.ray.remote(max_retries=3, num_cpus=1)(_run)
        self.processes = workers or int(self.ray.cluster_resources().get("CPU", 1))
        self.references: list[Any] = []

    def submit(self, task: str) -> Any:
        reference = self.run.remote(task)
        self.references.append(reference)
        return reference

    def wait(self, seconds: float) -> list[tuple[Any, Callable[[], str]]]:
        if not self.references:
            return []
        done, _ = self.ray.wait(self.references, num_returns=1, timeout=seconds)
        # Those that have ended meanwhile.
        done, self.references = self.ray.wait(self.references, num_returns=len(self.references), timeout=0)

        def result(reference: Any) -> Callable[[], str]:
            return lambda: str(self.ray.get(reference))

        return [(reference, result(reference)) for reference in done]

    def close(self) -> None:
        for reference in self.references:
            # The task of a machine that was lost has no owner.
            with contextlib.suppress(Exception):
                self.ray.cancel(reference)


def scan(
    paths: _Paths,
    output_folder: _Path,
    *,
    workers: Optional[int] = None,
    seconds: float = 2.0,
    entries: int = 1_000_000,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Scanned:
    """Write an inventory of trees as a folder of parts, which :func:`megadir.changes` and :func:`megadir.usage` read like one file.

    ``seconds`` and ``entries`` are the budget of a task. Large directories are divided on ext4, XFS and btrfs. The folder must not
    be in one of the trees. It keeps a journal: if the driver died, the same call continues. Directories that vanish
    meanwhile are left out, and those that cannot be read are rows with an error.
    """
    return _driver.scan(lambda: _Cluster(workers), paths, output_folder, (seconds, entries), progress)


def usage(
    paths: _Paths,
    *,
    top: int = 20,
    depth: int = 1,
    workers: Optional[int] = None,
    seconds: float = 2.0,
    entries: int = 1_000_000,
    journal: Optional[_Path] = None,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Stream:
    """Sum up entries and bytes, with the columns of :func:`megadir.usage`.

    The first rows are the trees; then come the ``top`` directories down to ``depth`` levels, most entries first. Hard links
    count once. With ``journal``, a file, the same call continues if the driver died.
    """
    return _driver.usage(lambda: _Cluster(workers), paths, (top, depth), (seconds, entries), journal, progress)


def remove(
    paths: _Paths,
    *,
    contents: bool = False,
    workers: Optional[int] = None,
    seconds: float = 2.0,
    entries: int = 1_000_000,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Removed:
    """Remove directories with everything in them; with ``contents``, only what is in them.

    Refuses the same paths as :func:`megadir.remove`, follows no symbolic link and enters no mounted file system. A directory that
    is replaced meanwhile stays. If the driver died, the same call continues.
    """
    return _driver.remove(lambda: _Cluster(workers), paths, contents, (seconds, entries), progress)
