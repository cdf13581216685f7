#!/bin/sh
# Wrong guess: a hard link and an extended attribute take no inode. On tmpfs each link takes one, and attributes one for each KiB.
# Who is hurt: a tree of hard links (snapshots, a store of objects) runs out of inodes that its number of files does not explain. Root only.
set -eu
uname -r; t=$(mktemp -d); trap 'umount "$t/m" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
mkdir m; mount -t tmpfs -o nr_inodes=1000 tmpfs m
used() { df --output=iused m | tail -1 | tr -d ' '; }
touch m/a; a=$(used); for i in $(seq 100); do ln m/a "m/l$i"; done; b=$(used)
python3 -c "import os; os.setxattr('m/a', 'user.x', b'x' * 50000)"; c=$(used)
echo "used: $a, after 100 links $b, after an attribute of 50 kB $c; files: $(find m -type f -printf '%i\n' | sort -u | wc -l)"
[ $((b - a)) = 100 ] && [ $((c - b)) -ge 40 ]
