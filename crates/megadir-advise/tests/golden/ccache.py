import os
from typing import AnyStr


def depth_for(files: int) -> int:
    """Number of directories above a file, for a total number of files."""
    if files < 512_000:
        return 2
    if files < 8_192_000:
        return 3
    return 4


def path_for(name: AnyStr, depth: int) -> AnyStr:
    """Path of a file below the top directory in the layout ccache (prefix:1/1/1/1+rest+from=2+under=2000).

    >>> path_for("abcdef", 3)
    'a/b/c/def'

    The depth is 2 to 4. Existing files stay at the depth they were created at.
    ValueError: the layout does not accept the name.
    """
    raw = os.fsencode(name)
    if (
        not 2 <= depth <= 4
        or not 5 <= len(raw) <= 255
        or b"/" in raw
        or b"\0" in raw
        or b"." in (raw[:1], raw[1:2], raw[2:3], raw[3:4])
        or raw[4:] in (b".", b"..")
    ):
        raise ValueError(f"layout ccache does not accept {name!r}")
    parts = [raw[:1], raw[1:2], raw[2:3], raw[3:4]][:depth]
    path = b"/".join(parts + [raw[len(b"".join(parts)) :]])
    return path if isinstance(name, bytes) else os.fsdecode(path)
