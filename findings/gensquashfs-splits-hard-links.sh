#!/bin/sh
# Wrong guess: every maker of squashfs images keeps hard links, as mksquashfs and tar2sqfs do. gensquashfs -D, of the same package as tar2sqfs, makes each name a file of its own
# with a link count of 1. Who is hurt: stores and snapshots of hard links get an inode per name, and an unpacked image takes the space once per name.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' squashfs-tools-ng squashfs-tools | tee /dev/stderr | grep -qx 'squashfs-tools-ng 1\.2\.0-1'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
mkdir s; echo x >s/a; for i in 1 2 3 4; do ln s/a "s/l$i"; done
gensquashfs -q -D s g; mksquashfs s m -quiet -no-progress >/dev/null; tar -C s -c . | tar2sqfs -q t 2>/dev/null
inodes() { unsquashfs -s "$1" | awk '/^Number of inodes/ {print $4}'; }
files() { rm -rf o; unsquashfs -q -n -d o "$1" >/dev/null; find o -type f -printf '%i\n' | sort -u | wc -l; }
for i in g m t; do echo "$i: inodes $(inodes $i), files unpacked $(files $i)"; done
[ "$(inodes g) $(files g)" = '6 5' ] && [ "$(inodes m) $(files m)" = '2 1' ] && [ "$(inodes t) $(files t)" = '2 1' ]
