"""Packs: trees with very many files as a few tar files with an index (docs/pack.md), read by path.

>>> import megadir.pack
>>> megadir.pack.create("photos", "packed").entries
5
>>> pack = megadir.pack.open("packed")
>>> pack["a.jpg"], "old/c.jpg" in pack, len(pack)
(b'aaaa', True, 3)
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, overload

from . import _megadir, _progress
from ._megadir import PackError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, Optional, TypeVar, Union

    from typing_extensions import Unpack

    from . import Conditions
    from ._megadir import Stream, _OnError, _Path
    from ._progress import _Given as _Progress

    _Default = TypeVar("_Default")
    _OnProblem = Optional[Callable[[Union[OSError, PackError]], object]]

__all__ = ["Created", "Pack", "PackError", "Place", "Verified", "create", "open", "verify"]


class Place(NamedTuple):
    """Where the contents of a file are, of :meth:`Pack.place`."""

    shard: str
    """Path of the tar file."""
    offset: int
    """First byte of the contents in it."""
    length: int
    """Length of the contents, bytes."""


class Created(NamedTuple):
    """Result of :func:`create`."""

    entries: int
    """Number of entries in the pack; each name of a file with several counts."""
    shards: int
    """Number of tar files."""
    bytes: int
    """Length of the tar files, bytes."""
    failed: int
    """Number of entries that are not in the pack, and of directories that could not be read."""


class Verified(NamedTuple):
    """Result of :func:`verify`."""

    entries: int
    """Number of entries that are as the index has them."""
    bytes: int
    """Length of their contents, bytes; of a file with several names once."""
    problems: int
    """Number of problems."""


class Pack(Mapping[str, bytes]):
    """The files of a pack: a mapping from path to contents, of :func:`open`.

    Keys are paths below the packed tree: ``str``, ``bytes`` or objects with a path. Names that are not UTF-8 are decoded as by ``os.fsdecode``.
    Every read is compared with the SHA-256 that was computed when the file was packed; damage raises :class:`PackError`. Threads may
    share a pack, and read without the interpreter's lock. It can be pickled: another process opens it again by its path.
    """

    __slots__ = ("_check", "_members", "_path")

    def __init__(self, path: _Path, check: bool = True) -> None:
        # Shards are opened when they are needed, whatever the current directory is by then. Not by abspath, for which `link/..` is `.`.
        self._path = os.path.join(os.getcwd(), os.fsdecode(path))
        self._check = check
        self._members = _megadir.Members(self._path, check)

    def __reduce__(self) -> tuple[type[Pack], tuple[str, bool]]:
        return (type(self), (self._path, self._check))

    def __repr__(self) -> str:
        return f"<megadir.pack.Pack {self._path!r}: {len(self)} files>"

    def __getitem__(self, name: _Path) -> bytes:
        contents = self._members.read(name)
        if contents is None:
            raise KeyError(name)
        return contents

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[str]:
        """Paths in the order of the index: by directory, then by name."""
        return self._members.paths()

    @overload
    def get(self, name: _Path, /) -> Optional[bytes]: ...
    @overload
    def get(self, name: _Path, /, default: Union[bytes, _Default]) -> Union[bytes, _Default]: ...
    def get(self, name: _Path, /, default: Any = None) -> Any:
        """Contents of a file, or ``default`` if the pack does not have it."""
        contents = self._members.read(name)
        return default if contents is None else contents

    def place(self, name: _Path) -> Place:
        """Return where the contents of a file are, for reads of parts: ``os.pread(descriptor, length, offset)``.

        The contents are not compared with their SHA-256. The file is looked up as by ``pack[name]``: a missing one is a ``KeyError``.
        """
        place = self._members.place(name)
        if place is None:
            raise KeyError(name)
        return Place(*place)

    def table(
        self, *, columns: Optional[Union[str, Sequence[str]]] = None, on_error: _OnError = None, **conditions: Unpack[Conditions]
    ) -> Stream:
        """Return the entries in the index as an Arrow stream, as :func:`megadir.list` of an inventory: same columns, same conditions.

        Without ``columns``: ``path``, ``type`` and ``size``. Directories and links are rows too; ``type="file"`` leaves them out.
        """
        names = [columns] if isinstance(columns, str) else ["path", "type", "size"] if columns is None else [*columns]
        given: dict[str, Any] = {**conditions}
        source = (self._members.index(), True)
        return _megadir.list(source, names, True, (False, None), (on_error, None), given)

    def samples(self, *, by_path: bool = False) -> Iterator[dict[str, Any]]:
        """Iterate over samples, in the manner of webdataset: files that follow each other and have the same path up to the first dot of the name.

        A sample is a dictionary: ``"__key__"`` is that path, and the rest of the name in lower case, such as ``"jpg"``, has the contents. Files
        without a dot, or with one at the beginning of the name, belong to no sample. Two files of a sample with the same rest are a ``ValueError``.

        Files come in the order in which they lie in the tar files, which are then read from beginning to end: usually the order in which they were
        created. Where the files of a sample were not created one after the other, ``by_path`` has them together: it takes the order of paths.
        """
        files = ((path, self[path]) for path in self) if by_path else self._members.in_order()
        sample: dict[str, Any] = {}
        for path, contents in files:
            directory, slash, name = path.rpartition("/")
            stem, _, ending = name.partition(".")
            if not stem or not ending:
                continue
            key, ending = f"{directory}{slash}{stem}", ending.lower()
            if sample.get("__key__") != key:
                if sample:
                    yield sample
                sample = {"__key__": key}
            if ending in sample:
                raise ValueError(f"'{path}': the sample '{key}' has '{ending}' already")
            sample[ending] = contents
        if sample:
            yield sample


def open(path: _Path, *, check: bool = True) -> Pack:
    """Open a pack by its directory or its ``index.parquet``. The index is read once; each file then takes about 72 bytes of memory.

    ``check=False`` is for a pack that was verified: contents are not compared with their SHA-256, which takes most of the time of a read that does
    not wait for the disk. Headers and places still are.

    >>> import megadir.pack
    >>> _ = megadir.pack.create("photos", "packed")
    >>> pack = megadir.pack.open("packed")
    >>> dict(pack) == {"a.jpg": b"aaaa", "b.jpg": b"bbbbbbbb", "old/c.jpg": b"c"}
    True
    >>> pack["missing.jpg"]
    Traceback (most recent call last):
    KeyError: 'missing.jpg'
    >>> [sample["__key__"] for sample in pack.samples(by_path=True)]
    ['a', 'b', 'old/c']
    """
    return Pack(path, check)


def create(
    source: _Path,
    pack: _Path,
    *,
    shard_size: str = "1GiB",
    on_error: _OnError = None,
    progress: _Progress = None,
) -> Created:
    """Pack a tree into tar files of at most ``shard_size`` with an index, as the command ``megadir pack create`` does. The tree is not changed.

    ``pack`` is a new or empty directory, or that of a pack of the same tree that was interrupted, which is continued. The index is written last: without
    it there is no pack.

    An entry that cannot be packed does not end the work. Afterwards ``on_error`` is called with each failure (the first 1000), or the first is
    raised; the pack is complete otherwise.

    >>> import megadir.pack
    >>> megadir.pack.create("photos", "packed", shard_size="64KiB").shards
    1
    """
    shard_bytes = _megadir.size_bytes("shard_size", shard_size)
    with _progress.during(progress) as function:
        return Created(*_megadir.create_pack(source, pack, shard_bytes, (on_error, function)))


def verify(
    pack: _Path, source: Optional[_Path] = None, *, on_error: _OnProblem = None, progress: _Progress = None
) -> Verified:
    """Read a whole pack and compare it with its index, and the index with the tree ``source`` if it is given, as ``megadir pack verify`` does.

    A problem does not end the work. Afterwards ``on_error`` is called with each (the first 1000), or the first is raised: :class:`PackError`, or
    ``OSError`` for what cannot be read.

    >>> import megadir.pack
    >>> _ = megadir.pack.create("photos", "packed")
    >>> megadir.pack.verify("packed", "photos")
    Verified(entries=5, bytes=13, problems=0)
    """
    with _progress.during(progress) as function:
        return Verified(*_megadir.verify_pack(pack, source, (on_error, function)))
