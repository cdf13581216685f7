#!/bin/sh
# Wrong guess: a file system that is made of a tree has the tree's times, as `cp -a` does. mke2fs -d and mkfs.btrfs --rootdir store whole seconds,
# although both formats have nanoseconds, and btrfs gets 1970 as the birth of every file; mkfs.erofs keeps the nanoseconds. Who is hurt: whoever
# compares the image with its source by time (rsync, an inventory, make): every file differs. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' btrfs-progs e2fsprogs erofs-utils | tee /dev/stderr | tr '\n' ' ' |
    grep -q '^btrfs-progs 6\.2-1.*e2fsprogs 1\.47\.0-2.* erofs-utils 1\.5-1 $'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"; PATH=$PATH:/usr/sbin
mkdir s; echo x >s/f; touch -d '2020-01-01T00:00:00.123456789Z' s/f
truncate -s 16M e; mke2fs -q -t ext4 -d s e
truncate -s 128M b; mkfs.btrfs -q --rootdir s b >/dev/null
mkfs.erofs r s >/dev/null 2>&1
e=$(debugfs -R 'stat /f' e 2>/dev/null | grep -oE '^ mtime: 0x[0-9a-f]+:[0-9a-f]+')
b=$(btrfs inspect-internal dump-tree -t 5 b | grep -oE '(mtime|otime) [0-9.]+' | tail -n 2 | tr '\n' ' ')
r=$(TZ=UTC dump.erofs --path=/f r | grep -oE '2020-01-01 00:00:00\.[0-9]+')
echo "ext4$e"; echo "btrfs $b"; echo "erofs $r"
[ "$e" = " mtime: 0x5e0be100:00000000" ] && [ "$b" = "mtime 1577836800.0 otime 0.0 " ] && [ "$r" = "2020-01-01 00:00:00.123456789" ]
