#!/bin/sh
# Wrong guess: an archive of a tree that changes meanwhile has some file's older or newer contents, never another file's. GNU tar, cpio (ustar) and pax remember the
# inode number of each file that has several names. ext4 gives the number of a removed file to the next new one, so a new file with several names that comes later in the
# archive is stored as a link to the removed one, its contents are in no archive, and the exit code is 0 without a message. Extracted, it has the contents of the other file.
# Who is hurt: whoever archives trees of hard links that rotate (cp -al snapshots, pools of backups, mail spools). Root, for a file system of its own.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' tar cpio pax | tee /dev/stderr | tr '\n' ' ' | grep -q '^cpio 2\.13[^ ]* pax 1:20201030[^ ]* tar 1\.34[^ ]* $'
t=$(mktemp -d); trap 'cd /; umount "$t/m" 2>/dev/null || :; rm -rf "$t"' EXIT; cd "$t"
truncate -s 64M image; mkfs.ext4 -q -F image; mkdir m; mount -o loop image m
archive() { # PROGRAM COMMAND: names come by a pipe; the first file is replaced by another one before the second name
    rm -rf m/d m/o p; mkdir m/d m/o; mkfifo p
    echo AAAA >m/d/a; ln m/d/a m/o/a; old=$(stat -c %i m/d/a)
    ( exec 3>"$t/p"; echo d/a >&3; sleep 1; rm m/d/a m/o/a; echo BBBB >m/d/b; ln m/d/b m/o/b; stat -c %i m/d/b >"$t/new"; echo d/b >&3 ) &
    ( cd m; eval "$2" ) <p; code=$?; wait
    [ "$old" = "$(cat new)" ]
    rm -rf out; mkdir out; tar -xf x.tar -C out
    echo "$1: exit code $code, contents of the new file in the archive: $(cat out/d/b)" | tee -a seen
}
archive "GNU tar" 'tar -b 1 -cf ../x.tar -T -'
archive "cpio" 'cpio --quiet -H ustar -o >../x.tar'
archive "pax" 'pax -w -x ustar >../x.tar'
[ "$(grep -c 'exit code 0, contents of the new file in the archive: AAAA' seen)" = 3 ]
