#!/bin/sh
# Wrong guess: the mtime of a folder changes when a file is made in it, also on a pool of disks, and `git update-index --test-untracked-cache` finds out whether it does. On mergerfs the times of a folder are
# those of its first branch: a file that goes to another branch (the first one is full or takes no new files) leaves them as they were. git status with the untracked cache (core.untrackedCache, also set by feature.manyFiles)
# then never shows new files, though its own test succeeds (mostly), and an import of Python does not find a module that is there; with func.getattr=newest all is right. Who is hurt: whoever keeps a
# work tree on a pool, or scans it by the times of folders. Needs FUSE and root.
set -eu
[ "$(id -u)" = 0 ] || { echo "Run this as root."; exit 1; }
dpkg-query -W -f '${Package} ${Version}\n' mergerfs git | tee /dev/stderr | tr '\n' ' ' | grep -q 'git 1:2\.39\.5.* mergerfs 2\.33\.5-1'
t=$(mktemp -d); trap 'cd /; umount "$t/pool" 2>/dev/null || :; rm -rf "$t"' EXIT; cd "$t"
export HOME="$t" GIT_CONFIG_NOSYSTEM=1
mkdir pool
look() {
    mkdir -p first/r second; mergerfs "first:second" pool
    (cd pool/r; git init -q; git config core.untrackedCache true; mkdir d; echo 1 >d/one.py; git add .; git -c user.name=a -c user.email=a@example.org commit -q -m one)
    umount pool; mergerfs -o category.create=mfs "$@" "first=NC:second" pool
    (cd pool/r
        sleep 2; git status --short; sleep 2; git status --short
        PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=d python3 - <<'P'
import os, sys, time
import one
with open("d/two.py", "w") as file: file.write("2\n")
time.sleep(2)
try: import two; print("import finds the new module")
except ImportError: print("import does not find the new module")
P
        echo "$# options: git status: $(git status --short), in the folder: $(echo d/*)"
        [ -e ../../second/r/d/two.py ]
        n=0; until git update-index --test-untracked-cache 2>&1 | grep -o 'OK$'; do n=$((n + 1)); [ "$n" -lt 5 ]; done
        git config core.untrackedCache false; echo "without the cache: $(git status --short)")
    umount pool; rm -rf first second
}
{ look; look -o func.getattr=newest; } | tee seen
diff - seen <<'E'
import does not find the new module
0 options: git status: , in the folder: d/one.py d/two.py
OK
without the cache: ?? d/two.py
import finds the new module
2 options: git status: ?? d/two.py, in the folder: d/one.py d/two.py
OK
without the cache: ?? d/two.py
E
