#!/bin/sh
# Wrong guess: du of fsspec's local file system measures a tree as find lists it, links as links. It raises FileNotFoundError at one link whose target is missing,
# though find lists that link; and get makes an empty folder of a link to a folder. Who is hurt: who measures or copies trees of data with links through fsspec.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install fsspec==2026.9.0
mkdir -p a/d b; echo x >a/d/f; ln -s d a/link; echo x >b/f; ln -s missing b/link
v/bin/python - <<'P'
import os, fsspec
print("fsspec", fsspec.__version__)
fs = fsspec.filesystem("file")
found = [os.path.basename(p) for p in fs.find("b")]
try:
    size = fs.du("b")
except FileNotFoundError as e:
    size = type(e).__name__
fs.get("a", "copy", recursive=True)
copied = {n: (os.path.islink(f"copy/{n}"), os.listdir(f"copy/{n}")) for n in ("d", "link")}
print("find:", found, "du:", size, "copied (is a link, entries):", copied)
assert "link" in found and size == "FileNotFoundError" and copied == {"d": (False, ["f"]), "link": (False, [])}
P
