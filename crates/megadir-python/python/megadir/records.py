"""Records of benchmarks, as ``megadir bench run`` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _megadir

if TYPE_CHECKING:
    from ._megadir import Stream, _Path

__all__ = ["read"]


def read(path: _Path) -> Stream:
    """Read the samples of a record: one row for each measured block.

    Columns: as of ``megadir bench report --format parquet``, with their units in docs/reference/samples.md: integers without a sign, and
    text; a value that was not measured is null. Times are in nanoseconds. Rows come in the order of measurement, with warm-up
    rounds (``phase``) and voided rounds (``voided``), which do not count.

    The record of a killed run has the blocks that were measured until then. Damage within a record, or another file,
    raises ``ValueError``; a file that cannot be opened ``OSError``. All samples are in memory when the function returns.

    >>> import megadir.records
    >>> megadir.records.read("missing.jsonl")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'missing.jsonl'
    """
    return _megadir.record_samples(path)
