#!/bin/bash
# Wrong guess: dump, the "backup and restore for ext2/3/4 filesystems", either stores a file of ext4 whole or refuses a feature of the file system that it does not know. With
# inline_data (files of up to some 150 bytes lie in the inode) it stores zeros of the right length for each such file; dump and restore end with 0, restore prints
# "Unknown EA index" for each. Only restore -C, which compares with the original, finds errors. debugfs (dump, rdump, cat) and e2cp append zeros to files of less than
# 60 bytes until they have 60. tsk_recover, fuseext2 and the kernel read the same image right.
# Who is hurt: whoever backs up or rescues very many tiny files, for which inline_data was made: none of them comes back as it was. Needs root (loop device).
set -eu
dpkg-query -W -f '${Package} ${Version}\n' dump e2fsprogs e2tools fuseext2 sleuthkit | tee /dev/stderr | tr '\n' ' ' |
    grep -q '^dump 0\.4b47-4[^ ]* e2fsprogs 1\.47\.0-2[^ ]* e2tools 0\.1\.0-3[^ ]* fuseext2 0\.4-1[^ ]* sleuthkit 4\.11\.1[^ ]* $'
export PATH="$PATH:/usr/sbin:/sbin"
t=$(mktemp -d) loop=; trap 'cd /; umount "$t/m" "$t/fuse" 2>/dev/null || true; [ -z "$loop" ] || losetup -d "$loop"; rm -rf "$t"' EXIT; cd "$t"
mkdir m fuse tree restored; for length in 1 20 60 61 100 4000; do head -c $length /dev/zero | tr '\0' A >tree/$length; done
truncate -s 64M image; mkfs.ext4 -q -I 256 -O inline_data image; loop=$(losetup -f --show image)
mount "$loop" m; cp tree/* m; umount m
code=0; dump -0 -f archive "$loop" >messages 2>&1 || code=$?
echo "dump: exit code $code, $(grep -ciE 'inline|warning|error|unknown' messages || true) messages of a fault"
[ $code = 0 ]
(cd restored; restore -rf ../archive >../messages 2>&1 </dev/null); echo "restore: exit code $?; $(sort messages | uniq -c | paste -sd';')"
mount -o ro "$loop" m; code=0; restore -C -f archive -D "$t/m" >messages 2>&1 </dev/null || code=$?; umount m
echo "restore -C: exit code $code; $(tail -1 messages)"
[ $code = 2 ]
check() { # READER FOLDER EXPECTED: the lengths of the files that are not as they were
    wrong=$(for file in tree/*; do cmp -s "$file" "$2/${file#tree/}" || echo "${file#tree/}"; done | sort -n | paste -sd' ')
    echo "$1: files with other contents: ${wrong:-none}"
    [ "$wrong" = "$3" ] || failures=1
}
failures=0
check dump restored '1 20 60 61 100'
echo "bytes of the file of 20 bytes other than zero: $(tr -d '\0' <restored/20 | wc -c)"
[ "$(stat -c %s restored/20):$(tr -d '\0' <restored/20 | wc -c)" = 20:0 ] || failures=1
mount -o ro "$loop" m; check kernel m ''; umount m
fuseext2 image fuse -o ro 2>/dev/null; check fuseext2 fuse ''; umount fuse
tsk_recover -e image recovered >/dev/null; check tsk_recover recovered ''
mkdir copied dumped; for file in tree/*; do e2cp "image:/${file#tree/}" copied; done; check e2cp copied '1 20'
debugfs -R 'rdump / dumped' image 2>messages; check 'debugfs rdump' dumped '1 20'
echo "sizes of the file of 20 bytes: $(stat -c '%s (%n)' copied/20 dumped/20 | paste -sd' ')"
[ "$(stat -c %s copied/20 dumped/20 | paste -sd' ')" = '60 60' ] || failures=1
exit $failures
