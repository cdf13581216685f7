"""Samples and classes of a folder of images, as of torchvision's ``ImageFolder``, from one listing or from an inventory.

:func:`find_classes` and :func:`make_dataset` return what the functions of the same names in ``torchvision.datasets.folder`` return, in the same
order. A subclass of ``ImageFolder`` uses them without further change:

    class Photos(torchvision.datasets.ImageFolder):
        def find_classes(self, directory):
            return megadir.torch.find_classes(directory)

        @staticmethod
        def make_dataset(directory, class_to_idx, extensions=None, is_valid_file=None, allow_empty=False):
            return megadir.torch.make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

With ``inventory``, a file that :func:`megadir.scan` wrote, nothing is listed; with ``refresh`` too, classes with changes since the scan are
listed, and the others come from the inventory, which must be of a scan without conditions. Links to directories are followed in either case.

Where it differs from torchvision: a directory that cannot be read raises an error, or is passed to ``on_error``, instead of being left out silently, and
so does a link to a directory above it, whose files torchvision returns again for each of up to 40 rounds. Needs neither torch nor torchvision.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from . import _contents, _megadir, _rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Optional, Union

    from ._megadir import _OnError, _Path

    _TextPath = Union[str, os.PathLike[str]]

__all__ = ["IMG_EXTENSIONS", "find_classes", "make_dataset"]

#: Those of torchvision.
IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

_COLUMNS = ["path", "type"]
_NOT_DIRECTORIES = ["file", "symlink", "fifo", "socket", "block-device", "char-device"]


def find_classes(
    directory: _TextPath, inventory: Optional[_Path] = None, refresh: bool = False
) -> tuple[list[str], dict[str, int]]:
    """Return the names of the directories in ``directory``, sorted, and the number of each.

    >>> import megadir.torch
    >>> megadir.torch.find_classes("photos")
    (['old'], {'old': 0})
    """
    directory = os.fspath(directory)
    _check_refresh(inventory, refresh)
    if inventory is None or refresh:
        with _megadir.scandir(directory) as entries:
            classes = sorted(entry.name for entry in entries if entry.is_dir())
    else:
        rows = _megadir.Gathered()
        given = {"type": ["directory", "symlink"]}
        links = set(_rows.add(rows, inventory, b"", _COLUMNS, given, recursive=False))
        rows.discard({link for link in links if not os.path.isdir(os.path.join(os.fsencode(directory), link[1:]))})
        classes = sorted(path[1:] for path in rows.paths_below(b"", 1, True))
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: number for number, name in enumerate(classes)}


def make_dataset(
    directory: _TextPath,
    class_to_idx: Optional[dict[str, int]] = None,
    extensions: Optional[Union[str, tuple[str, ...]]] = None,
    is_valid_file: Optional[Callable[[str], bool]] = None,
    allow_empty: bool = False,
    *,
    inventory: Optional[_Path] = None,
    refresh: bool = False,
    on_error: _OnError = None,
) -> list[tuple[str, int]]:
    """Return path and number of the class of each sample, sorted by class, directory and name.

    Without ``class_to_idx``, the classes are those of :func:`find_classes`; without ``extensions`` and ``is_valid_file``, samples have one
    of :data:`IMG_EXTENSIONS`. A class without samples is a ``FileNotFoundError`` unless ``allow_empty``. ``inventory`` must be of ``directory``, also if
    that has moved since the scan.

    >>> import megadir.torch
    >>> megadir.torch.make_dataset("photos")
    [('photos/old/c.jpg', 0)]
    """
    directory = os.path.expanduser(os.fspath(directory))
    _check_refresh(inventory, refresh)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory, inventory, refresh)
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if extensions is not None and is_valid_file is not None:
        raise ValueError("Both extensions and is_valid_file cannot be not None at the same time")
    if is_valid_file is not None:
        allowed = None
    else:
        extensions = IMG_EXTENSIONS if extensions is None else extensions
        allowed = [extensions] if isinstance(extensions, str) else [*extensions]
    samples = _collected(os.fsencode(directory), class_to_idx, (inventory, refresh), on_error).samples(
        os.fsencode(directory), class_to_idx, allowed
    )
    if is_valid_file is not None:
        samples = [sample for sample in samples if is_valid_file(sample[0])]
    start = len(os.path.join(directory, ""))
    empty = [] if allow_empty else sorted(set(class_to_idx) - _with_samples(samples, class_to_idx, start))
    if empty:
        hint = "" if allowed is None else f"Supported extensions are: {', '.join(allowed)}"
        raise FileNotFoundError(f"Found no valid file for the classes {', '.join(empty)}. {hint}")
    return samples


def _check_refresh(inventory: Optional[_Path], refresh: bool) -> None:
    if not refresh:
        return
    if inventory is None:
        raise ValueError("refresh: needs inventory")
    # Classes with changes are listed completely.
    if not _megadir.has_all_entries(inventory):
        raise ValueError(
            f"refresh: '{os.fsdecode(inventory)}' has only entries that met the conditions of its scan; scan without conditions, or leave out refresh"
        )


def _with_samples(samples: list[tuple[str, int]], class_to_idx: dict[str, int], start: int) -> set[str]:
    """Names of the classes that have samples; several classes may have one number."""
    if len(set(class_to_idx.values())) < len(class_to_idx):
        return {path[start:].split("/", 1)[0] for path, _ in samples}
    numbers = {number for _, number in samples}
    return {name for name, number in class_to_idx.items() if number in numbers}


def _collected(
    directory: bytes,
    class_to_idx: dict[str, int],
    recorded: tuple[Optional[_Path], bool],
    on_error: _OnError,
) -> _megadir.Gathered:
    """Rows of all entries that are no directories, and of those of the classes below links to directories."""
    rows = _megadir.Gathered()
    inventory, refresh = recorded
    for chosen in class_to_idx:
        if "/" in chosen or chosen in ("", ".", ".."):
            raise ValueError(f"class_to_idx: '{chosen}' is no name of a directory in {os.fsdecode(directory)}")

    wanted = {os.fsencode(chosen) for chosen in class_to_idx}

    def is_wanted(path: bytes, base: bytes) -> bool:
        """Whether the path is in one of the classes, or not below ``base``."""
        start = os.path.join(base, b"")
        return not path.startswith(start) or path[len(start) :].split(b"/", 1)[0] in wanted

    def report(error: OSError, base: bytes = directory) -> None:
        error = _rows.decoded(error)
        if error.filename is not None and not is_wanted(os.fsencode(error.filename), base):
            return
        if on_error is None:
            raise error
        on_error(error)

    def add(source: Optional[_Path], base: bytes, without: Optional[set[bytes]] = None) -> list[bytes]:
        # Errors of the scan have the path where it found the tree.
        top = directory if source is None else _megadir.recorded_tree(os.fsencode(source))
        given = {"type": _NOT_DIRECTORIES}
        return _rows.add(
            rows, source, base, _COLUMNS, given, without=without, on_error=lambda error: report(error, top)
        )

    listed = _changed(inventory, directory, report) if inventory is not None and refresh else set[bytes]()
    links = [link for link in add(inventory, directory, listed) if is_wanted(link, directory)]
    for name in sorted(listed & wanted):
        place = os.path.join(directory, name)
        if os.path.islink(place):
            links.append(place)
        elif os.path.isdir(place):
            links += add(None, place)
    followed = set[bytes]()
    visited: list[tuple[bytes, tuple[bytes, ...]]] = [(link, (os.path.realpath(directory),)) for link in links]
    while visited:
        link, above = visited.pop()
        if not os.path.isdir(link):
            continue
        followed.add(link)
        target, chain = os.path.realpath(link), (*above, os.path.realpath(os.path.dirname(link)))
        if any(place == target or place.startswith(target.rstrip(b"/") + b"/") for place in chain):
            report(OSError(errno.ELOOP, "a link to a directory above it", os.fsdecode(link)))
            continue
        visited += [(below, (*chain, target)) for below in add(None, link)]
    rows.discard(followed)
    return rows


def _changed(inventory: _Path, directory: bytes, on_error: _OnError) -> set[bytes]:
    """Names in the directory with changes in or below them since the scan."""
    answer = _megadir.changes(os.fsencode(inventory), directory, True, (None, None, None), None, {})
    changed = _contents.settled(answer, None, on_error)
    return set(_megadir.first_components(changed, ["path", "from"]))
