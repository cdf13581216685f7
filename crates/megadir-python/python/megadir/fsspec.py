"""Local files for libraries that read through fsspec, listed by megadir: ``megadir://`` paths, and ``fsspec.filesystem("megadir")``.

Reads and writes are those of fsspec's ``LocalFileSystem``, of which :class:`MegadirFileSystem` is a subclass. ``find``, ``glob``, ``ls``, ``walk``
and ``du`` return the same, sooner: one listing by several threads instead of calls for each file. Needs fsspec.

    import fsspec
    fsspec.filesystem("megadir").find("/data/photos", detail=True)
    pandas.read_parquet("megadir:///data/tables/")

With ``inventory``, a file that :func:`megadir.scan` wrote, the tree of the inventory is not listed at all; its entries are those of the scan.

    fs = fsspec.filesystem("megadir", inventory="photos.parquet")

Where it differs from ``LocalFileSystem``: ``find`` and ``du`` pass errors in all directories to ``on_error``, not only in the first; ``du`` takes a broken
link for 0 bytes instead of raising an error; ``find`` and ``glob`` without ``detail`` return names in directories that may be listed but not
searched.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING

from . import _megadir, _rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Optional, Union

    from ._megadir import _OnError, _Path

    _Info = dict[str, Any]
    _Errors = Union[str, Callable[[OSError], object]]

    class LocalFileSystem:
        """What is used of fsspec, which has no types."""

        def __init__(self, auto_mkdir: bool = False, **options: Any) -> None: ...
        def ls(self, path: str, detail: bool = False, **options: Any) -> Any: ...
        def info(self, path: str, **options: Any) -> _Info: ...
        def find(
            self, path: str, maxdepth: Optional[int] = None, withdirs: bool = False, detail: bool = False, **options: Any
        ) -> Any: ...
        def glob(self, path: str, maxdepth: Optional[int] = None, **options: Any) -> Any: ...
        def isdir(self, path: str) -> bool: ...
        def isfile(self, path: str) -> bool: ...
        @classmethod
        def _strip_protocol(cls, path: Any) -> Any: ...

else:
    from fsspec.implementations.local import LocalFileSystem

__all__ = ["MegadirFileSystem"]

_DETAILS = ["path", "type", "inode", "size", "mtime", "ctime", "mode", "uid", "gid", "links", "errno"]
_NAMES = ["path", "type"]


class MegadirFileSystem(LocalFileSystem):
    """Local files, listed by megadir or from an inventory.

    ``inventory``: a file that :func:`megadir.scan` wrote, or a folder of parts, of one tree. ``root``: where that tree is now, if it has moved.
    """

    protocol = "megadir"

    def __init__(
        self,
        inventory: Optional[_Path] = None,
        root: Optional[_Path] = None,
        auto_mkdir: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(auto_mkdir=auto_mkdir, **options)
        if inventory is None and root is not None:
            raise ValueError("root: needs inventory, whose tree it replaces")
        self.inventory = None if inventory is None else os.path.abspath(os.fsencode(inventory))
        tree = b"" if self.inventory is None else _megadir.recorded_tree(self.inventory)
        self._tree = os.fsdecode(tree if root is None else os.path.abspath(os.fsencode(root)))
        self._rows: Optional[_megadir.Gathered] = None
        self._loading = threading.Lock()

    @property
    def fsid(self) -> str:
        """As of local files: equal paths are equal files."""
        return "local"

    @classmethod
    def _strip_protocol(cls, path: Union[str, os.PathLike[str], list[str]]) -> Any:
        """As in new versions of fsspec; those for Python 3.9 know only the protocols of their own class."""
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = os.fspath(path)
        for prefix in ("megadir://", "megadir:"):
            if text.startswith(prefix):
                text = text[len(prefix) :]
                break
        return super()._strip_protocol(text)

    def unstrip_protocol(self, name: str) -> str:
        """The path as an URL."""
        return f"megadir://{self._strip_protocol(name)}"

    def _covers(self, path: str) -> bool:
        """``False`` for links and what is below them: an inventory has no entries there."""
        if self.inventory is None or path == self._tree:
            return self.inventory is not None
        above = self._tree.rstrip("/")
        if not path.startswith(f"{above}/"):
            return False
        for name in path[len(above) + 1 :].split("/"):
            above = f"{above}/{name}"
            info = self._recorded().info_of(os.fsencode(above))
            if info is not None and info["islink"]:
                return False
        return True

    def _recorded(self) -> _megadir.Gathered:
        """Rows of the inventory. Each process reads them itself: fsspec pickles the arguments of a file system, not its state."""
        # Threads share an instance, which fsspec keeps in a cache.
        with self._loading:
            if self._rows is None:
                assert self.inventory is not None
                rows = _megadir.Gathered()
                # What the scan could not read has no entry, as on the disk.
                _rows.add(rows, self.inventory, os.fsencode(self._tree), _DETAILS, {}, on_error=_omitted)
                self._rows = rows
            return self._rows

    def info(self, path: str, **options: Any) -> _Info:
        """Details of one entry, of a link's target."""
        path = self._strip_protocol(path)
        if not self._covers(path) or path == self._tree:
            return super().info(path, **options)
        info = self._recorded().info_of(os.fsencode(path))
        if info is None:
            raise FileNotFoundError(2, "not in the inventory", path)
        return info

    def isdir(self, path: str) -> bool:
        """``True`` for a directory or a link to one."""
        path = self._strip_protocol(path)
        return self._is(path, "directory") if self._covers(path) else super().isdir(path)

    def isfile(self, path: str) -> bool:
        """``True`` for a regular file or a link to one."""
        path = self._strip_protocol(path)
        return self._is(path, "file") if self._covers(path) else super().isfile(path)

    def _is(self, path: str, kind: str) -> bool:
        try:
            return bool(self.info(path)["type"] == kind)
        except OSError:
            # A tree that is not here now, as on a machine that has only its inventory.
            return path == self._tree and kind == "directory"

    def ls(self, path: str, detail: bool = False, **options: Any) -> Any:
        """Entries of a directory, or the file itself: paths, or with ``detail`` their dictionaries."""
        path = self._strip_protocol(path)
        if self._covers(path):
            if not self.isdir(path):
                info = self.info(path)
                return [info] if detail else [info["name"]]
            infos, links = self._recorded().infos_in(os.fsencode(path))
            _follow(links)
            return infos if detail else [info["name"] for info in infos]
        try:
            if not detail:
                with _megadir.scandir(path) as entries:
                    return [entry.path for entry in entries]
            rows = _gathered(path, None, False, _DETAILS, None)
        except NotADirectoryError:
            return super().ls(path, detail=detail, **options)
        infos, links = rows.infos_in(os.fsencode(path))
        _follow(links)
        return infos

    def find(
        self,
        path: str,
        maxdepth: Optional[int] = None,
        withdirs: bool = False,
        detail: bool = False,
        on_error: _Errors = "omit",
        attributes: bool = True,
        **options: Any,
    ) -> Any:
        """Entries below a directory, sorted: paths, or with ``detail`` a dictionary of their dictionaries.

        ``maxdepth``: number of levels. ``withdirs``: with directories, and the directory itself. ``on_error``: "omit" what cannot be read,
        "raise", or a function that is called with each ``OSError``. With ``attributes=False`` the dictionaries have only the name, the type and whether
        it is a link. Links are not followed. Other options are those of fsspec, such as ``refresh``, and change nothing here as there.
        """
        report = _reporting(on_error)
        if maxdepth is not None and maxdepth < 1:
            raise ValueError("maxdepth must be at least 1")
        path = self._strip_protocol(path)
        if not self.isdir(path):
            # Not `None`, which fsspec takes for "omit".
            errors = "raise" if on_error is None else on_error
            found = super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, on_error=errors, **options)
            if detail and not attributes:
                return {name: _without_attributes(info) for name, info in found.items()}
            return found
        below = os.fsencode(path)
        if self._covers(path):
            rows = self._recorded()
        else:
            columns = _DETAILS if detail and attributes else _NAMES
            rows = _gathered(path, maxdepth, True, columns, report)
        if not detail:
            paths = rows.paths_below(below, maxdepth, withdirs)
            return [path, *paths] if withdirs else paths
        infos, links = rows.infos_below(below, maxdepth, withdirs)
        if attributes:
            _follow(links)
        if not withdirs:
            return infos
        own = {"name": path, "size": 0, "type": "directory", "islink": False}
        with contextlib.suppress(OSError):
            own = self.info(path)
        return {path: own, **infos}

    def glob(self, path: str, maxdepth: Optional[int] = None, **options: Any) -> Any:
        """Entries that match a pattern, as of fsspec; attributes are read only with ``detail``."""
        if not options.get("detail", False):
            options["attributes"] = False
        return super().glob(path, maxdepth=maxdepth, **options)

    def du(
        self,
        path: str,
        total: bool = True,
        maxdepth: Optional[int] = None,
        withdirs: bool = False,
        **options: Any,
    ) -> Union[int, dict[str, int]]:
        """Sum of the sizes below a path, or without ``total`` the size of each entry, bytes."""
        infos: dict[str, _Info] = self.find(path, maxdepth=maxdepth, withdirs=withdirs, detail=True, **options)
        sizes = {name: info["size"] or 0 for name, info in infos.items()}
        return sum(sizes.values()) if total else sizes


def _gathered(
    path: str, depth: Optional[int], recursive: bool, columns: list[str], report: _OnError
) -> _megadir.Gathered:
    rows, place = _megadir.Gathered(), os.fsencode(path)
    try:
        _rows.add(rows, None, place, columns, {"max_depth": depth}, recursive=recursive, on_error=report)
    except OSError as error:
        if report is None:
            raise
        # Of the directory itself.
        report(error)
    return rows


def _reporting(on_error: Optional[_Errors]) -> _OnError:
    """The function that is called with errors, or ``None`` if they are raised."""
    if callable(on_error):
        return on_error
    if on_error == "omit":
        return _omitted
    if on_error in (None, "raise"):
        return None
    raise ValueError(f"on_error: {on_error!r} is not 'omit', 'raise' or a function")


def _without_attributes(info: _Info) -> _Info:
    """As in a listing of names and types."""
    return {key: value if key in ("name", "type", "islink") else None for key, value in info.items() if key != "destination"}


def _omitted(_error: OSError) -> None:
    pass


def _follow(links: list[_Info]) -> None:
    """Links have the size of what they lead to, and 0 if it is not there."""
    for info in links:
        info["size"] = 0
        with contextlib.suppress(OSError):
            info["size"] = os.stat(info["name"]).st_size
        with contextlib.suppress(OSError):
            info["destination"] = os.readlink(info["name"])
