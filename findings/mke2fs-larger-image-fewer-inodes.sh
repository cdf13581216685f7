#!/bin/sh
# Wrong guess: a larger ext4 has at least as many inodes. mke2fs.conf has another ratio and block size below 512 MiB: an image of 511 MiB gets four times the inodes
# of one of 513 MiB. Who is hurt: who enlarges an image or volume for small files by making it anew, or tests on a small image what a larger one shall hold.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' e2fsprogs | tee /dev/stderr | grep -q '^e2fsprogs 1\.47\.0-'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
make() { rm -f i; truncate -s "$1" i; mke2fs -q -t ext4 i; dumpe2fs -h i 2>/dev/null | awk '/^Inode count|^Block size/ {printf "%s ", $3}'; }
a=$(make 511M); b=$(make 513M); c=$(make 2000M)
echo "inodes and block size of 511 MiB: $a, 513 MiB: $b, 2000 MiB: $c"
[ "$a" = '130560 1024 ' ] && [ "$b" = '32832 4096 ' ] && [ "${c%% *}" -lt 130560 ]
