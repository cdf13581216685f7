#!/bin/bash
# Wrong guess: an archive of cpio either has a file's whole inode number, which is how a reader finds hard links, or cpio numbers the files anew or complains.
# GNU cpio cuts the number: to 16 bits in its default format, to 18 bits in odc, to 32 bits in newc. Of two unrelated files that have a second name each, GNU cpio then
# makes one file with the contents of the first; exit code 0, no message (bsdcpio cuts the number for newc and prints that, toybox cuts it without a message). Of 65 537 files two have such
# numbers at least in the default format; on XFS of some TiB the numbers repeat with the allocation groups. --reproducible, ustar and bsdcpio as the reader are right.
# Who is hurt: whoever archives trees with hard links (snapshots of cp -al, deduplicated pools, mail spools). Root, for the mount of XFS.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' cpio libarchive-tools toybox xfsprogs | tee /dev/stderr | tr '\n' ' ' | grep -q '^cpio 2\.13+dfsg-7[^ ]* libarchive-tools 3\.6\.2-1[^ ]* toybox 0\.8\.9[^ ]* xfsprogs 6\.1\.0-1[^ ]* $'
t=$(mktemp -d -p /dev/shm); trap 'cd /; umount "$t/m" 2>/dev/null || :; rm -rf "$t"' EXIT; cd "$t"
failures=0
check() { # TREE WRITER READER EXPECTED
    rm -rf o; mkdir o
    (cd "$1"; find . -type f | LC_ALL=C sort | $2 >"$t/archive" 2>"$t/written")
    (cd o; $3 <"$t/archive" 2>"$t/read")
    seen=$(diff -rq "$1" o | wc -l)
    echo "$1: $2, $3: $seen files with the contents of others; messages: $(grep -vch 'block' written read | paste -sd+)"
    [ "$seen" = "$4" ] || failures=1
}
mkdir small
python3 - <<'P'
import os
seen, count = {}, 0
while True:
    name = f"small/{count:06}"
    with open(name, "w") as file: file.write(f"contents {count}\n")
    first = seen.setdefault(os.stat(name).st_ino % 65536, name)
    if first != name: break
    count += 1
for linked in (first, name):
    os.link(linked, linked + "x")
    print(linked, "has inode number", os.stat(linked).st_ino)
print("files:", count + 1)
P
check small 'cpio -o' 'cpio -i' 2
check small 'cpio -o' 'bsdcpio -i' 0
check small 'cpio -o -H newc' 'cpio -i' 0
truncate -s 15T image; mkfs.xfs -q -f -K -l size=64m image; mkdir m; mount -o loop image m
for i in 0 1 2 3; do mkdir m/$i; echo "contents $i" >m/$i/a; ln m/$i/a m/$i/b; done
echo "inode numbers on XFS: $(stat -c %i m/?/a | paste -sd' ')"
check m 'cpio -o -H newc' 'cpio -id' 2
check m 'cpio -o -H newc' 'bsdcpio -id' 0
check m 'cpio -o -H newc --reproducible' 'cpio -id' 0
check m 'cpio -o -H odc' 'cpio -id' 4
check m 'cpio -o -H odc' 'bsdcpio -id' 0
check m 'cpio -o -H ustar' 'cpio -id' 0
check m 'bsdcpio -o -H newc' 'cpio -id' 2
check m 'bsdcpio -o -H odc' 'cpio -id' 0
check m 'toybox cpio -o -H newc' 'cpio -id' 2
exit $failures
