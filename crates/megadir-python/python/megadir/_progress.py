"""The progress bar of ``progress=True``."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, Optional, Union

    _Given = Optional[Union[bool, Callable[[int], object]]]
    _Function = Optional[Callable[[int], object]]


class _Bar:
    """A bar of tqdm that shows the number of entries so far; closed when nothing uses it any more."""

    def __init__(self, tqdm: Any) -> None:
        self._bar: Any = tqdm.tqdm(unit=" entries", unit_scale=True)

    def __call__(self, entries: int) -> None:
        self._bar.update(entries - self._bar.n)

    def close(self) -> None:
        self._bar.close()

    __del__ = close


def of_stream(given: _Given) -> _Function:
    """Function for a stream, which keeps it until the last row is read."""
    if given is not True:
        return given or None
    try:
        return _Bar(importlib.import_module("tqdm.auto"))
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "progress=True needs tqdm, which is not installed; or give a function, such as progress=print"
        ) from None


@contextmanager
def during(given: _Given) -> Generator[_Function, None, None]:
    """Function for work that is done when the caller continues."""
    function = of_stream(given)
    try:
        yield function
    finally:
        if isinstance(function, _Bar):
            function.close()
