#!/bin/sh
# Wrong guess: shrinking an ext4 moves blocks; files keep their inode numbers. resize2fs -M drops groups with their inodes: files that had their inodes there get
# other numbers. Who is hurt: incremental tools that recognise files by inode, stored inventories, file handles. Root only.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' e2fsprogs | tee /dev/stderr | grep -q '^e2fsprogs 1\.47\.0-'
t=$(mktemp -d); trap 'umount "$t/m" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
mkdir m; truncate -s 8G i; mke2fs -q -t ext4 -E lazy_itable_init=1 i
mount -o loop i m; for d in $(seq 40); do mkdir "m/$d"; (cd "m/$d"; seq 10 | xargs touch); done
numbers() { find m -type f -printf '%i %p\n' | sort -k 2; }
numbers >a; umount m; e2fsck -fy i >/dev/null 2>&1
mount -o loop,ro i m; numbers >b; umount m; e2fsck -fy i >/dev/null 2>&1
resize2fs -M i >/dev/null 2>&1; mount -o loop,ro i m; numbers >c; umount m
n=$(diff a b | grep -c '^>' || true); k=$(diff b c | grep -c '^>' || true)
echo "files: $(wc -l <a), with another number after e2fsck: $n, after resize2fs -M: $k"
[ "$(wc -l <a)" = 400 ] && [ "$n" = 0 ] && [ "$k" -gt 100 ]
