"""Work on large trees by the workers of Dask.

As :mod:`megadir.futures`, on the workers of a ``distributed.Client``. All workers need the same paths and the same version of this package.

    from distributed import Client
    import megadir.dask
    megadir.dask.scan("/data", "/results/parts", client=Client("scheduler:8786"))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from . import _driver, _megadir
from ._driver import Progress, Removed, Scanned

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Optional

    from ._megadir import Stream, _Path, _Paths

__all__ = ["Progress", "Removed", "Scanned", "remove", "scan", "usage"]


class _Workers:
    def __init__(self, client: Any, workers: Optional[int]) -> None:
        self.client = client
        self.distributed: Any = importlib.import_module("distributed")
        self.processes = workers or sum(client.nthreads().values()) or 1
        self.futures: set[Any] = set()

    def submit(self, task: str) -> Any:
        future = self.client.submit(_megadir.run_task, task, pure=False)
        self.futures.add(future)
        return future

    def wait(self, seconds: float) -> list[tuple[Any, Callable[[], str]]]:
        try:
            waited = self.distributed.wait(self.futures, seconds, return_when="FIRST_COMPLETED")
        except (TimeoutError, self.distributed.TimeoutError):
            return []
        self.futures -= waited.done
        return [(future, future.result) for future in waited.done]

    def close(self) -> None:
        self.client.cancel(list(self.futures))


def scan(
    paths: _Paths,
    output_folder: _Path,
    *,
    client: Any,
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
    return _driver.scan(lambda: _Workers(client, workers), paths, output_folder, (seconds, entries), progress)


def usage(
    paths: _Paths,
    *,
    top: int = 20,
    depth: int = 1,
    client: Any,
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
    return _driver.usage(lambda: _Workers(client, workers), paths, (top, depth), (seconds, entries), journal, progress)


def remove(
    paths: _Paths,
    *,
    contents: bool = False,
    client: Any,
    workers: Optional[int] = None,
    seconds: float = 2.0,
    entries: int = 1_000_000,
    progress: Optional[Callable[[Progress], object]] = None,
) -> Removed:
    """Remove directories with everything in them; with ``contents``, only what is in them.

    Refuses the same paths as :func:`megadir.remove`, follows no symbolic link and enters no mounted file system. A directory that
    is replaced meanwhile stays. If the driver died, the same call continues.
    """
    return _driver.remove(lambda: _Workers(client, workers), paths, contents, (seconds, entries), progress)
