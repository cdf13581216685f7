"""Rows of listings in memory, for the modules that give other libraries paths as text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _megadir

if TYPE_CHECKING:
    from typing import Any, Optional

    from ._megadir import _OnError, _Path


def add(
    rows: _megadir.Gathered,
    source: bytes,
    base: bytes,
    columns: list[str],
    given: dict[str, Any],
    *,
    recursive: bool = True,
    cross_mounts: bool = True,
    without: Optional[set[bytes]] = None,
    on_error: _OnError = None,
) -> list[bytes]:
    """Add what is in a directory, or in an inventory of the directory ``base``. Returns the links.

    Paths travel as bytes, because not all of them are UTF-8; errors have them as text. Names of ``base`` in ``without`` are left out.
    """

    def report(error: OSError) -> None:
        error = decoded(error)
        if on_error is None:
            raise error
        on_error(error)

    # An inventory has the mounts that its scan entered.
    access = (cross_mounts and source == base, None)
    try:
        stream = _megadir.list(source, columns, recursive, access, (report, None), given)
        return rows.add(stream, base, without or set())
    except OSError as error:
        if isinstance(error.filename, bytes):
            raise decoded(error) from None
        raise


def decoded(error: OSError) -> OSError:
    """The error with its path as text."""
    if not isinstance(error.filename, bytes):
        return error
    return OSError(error.errno, error.strerror, os.fsdecode(error.filename))


def source_of(inventory: Optional[_Path], directory: bytes) -> bytes:
    """What is listed in place of a directory: its inventory, if there is one."""
    return directory if inventory is None else os.fsencode(inventory)
