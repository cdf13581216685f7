"""Directories with very many entries: Arrow tables of their names and attributes, and operations on them.

>>> import megadir, pyarrow
>>> table = pyarrow.table(megadir.list("photos", columns=["name", "size"]))
>>> table.sort_by("name").to_pylist()
[{'name': 'a.jpg', 'size': 4}, {'name': 'b.jpg', 'size': 8}, {'name': 'old', 'size': ...}]

===============  =====================================================================================
``list``         names and attributes of a directory, a tree or an inventory, as an Arrow stream
``scandir``      entries of a directory, in the manner of ``os.scandir``
``files``        paths and sizes of the files of a tree or an inventory, as lists
``count``        number of entries; ``estimate`` within milliseconds
``sample``       uniform random sample of the entries
``scan``         writes an inventory of trees; ``changes`` compares trees with it
``compare``      compares a tree with its copy
``usage``        directories that hold the entries and the space
``limits``       how many more entries fit; ``advise`` recommends a layout, which ``Layout`` computes
``remove``       removes trees, or entries in them
===============  =====================================================================================

Modules: ``megadir.fsspec`` (file system ``megadir://``), ``megadir.torch`` and ``megadir.huggingface`` (folders of images),
``megadir.futures``, ``megadir.dask`` and ``megadir.ray`` (many processes and machines), ``megadir.records`` (benchmarks),
``megadir.pack`` (packs: files by path).

Functions that return a :class:`Stream` work with every library that has the Arrow PyCapsule interface: pyarrow, Polars, DuckDB
and pandas 3. The rows are read as the library takes them, by several threads, in bounded memory, and without the
interpreter's lock.

Names are ``str``, decoded as by ``os.fsdecode``, or ``bytes`` if the path was given as ``bytes``. Arrow has no
column for text that is not UTF-8: if a tree has such names, pass its path as ``bytes``. Sizes are in bytes.

**Conditions** are the same keyword arguments in each function. An entry must meet all of them:

* ``type``: name of a type, or several: file, directory, symlink, fifo, socket, block-device, char-device
* ``match``: glob, or several, of which one must match the name
* ``path_match``: glob, or several, of which one must match the path below the directory
* ``exclude``: glob, or several; what matches is left out with everything below it
* ``max_depth``: deepest level; the entries of the directory itself have level 1
* ``older_than``, ``newer_than``: age, as text such as ``"30d"`` or as ``datetime.timedelta``; or date, as text such as
  ``"2026-11-01"`` or as ``datetime.datetime``
* ``by``: time that ages are taken from: mtime (default), atime, use (the later of these two), ctime, btime
* ``larger_than``, ``smaller_than``: size, as text such as ``"4KiB"``, ``"10MB"`` or ``"1B"``
* ``owner``: number or name of a user

Ages and sizes need a unit. A bare number, such as ``older_than=30``, is a ``TypeError`` that names what to write.

**Attributes** such as sizes and times are read by the method that suits the file system. ``stat_backend`` names another, for root:
``"ext4-device"``, ``"xfs-bulkstat"`` or ``"btrfs-search"`` read many inodes at once, from a mounted ext4, XFS or btrfs (``megadir backends PATH`` lists
all and says which are available). Where it is unavailable, ``OSError`` or ``PermissionError`` says why; an unknown name is a ``ValueError``.

**Errors** are ``OSError`` and its subclasses, with ``errno`` and ``filename``; a wrong argument, or a file that is no inventory, is a ``ValueError`` or a
``TypeError``. An error below the directory, such as a subdirectory that may not be read, is raised too, unless
``on_error`` is given: that function is then called with the exception, and the work goes on. Libraries that read a
:class:`Stream` replace exceptions by their own and keep the text.

**Progress**: ``progress`` is called at most 20 times a second, and at the end, with the number of entries so far; ``progress=True`` shows a bar of
tqdm. Ctrl-C ends the
work at the next buffer of entries.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from . import _contents, _megadir, _program, _progress, _rows, pack, records
from ._contents import Hashes, Rotten, RottenError, Verified
from ._megadir import Batch, DirEntry, Layout, ScandirIterator, Stream, __version__, scandir

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Sequence
    from datetime import datetime, timedelta
    from typing import Any, Optional, TypedDict, Union

    from typing_extensions import Unpack

    from ._megadir import _OnError, _Path, _Paths
    from ._progress import _Given as _Progress

    _Texts = Union[str, Sequence[str]]
    _Words = builtins.list[Union[str, bytes]]
    _Time = Union[str, timedelta]
    _Moment = Union[str, timedelta, datetime]

    class Conditions(TypedDict, total=False):
        """Keyword arguments that select entries."""

        type: Optional[_Texts]
        match: Optional[_Texts]
        path_match: Optional[_Texts]
        exclude: Optional[_Texts]
        max_depth: Optional[int]
        older_than: Optional[_Moment]
        newer_than: Optional[_Moment]
        by: Optional[str]
        larger_than: Optional[str]
        smaller_than: Optional[str]
        owner: Optional[Union[int, str]]


__all__ = [
    "Batch",
    "Comparison",
    "DirEntry",
    "Estimate",
    "Files",
    "Hashes",
    "Kept",
    "Layout",
    "Removed",
    "Rotten",
    "RottenError",
    "Sample",
    "ScandirIterator",
    "Scanned",
    "Stream",
    "Verified",
    "__version__",
    "advise",
    "changes",
    "compare",
    "count",
    "estimate",
    "files",
    "limits",
    "list",
    "pack",
    "records",
    "remove",
    "sample",
    "scan",
    "scandir",
    "usage",
]


class Estimate(NamedTuple):
    """Estimated number of entries."""

    entries: int
    """Most likely number."""
    low: int
    """Lower end of the 95 % interval; equals the number if it is exact."""
    high: int
    """Upper end of the 95 % interval."""
    basis: str
    """Evidence, in one sentence."""


class Comparison(NamedTuple):
    """Result of :func:`compare`: differences, and numbers of entries."""

    differences: Stream
    """Differences, sorted by path."""
    agreeing: int
    """Number of entries that both sides have, equal in all properties."""
    missing: int
    """Number of entries that only ``a`` has."""
    extra: int
    """Number of entries that only ``b`` has."""
    differing: int
    """Number of entries that both sides have and that differ."""
    unreadable: int
    """Number of entries that a side could not read completely."""
    below_unread: int
    """Number of entries below directories that only the other side could read."""
    below_mounts: int
    """Number of entries below mounts that the other side did not enter."""
    mounts: int
    """Number of mounts that a side did not enter."""
    complete: bool
    """``True`` if everything could be compared."""


class Files(NamedTuple):
    """Result of :func:`files`: two lists of one length."""

    paths: builtins.list[str]
    """Whole paths, sorted; decoded as by ``os.fsdecode``."""
    sizes: builtins.list[Optional[int]]
    """Sizes, bytes; ``None`` if an inventory does not have it."""


class Sample(NamedTuple):
    """Result of :func:`sample`."""

    paths: builtins.list[Union[str, bytes]]
    """Paths below ``path``, sorted by their bytes."""
    entries: int
    """Number of entries that the sample is of."""
    seed: int
    """Seed that repeats the sample while the entries stay the same."""


class Scanned(NamedTuple):
    """Result of :func:`scan`."""

    rows: int
    """Number of rows in the inventory."""
    failed: int
    """Number of rows with an error."""
    unread_directories: int
    """Number of directories that could not be read completely."""
    bytes: int
    """Size of the inventory, bytes."""
    hashes: Optional[Hashes] = None
    """Contents that were hashed, with ``hash``."""


class Kept(NamedTuple):
    """Budget of :func:`remove` with ``keep_within``, and what the directory holds afterwards, in a dry run what it would hold."""

    measure: str
    """Unit of ``limit`` and ``now``: bytes or files."""
    is_of_free: bool
    """``True`` if the budget is free space or free inodes."""
    limit: int
    """Most that the directory may hold, or least that has to be free."""
    now: int
    """What the directory holds, or what is free."""
    is_met: bool
    """``True`` if the rest fits, and everything could be read."""
    is_out_of_reach: bool
    """``True`` if nothing was removed because no removal could reach the budget."""
    frees_nothing: bool
    """``True`` if the removal ended because what went freed next to nothing, as with snapshots."""
    held_files: int
    """Number of regular files before."""
    held_bytes: int
    """Their space on disk, bytes."""
    linked_files: int
    """Number of files with several names, which stay."""
    linked_bytes: int
    """Their space on disk, bytes."""
    changed: int
    """Number of selected files that stay, because they were used or changed meanwhile."""
    unread: int
    """Number of directories and entries that could not be read."""
    access_times: str
    """Accesses that the mount records: recorded, seldom (relatime: at most once a day) or never (noatime)."""


class Removed(NamedTuple):
    """Result of :func:`remove`: removed entries, in a dry run those that would be removed."""

    entries: int
    """Number of entries that are no directories."""
    directories: int
    """Number of directories."""
    bytes: int
    """Space of the entries on disk, bytes, if attributes were read: in a dry run, and with conditions on them."""
    failures: int
    """Number of entries that could not be removed."""
    mounts: int
    """Number of mount points among these, which are not entered."""
    directories_kept: int
    """Number of directories that stay because something in them could not be removed."""
    complete: bool
    """``True`` if everything requested is gone; with ``keep_within``, if the rest fits too."""
    budget: Optional[Kept] = None
    """The budget, with ``keep_within``."""


def list(
    path: _Path = ".",
    *,
    columns: Optional[_Texts] = None,
    recursive: bool = False,
    cross_mounts: bool = False,
    stat_backend: Optional[str] = None,
    on_error: _OnError = None,
    progress: _Progress = None,
    **conditions: Unpack[Conditions],
) -> Stream:
    """List a directory, or with ``recursive`` the tree below it.

    ``path`` may be an inventory of one tree, a file that :func:`scan` wrote or a folder of parts: then its rows are listed, and the tree is not read.

    Columns, one or several: ``name``; ``path`` and ``parent`` (of the entry and of its directory, below ``path``); ``type``; ``inode``; ``size`` and
    ``allocated`` (bytes); ``mtime``, ``ctime``, ``btime``, ``atime`` (nanoseconds, UTC); ``mode``, ``uid``, ``gid``, ``links``;
    ``errno`` (of an entry whose attributes could not be read). Without ``columns``: ``name``, or with ``recursive``
    ``path``. A column from ``size`` on costs a system call for each entry. A value that the file system
    does not have is null.

    Entries come in the order of the directory. Those that exist all the time are listed exactly once. Symbolic links are
    not followed, mounted file systems are entered with ``cross_mounts`` only. Memory: about 10 MB and the batches that
    the consumer keeps.

    >>> sorted(pyarrow.table(megadir.list("photos", match="*.jpg"))["name"].to_pylist())
    ['a.jpg', 'b.jpg']
    >>> sum(len(batch) for batch in megadir.list("photos", recursive=True))
    4
    >>> megadir.list("missing")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'missing'
    """
    names = [columns] if isinstance(columns, str) else None if columns is None else [*columns]
    given: dict[str, Any] = {**conditions}
    callbacks = (on_error, _progress.of_stream(progress))
    return _megadir.list((path, None), names, recursive, (cross_mounts, stat_backend), callbacks, given)


def files(
    path: Union[str, os.PathLike[str]] = ".",
    *,
    inventory: Optional[_Path] = None,
    cross_mounts: bool = False,
    on_error: _OnError = None,
    **conditions: Unpack[Conditions],
) -> Files:
    """Return the paths and sizes of the regular files in a tree, sorted, for libraries that would search it again.

    With ``inventory``, those of an inventory of ``path``, also if the tree has moved since the scan. If ``path`` itself is an inventory, those of its
    tree, where the scan found it.

    >>> megadir.files("photos", match="*.jpg", larger_than="4B")
    Files(paths=['photos/b.jpg'], sizes=[8])
    """
    given: dict[str, Any] = {"type": "file", **conditions}
    rows, base = _megadir.Gathered(), os.fsencode(path)
    if inventory is None and _megadir.is_inventory(base):
        inventory, base = base, _megadir.recorded_tree(base)
    if inventory is not None and cross_mounts:
        raise ValueError(f"cross_mounts: '{os.fsdecode(inventory)}' is an inventory, and is not read by a walk")
    _rows.add(rows, inventory, base, ["path", "type", "size"], given, on_error=on_error, cross_mounts=cross_mounts)
    paths, sizes, _ = rows.paths_sizes_times()
    return Files(paths, sizes)


def count(
    path: _Path = ".",
    *,
    recursive: bool = False,
    cross_mounts: bool = False,
    stat_backend: Optional[str] = None,
    on_error: _OnError = None,
    progress: _Progress = None,
    **conditions: Unpack[Conditions],
) -> int:
    """Count the entries of a directory, or with ``recursive`` of the tree below it, without the directory itself.

    >>> megadir.count("photos"), megadir.count("photos", recursive=True, type="file")
    (3, 3)
    """
    with _progress.during(progress) as function:
        return _megadir.count(path, recursive, (cross_mounts, stat_backend), (on_error, function), {**conditions})


def estimate(path: _Path = ".") -> Estimate:
    """Estimate the number of entries of a directory within milliseconds.

    Works on ext4, XFS, btrfs and tmpfs, and in small directories everywhere; elsewhere it raises ``OSError`` with the errno
    ``EOPNOTSUPP``. The interval does not hold for crafted names.

    >>> megadir.estimate("photos").entries
    3
    """
    return Estimate(*_megadir.estimate(path))


def sample(
    path: _Path,
    n: int,
    *,
    seed: Optional[int] = None,
    recursive: bool = False,
    cross_mounts: bool = False,
    on_error: _OnError = None,
    progress: _Progress = None,
    **conditions: Unpack[Conditions],
) -> Sample:
    """Draw a uniform random sample of ``n`` entries of a directory, a tree or an inventory, or all if there are fewer.

    All samples of ``n`` entries are equally probable. The listing is read once, without attributes unless conditions need them, and only ``n``
    paths are in memory, at most a million. The same ``seed`` and the same entries give the same sample, which is also that of
    ``megadir list --sample``; without ``seed``, a random one is drawn.

    >>> megadir.sample("photos", 2, seed=1, recursive=True, type="file").entries
    3
    """
    drawn = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    with _progress.during(progress) as function:
        callbacks, access = (on_error, function), (cross_mounts, None)
        paths, entries = _megadir.sample(path, (n, drawn), recursive, access, callbacks, {**conditions})
    return Sample(paths, entries, drawn)


def scan(
    paths: _Paths,
    output: _Path,
    *,
    hash: Optional[str] = None,
    read_rate: Optional[str] = None,
    read_threads: Optional[int] = None,
    cross_mounts: bool = False,
    stat_backend: Optional[str] = None,
    on_error: _OnError = None,
    progress: _Progress = None,
    **conditions: Unpack[Conditions],
) -> Scanned:
    """Write an inventory of trees: a Parquet file with a row for each entry, as the command ``megadir scan`` does.

    The file is replaced at the end, by renaming: it is complete, or as before. What cannot be read below a tree is a row with
    an error. Memory: at most 256 MiB for rows that wait to be sorted, then temporary files beside the output.

    ``hash="all"`` reads the contents of every file once and stores their hashes, for ``changes(..., verify=...)``: a later scan to the same file
    reads only what changed, and one that was interrupted continues. ``hash="suspects"`` reads files only that were modified right before the scan
    or during it. ``read_rate``, such as ``"50MB/s"``, limits the reading of contents; ``read_threads`` files are read at a time (1).
    A file whose contents cannot be read has no hash and is counted in ``hashes.unreadable``; ``on_error`` is called at the end with each (the first 1000).

    >>> megadir.scan("photos", "photos.parquet").rows
    5
    >>> megadir.scan("photos", "photos.parquet", hash="all", read_rate="50MB/s").hashes.hashed
    3
    """
    access, reading = (cross_mounts, stat_backend), (hash, read_rate, read_threads)
    with _progress.during(progress) as function:
        scanned = _megadir.scan(paths, output, access, reading, (on_error, function), {**conditions})
    return Scanned(*scanned[:4], None if scanned[4] is None else Hashes(*scanned[4]))


def changes(
    inventory: _Path,
    path: Optional[_Path] = None,
    *,
    any_root: bool = False,
    verify: Optional[str] = None,
    read_rate: Optional[str] = None,
    read_threads: Optional[int] = None,
    on_verified: Optional[Callable[[Verified], object]] = None,
    on_error: _OnError = None,
    progress: _Progress = None,
    **conditions: Unpack[Conditions],
) -> Stream:
    """Compare trees with their inventory, a file or a folder of parts.

    ``path`` is the tree today, or a newer inventory; without it, the trees are where the inventory found them. With ``any_root``
    it may be another directory than the one scanned, such as a copy. A change is reported if the entry meets the conditions before or
    after it; those of the inventory's scan apply as well.

    Columns: ``kind`` (added, removed, modified, renamed, type-changed, suspect), ``root`` (index of the tree), ``path`` and ``from``
    (old path of a renamed entry) below it, ``fields`` (names of what differs, joined by commas), ``suspect`` (the contents
    may have changed without a trace in the times), ``type``, ``size``, ``mtime``, ``old_size``, ``old_mtime``.
    All changes are in memory when the function returns.

    ``verify="suspects"`` decides suspects by the hashes in the inventory. ``verify="all"`` also reads every file again that ``scan(..., hash="all")``
    hashed, and ``verify="1/30"`` another thirtieth of them each day (UTC; ``"1/30@7"``: that of day 7). A file of the same size, times and
    inode number whose contents differ was changed by no program: it is rotten, which is no change and no row. Rotten files raise
    :class:`RottenError` instead of other failures, which it has in ``failures`` unless ``on_error`` was called with them. If ``on_verified``
    is given, that function is called once instead, with a :class:`Verified`. ``read_rate`` and ``read_threads`` are as for :func:`scan`.

    >>> import pathlib
    >>> _ = megadir.scan("photos", "photos.parquet")
    >>> _ = pathlib.Path("photos/c.jpg").write_bytes(b"new")
    >>> changes = pyarrow.table(megadir.changes("photos.parquet")).select(["kind", "path"])
    >>> {'kind': 'added', 'path': 'c.jpg'} in changes.to_pylist()
    True
    """
    if on_verified is not None and verify in (None, "suspects"):
        msg = "on_verified: nothing is verified without verify='all' or a share such as verify='1/30'"
        raise ValueError(msg)
    reading = (verify, read_rate, read_threads)
    with _progress.during(progress) as function:
        answer = _megadir.changes(inventory, path, any_root, reading, function, {**conditions})
    return _contents.settled(answer, on_verified, on_error)


def compare(
    a: _Path,
    b: _Path,
    *,
    by: _Texts = ("size", "mtime"),
    exclude: Optional[_Texts] = None,
    cross_mounts: bool = False,
    stat_backend: Optional[str] = None,
    progress: _Progress = None,
) -> Comparison:
    """Compare a tree ``a`` with its copy ``b``, each a directory or an inventory: is the copy complete?

    Entries are compared by their path below ``a`` and ``b``, by type, and ``by`` these properties: size, mtime, mode, owner, target (of symbolic links),
    contents. Contents are read only if everything else agrees. What matches the glob ``exclude`` is left out on both sides, with everything below it.
    What could not be compared raises nothing: ``complete`` is ``False`` then, and unreadable entries are rows.

    Columns of ``differences``: ``kind`` (missing: only ``a`` has it; extra: only ``b`` has it; differs; unreadable), ``root`` (index of the tree), ``path``,
    ``fields`` (names of what differs, joined by commas), ``side`` and ``error`` (of an unreadable entry), and ``a_type``, ``a_size``, ``a_mtime``, ``b_type``,
    ``b_size``, ``b_mtime``. All differences are in memory when the function returns.

    >>> import shutil
    >>> _ = shutil.copytree("photos", "copy")
    >>> megadir.remove("copy/a.jpg").complete
    True
    >>> compared = megadir.compare("photos", "copy", by=["size", "contents"])
    >>> pyarrow.table(compared.differences).select(["kind", "path"]).to_pylist(), compared.agreeing, compared.complete
    ([{'kind': 'missing', 'path': 'a.jpg'}], 3, True)
    """
    properties = [by] if isinstance(by, str) else [*by]
    access, given = (cross_mounts, stat_backend), {"exclude": exclude}
    with _progress.during(progress) as function:
        differences, numbers, complete = _megadir.compare((a, b), properties, access, function, given)
    return Comparison(differences, *numbers, complete)


def usage(
    paths: _Paths,
    *,
    top: int = 20,
    depth: Optional[int] = None,
    order: str = "entries",
    cross_mounts: bool = False,
    stat_backend: Optional[str] = None,
    on_error: _OnError = None,
    progress: _Progress = None,
    **conditions: Unpack[Conditions],
) -> Stream:
    """Find the directories that hold the entries and the space, in trees or in an inventory.

    A directory with the file ``megadir-parts.json`` is an inventory in parts. The first rows are the trees, with an empty ``path``; then come the ``top`` directories, at most ``depth`` levels below,
    in the ``order`` of entries, allocated, apparent, newest or oldest.

    Columns: ``root`` (index of the tree), ``path``, ``depth``, ``entries``, ``inodes`` (hard links count once), ``directories``,
    ``allocated`` and ``apparent`` (bytes), ``newest`` and ``oldest`` (modification, UTC).

    >>> pyarrow.table(megadir.usage("photos", top=1)).select(["path", "entries"]).to_pylist()
    [{'path': '', 'entries': 4}, {'path': 'old', 'entries': 1}]
    """
    access = (cross_mounts, stat_backend)
    with _progress.during(progress) as function:
        return _megadir.usage(paths, (top, depth, order), access, (on_error, function), {**conditions})


def limits(path: _Path = ".", *, churn: bool = False, count: bool = False) -> dict[str, Any]:
    """Predict how many more entries fit into a directory, and what runs out first.

    ``churn``: names come and go instead of staying. ``count``: count the entries instead of estimating them.

    Keys: ``file_system``; ``entries``, ``entries_until_full`` (likely number, and the ends of the 95 % interval, or ``None``);
    ``runs_out_first``; ``limits`` (nearest first: ``limit``, ``more``, ``used`` as a share, ``basis``); ``traps`` (name and text).

    >>> likely, low, high = megadir.limits("photos")["entries_until_full"]
    >>> low <= likely <= high
    True
    """
    return _megadir.limits(path, churn, count)


def advise(
    path: _Path = ".",
    *,
    files: Optional[int] = None,
    name_length: Optional[Union[int, str]] = None,
    like: Optional[_Path] = None,
    size: Optional[str] = None,
    writers: Optional[int] = None,
    churn: bool = False,
    pattern: str = "mixed",
    time: _Time = "0s",
) -> dict[str, Any]:
    """Recommend a layout for many files below a directory: one directory, or directories named after a digest.

    ``files``: total number of files (default: the present number). ``name_length``: lengths of the names in bytes, such as 32 or
    ``"8-64"``, and ``size`` of each file, such as ``"10kB"``; or ``like``: a directory with such names and files (default: as in ``path``).
    ``writers``: threads or processes that create files at the same time (default: 1). ``churn``: names come and go.
    ``pattern``: main operation, one of read, write, walk, mixed. ``time``, such as ``"5m"`` or a ``timedelta``, is for measuring the
    candidates in a new directory below ``path``, which is removed afterwards; ``"0s"`` measures and writes nothing.

    Returns the fields of ``megadir advise --json``, which this function runs, among them ``layout`` (``name``, ``levels``,
    ``directories``, ``files_per_directory``), ``rule``, ``reason``, ``changes`` and, after a measurement, ``measured``.

    >>> advice = megadir.advise("photos", files=1000, name_length=32)
    >>> advice["layout"]["name"], advice["not_measured"]
    ('flat', '--time 0s')
    >>> megadir.Layout(advice["layout"]["name"]).path("abcdef")
    'abcdef'
    """
    os.scandir(path).close()
    words: _Words = ["advise", "--json", f"--pattern={pattern}"]
    words.append(f"--time={_megadir.duration_s('time', time):.0f}s")
    size_bytes = None if size is None else _megadir.size_bytes("size", size)
    options = {"files": files, "name-length": name_length, "size": size_bytes, "writers": writers}
    words += [f"--{option}={value}" for option, value in options.items() if value is not None]
    if churn:
        words.append("--churn")
    if like is not None:
        words += ["--like", os.path.abspath(os.fsencode(like))]
    return _program.ask([*words, os.path.abspath(os.fsencode(path))], path)


def remove(
    path: _Path,
    *,
    contents: bool = False,
    keep_within: Optional[str] = None,
    dry_run: bool = False,
    on_error: _OnError = None,
    progress: _Progress = None,
    **conditions: Unpack[Conditions],
) -> Removed:
    """Remove a file, or a directory with everything in it; with ``contents``, only what is in it.

    With conditions, the entries that meet them are removed, and the directory itself stays. Every entry is reached relative to
    an open directory, and no symbolic link is followed. Mounted file systems are not entered. The current directory,
    those above it, and paths that end in ``.`` or ``..`` are refused with ``ValueError``.

    An entry that cannot be removed does not end the work. Afterwards ``on_error`` is called with each failure (the first 1000),
    or the first is raised. After Ctrl-C or a crash, run it again to continue.

    ``keep_within`` is a budget for a directory: ``"50GB"``, ``"100k files"``, ``"10% free"`` or ``"5% free inodes"``. The regular files that were not used
    for the longest time go, until the rest fits; ``by`` names another time than the last use. Conditions protect the files that do not
    meet them: with ``older_than="1h"`` no file goes that was used within the last hour. Directories stay, and files with several names.

    >>> megadir.remove("photos", match="*.jpg", dry_run=True).entries
    3
    >>> import time
    >>> time.sleep(0.05)    # no file goes that was written while the removal began
    >>> megadir.remove("photos", keep_within="2 files").budget.now
    2
    >>> megadir.remove("photos").complete
    True
    """
    with _progress.during(progress) as function:
        callbacks = (on_error, function)
        removed = _megadir.remove(path, contents, keep_within, dry_run, callbacks, {**conditions})
    counts, kept = removed[:7], removed[7]
    if kept is None:
        return Removed(*counts)
    unit, amounts, flags, before, access_times = kept
    return Removed(*counts, Kept(*unit, *amounts, *flags, *before, access_times))
