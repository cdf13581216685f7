#!/bin/sh
# Wrong guess: a directory that mke2fs -d fills has a hash index, like one that the kernel fills. It has none. Who is hurt: look-ups in an image made of a huge directory are linear until e2fsck -fD.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' e2fsprogs | tee /dev/stderr | grep -q '^e2fsprogs 1\.47\.0-'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
mkdir -p s/d; (cd s/d; seq -f 'file-%06g' 1000 | xargs touch)
truncate -s 64M i; mke2fs -q -t ext4 -d s i
index() { debugfs -R 'htree_dump /d' i 2>&1 | grep -c 'Root node dump' || true; }
a=$(index); rc=0; e2fsck -fyD i >/dev/null 2>&1 || rc=$?; [ "$rc" -le 1 ]; b=$(index)
echo "index after mke2fs -d: $a, after e2fsck -fD: $b"
[ "$a" = 0 ] && [ "$b" = 1 ]
