import hashlib
import os
from typing import AnyStr


def path_for(name: AnyStr) -> AnyStr:
    """Path of a file below the top directory in the layout digest:2/2.

    >>> path_for("abcdef")
    'be/f5/abcdef'

    ValueError: the layout does not accept the name.
    """
    raw = os.fsencode(name)
    if not 1 <= len(raw) <= 255 or raw in (b".", b"..") or b"/" in raw or b"\0" in raw:
        raise ValueError(f"layout digest:2/2 does not accept {name!r}")
    digest = hashlib.sha256(raw).hexdigest().encode()
    path = b"/".join([digest[:2], digest[2:4], raw])
    return path if isinstance(name, bytes) else os.fsdecode(path)
