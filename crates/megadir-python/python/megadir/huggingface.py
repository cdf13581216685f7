"""Data files for ``datasets.load_dataset``, found by one listing or in an inventory.

``load_dataset("imagefolder", data_dir=...)`` searches the tree with each of 65 patterns, and then calls stat for each file.
:func:`data_files` returns what it would find, with the times by which ``datasets`` recognizes files in its cache:

    import datasets, megadir.huggingface
    files = megadir.huggingface.data_files("/data/photos")
    photos = datasets.load_dataset("imagefolder", data_files=files)

Needs datasets.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import re
import warnings
from typing import TYPE_CHECKING

from . import _megadir, _rows

if TYPE_CHECKING:
    from typing import Any, Optional, Union

    from ._megadir import _OnError, _Path

__all__ = ["data_files"]

_COLUMNS = ["path", "type", "size", "mtime", "errno"]


def data_files(
    directory: Union[str, os.PathLike[str]],
    *,
    split: Optional[str] = None,
    inventory: Optional[_Path] = None,
    on_error: _OnError = None,
) -> Any:
    """Return the files of a directory as ``datasets.data_files.DataFilesDict``: split -> paths.

    Without ``split``, files are chosen as ``datasets`` does by itself: if names of directories or files contain words such as train, test, val or
    dev, only the files with such names are in the dataset, in these splits. With ``split``, all files are in that split; a class that is called
    ``train`` or ``test`` needs it. Hidden files and those in directories that begin with two underscores are left out, as are
    ``README.md`` and ``config.json``.

    A directory that cannot be read raises an error, or is passed to ``on_error``; ``datasets`` leaves out its files silently.
    ``inventory`` must be of ``directory``, also if that has moved since the scan.
    """
    resolving: Any = importlib.import_module("datasets.data_files")
    base = pathlib.Path(directory).expanduser().resolve().as_posix()
    rows, place = _megadir.Gathered(), os.fsencode(base)
    given = {"type": ["file", "symlink"]}
    links = _rows.add(rows, inventory, place, _COLUMNS, given, on_error=on_error)
    rows.discard({link for link in links if not os.path.isfile(link)})
    paths, _, times = rows.paths_sizes_times()
    metadata: dict[str, tuple[str, ...]] = {
        path: () if time is None else (str(time),) for path, time in zip(paths, times)
    }
    metadata.update((path, (str(os.stat(path).st_mtime),)) for path in map(os.fsdecode, links) if path in metadata)
    start = len(base.rstrip("/")) + 1
    # Searched as a whole first: for a million paths this takes a tenth of the time. A match across two paths costs time only.
    text = "\n".join([path[start:] for path in paths])
    shown = _shown(resolving, base, paths, text)
    if split is None and _may_have_splits(resolving, text):
        found = _searched(resolving, base, paths)
        left_out = len(set(shown).difference(*found.values()))
        if left_out:
            words = ", ".join(found)
            warnings.warn(
                f"{left_out} files of {base} are in no split, because others have names such as those of the splits {words}; "
                "with split='train' all files are in one",
                stacklevel=2,
            )
    elif shown:
        found = {str(resolving.Split.TRAIN) if split is None else split: shown}
    else:
        raise _empty(resolving, base)
    files = {name: resolving.DataFilesList(chosen, [metadata[path] for path in chosen]) for name, chosen in found.items()}
    return resolving.DataFilesDict(files)


def _empty(resolving: Any, base: str) -> FileNotFoundError:
    error: FileNotFoundError = resolving.EmptyDatasetError(f"The directory at {base} doesn't contain any data files")
    return error


def _shown(resolving: Any, base: str, paths: list[str], text: str) -> list[str]:
    """Paths that the pattern ``**`` stands for in ``datasets``; ``text`` has what is below the directory, a line each."""
    names = "|".join(re.escape(name) for name in sorted(resolving.FILES_TO_IGNORE))
    left_out = re.compile(rf"(?:^|[/\n])(?:\.|__[^/]*/|(?:{names})(?:\n|$))").search
    if left_out(text) is None:
        return paths
    start, pattern = len(base.rstrip("/")) + 1, f"{base.rstrip('/')}/**"
    ignored = set(resolving.FILES_TO_IGNORE)

    def is_shown(path: str) -> bool:
        if left_out(path, start - 1) is None:
            return True
        return path.rsplit("/", 1)[-1] not in ignored and _is_shown(resolving, path, pattern)

    return [path for path in paths if is_shown(path)]


def _is_shown(resolving: Any, path: str, pattern: str) -> bool:
    """The rule of ``datasets`` itself."""
    return not (
        resolving._is_inside_unrequested_special_dir(path, pattern)
        or resolving._is_unrequested_hidden_file_or_is_inside_unrequested_hidden_dir(path, pattern)
    )


def _may_have_splits(resolving: Any, text: str) -> bool:
    """``False`` if each pattern for splits has a literal part that no path has; all files are one split then."""
    patterns: list[str] = [pattern.replace("{split}", "*") for pattern in resolving.ALL_SPLIT_PATTERNS]
    for splits in resolving.ALL_DEFAULT_PATTERNS:
        patterns += [pattern for chosen in splits.values() for pattern in chosen if pattern.strip("*")]
    literals = [set(re.split(r"[*?/]|\[[^\]]*\]", pattern)) for pattern in patterns]
    there = {literal for literal in set[str]().union(*literals) if literal in text}
    return any(parts <= there for parts in literals)


def _searched(resolving: Any, base: str, paths: list[str]) -> dict[str, list[str]]:
    """Files of each split by the patterns of ``datasets``, each tried on the paths found."""
    translate: Any = importlib.import_module("fsspec.utils").glob_translate
    root = base.rstrip("/")
    found: dict[str, list[str]] = {}

    def resolve(pattern: str) -> list[str]:
        if pattern not in found:
            whole = f"{root}/{pattern}"
            matches = re.compile(translate(whole)).match
            ignored = set(resolving.FILES_TO_IGNORE) - {pattern.rsplit("/", 1)[-1]}
            found[pattern] = [
                path
                for path in paths
                if matches(path) and path.rsplit("/", 1)[-1] not in ignored and _is_shown(resolving, path, whole)
            ]
        if not found[pattern]:
            raise FileNotFoundError(f"Unable to find '{pattern}'")
        return found[pattern]

    try:
        patterns: dict[str, list[str]] = resolving._get_data_files_patterns(resolve)
    except FileNotFoundError:
        raise _empty(resolving, base) from None
    splits: dict[str, list[str]] = {}
    for name, chosen in patterns.items():
        splits[str(name)] = []
        for pattern in chosen:
            try:
                splits[str(name)] += resolve(pattern)
            except FileNotFoundError:
                continue
    return splits
