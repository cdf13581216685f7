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
    inventory: Optional[_Path],
    base: bytes,
    columns: list[str],
    given: dict[str, Any],
    *,
    recursive: bool = True,
    cross_mounts: bool = True,
    without: Optional[set[bytes]] = None,
    on_error: _OnError = None,
) -> list[bytes]:
    """Add what is in the directory ``base``, or in an inventory of it. Returns the links.

    Without ``inventory``, ``base`` is listed as a directory, also if it is a file or a folder that could be an inventory: it is the user's data.
    Paths travel as bytes, because not all of them are UTF-8; errors have them as text. Names of ``base`` in ``without`` are left out.
    """

    def report(error: OSError) -> None:
        error = decoded(error)
        if on_error is None:
            raise error
        on_error(error)

    # An inventory has the mounts that its scan entered.
    access = (cross_mounts and inventory is None, None)
    source = base if inventory is None else os.fsencode(inventory)
    try:
        stream = _megadir.list((source, inventory is not None), columns, recursive, access, (report, None), given)
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
