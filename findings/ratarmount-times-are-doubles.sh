#!/bin/sh
# Wrong guess: a tar that is mounted by ratarmount has the times that the tar has: pax headers keep nanoseconds, and `tar -d` and extraction agree with the source
# to the last digit. ratarmount keeps times as doubles, which have steps of 238 ns today: a file of .123456789 s is shown with .123456768 s. Two hard links
# have two inode numbers with one link each. Who is hurt: whoever compares the mount with the source by exact times (rsync, an inventory, make): nearly every
# file differs; and du counts linked files twice. Needs FUSE; root, or fusermount.
set -eu
t=$(mktemp -d); trap 'umount "$t/m" 2>/dev/null || fusermount -u "$t/m" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install ratarmount==1.3.0
mkdir s m; echo text >s/a; touch -d '2020-01-01T00:00:00.123456789Z' s/a; ln s/a s/b; touch -d '2020-01-01T00:00:00.5Z' s/half
tar --format=pax -cf s.tar -C s .; tar -df s.tar -C s
v/bin/ratarmount s.tar m >/dev/null 2>&1
n=0; until [ -e m/a ]; do n=$((n + 1)); [ "$n" -lt 100 ]; sleep 0.1; done
seen=$(TZ=UTC stat -c '%y' m/a); half=$(TZ=UTC stat -c '%y' m/half); links=$(stat -c '%h' m/a m/b | tr '\n' ' '); inodes=$(stat -c '%i' m/a m/b | sort -u | wc -l)
v/bin/pip freeze 2>/dev/null | grep "^ratarmount=="
echo "a: $seen; half: $half; links: $links; inode numbers of two links: $inodes"
[ "$seen" = "2020-01-01 00:00:00.123456768 +0000" ] && [ "$half" = "2020-01-01 00:00:00.500000000 +0000" ] && [ "$links" = "1 1 " ] && [ "$inodes" = 2 ]
