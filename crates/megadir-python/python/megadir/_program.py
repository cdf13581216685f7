"""The command ``megadir`` of the same wheel, for work that it does in processes of its own."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Union

    from ._megadir import _Path

USAGE = 2


def find() -> str:
    """Return the path of the command: of this environment, of the user's scripts, or of PATH."""
    schemes = [sysconfig.get_path("scripts")]
    if f"{os.name}_user" in sysconfig.get_scheme_names():
        schemes.append(sysconfig.get_path("scripts", f"{os.name}_user"))
    # `pip install --target` puts it beside the package.
    schemes.append(str(pathlib.Path(__file__).parents[1] / "bin"))
    for folder in schemes:
        found = shutil.which("megadir", path=folder)
        if found is not None:
            return found
    found = shutil.which("megadir")
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "the command of the wheel is not installed", "megadir")
    return found


def ask(words: Sequence[Union[str, bytes]], path: _Path) -> dict[str, Any]:
    """Run a command that prints one JSON object, and return it. Errors name ``path``."""
    # Only this process signals the other one: a second interrupt would end it before it has removed its files.
    program = subprocess.Popen(
        [find(), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with program:
        try:
            output, messages = program.communicate()
        except BaseException:
            program.send_signal(signal.SIGINT)
            program.wait()
            raise
    text = messages.decode(sys.getfilesystemencoding(), "replace").strip()
    text = text[len("megadir: ") :] if text.startswith("megadir: ") else text
    if program.returncode == USAGE:
        raise ValueError(text)
    if program.returncode != 0:
        raise OSError(errno.EIO, text, os.fspath(path))
    answer: dict[str, Any] = json.loads(output)
    return answer
