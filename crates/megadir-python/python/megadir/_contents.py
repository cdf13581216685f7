"""What reading contents has found: hashes of a scan, and rotten files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Optional, Union

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Sequence

    from ._megadir import Stream, _Changes, _OnError


class Hashes(NamedTuple):
    """Contents of a scan with ``hash``."""

    hashed: int
    """Number of files and links that were read and hashed."""
    known: int
    """Number of files and links with a hash of the inventory before, or of an interrupted scan."""
    changed: int
    """Number of files without a hash, because they changed meanwhile."""
    unreadable: int
    """Number of files without a hash, because their contents could not be read."""
    read_bytes: int
    """Bytes of contents read."""


class Rotten(NamedTuple):
    """File whose contents differ although size, times and inode number do not."""

    root: int
    """Index of the tree."""
    path: Union[str, bytes]
    """Path below the tree."""
    size: Optional[int]
    """Size, bytes."""
    recorded: str
    """Hash in the inventory, hex."""
    found: str
    """Hash of the contents today, hex."""


class Verified(NamedTuple):
    """Contents that :func:`megadir.changes` has compared with their hashes."""

    rotten: builtins.list[Rotten]
    """Rotten files."""
    intact: int
    """Number of files with the contents of their hash."""
    changed: int
    """Number of files that were not verified, because they changed, are gone, or were renamed."""
    unhashed: int
    """Number of files that were not verified, because they have no hash."""
    unreadable: int
    """Number of files that could not be read, or were read differently the second time."""
    read_bytes: int
    """Bytes of contents read."""


class RottenError(ValueError):
    """Contents of files are rotten: no program changed them.

    ``verified`` has the files and the numbers, ``changes`` the stream that the function would have returned; ``None`` if the reading of
    contents ended early, or if the exception comes from another process. ``failures`` are those that ``on_error`` was not called with.
    """

    def __init__(
        self,
        message: str,
        verified: Verified,
        changes: Optional[Stream] = None,
        failures: Sequence[BaseException] = (),
    ) -> None:
        super().__init__(message)
        self.verified = verified
        self.changes = changes
        self.failures = tuple(failures)

    def __reduce__(self) -> tuple[object, ...]:
        # A stream reads from memory of this process.
        return (type(self), (self.args[0], self.verified, None, self.failures))


def settled(
    answer: _Changes,
    on_verified: Optional[Callable[[Verified], object]],
    on_error: _OnError,
) -> Stream:
    """Report rotten files before failures: a caller that copies what changed must not copy them."""
    changes, found, failures, ended = answer
    error = None
    if found is not None:
        verified = Verified([Rotten(*file) for file in found[0]], *found[1:])
        if on_verified is not None:
            on_verified(verified)
        else:
            left = failures if on_error is None else []
            error = _error(verified, changes if ended is None else None, left)
    try:
        if on_error is not None:
            for failure in failures:
                on_error(failure)
    except Exception as raised:
        if error is None:
            raise
        raise error from raised
    if error is not None and (ended is None or isinstance(ended, Exception)):
        raise error from ended
    if ended is not None:
        # Ctrl-C stays Ctrl-C; its traceback has the rotten files.
        raise ended from error
    if failures and on_error is None:
        raise failures[0]
    return changes


def _error(
    verified: Verified, changes: Optional[Stream], failures: Sequence[BaseException]
) -> Optional[RottenError]:
    if not verified.rotten:
        return None
    path, others = verified.rotten[0].path, len(verified.rotten) - 1
    name = path.decode(errors="backslashreplace") if isinstance(path, bytes) else path
    more = f" and {others} more" if others else ""
    message = f"{name!r}{more}: rotten, contents differ although size and times are equal; restore from a backup"
    return RottenError(message, verified, changes, failures)
