#!/bin/bash
# Wrong guess: an archive gives back a file's time or complains. Of files of 1960 and 2200 (scans, measurements, broken clocks), cpio and squashfs make 2096 and
# 2063, zip 1980 and 2063, bsdcpio 2106, borg 1970 and 2038, pax 1970 and bsdtar's 7z archives 1970, all without a message and with exit code 0. Two programs
# that each get it right alone differ by a second: bsdtar writes and reads the fraction of a time before 1970 with the sign reversed, GNU tar does not. toybox tar
# writes a number that it reads itself and that GNU tar refuses (exit code 2). restic and rsync keep all. Who is hurt: whoever sorts, ages or
# compares restored files by time; an unchanged file is a changed one for the next synchronization. Without root. Needs a file system with times of 34 bits (ext4).
set -eu
dpkg-query -W -f '${Package} ${Version}\n' borgbackup cpio libarchive-tools pax restic squashfs-tools tar toybox zip | tee /dev/stderr | tr '\n' ' ' | grep -q \
    '^borgbackup 1\.2\.4-1 cpio 2\.13+dfsg-7[^ ]* libarchive-tools 3\.6\.2-1[^ ]* pax 1:20201030-1 restic 0\.14\.0-1[^ ]* squashfs-tools 1:4\.5\.1-1 tar 1\.34+dfsg-1\.2[^ ]* toybox 0\.8\.9[^ ]* zip 3\.0-13[^ ]* $'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
export TZ=UTC HOME="$t" BORG_REPO="$t/borg" BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes RESTIC_REPOSITORY="$t/restic" RESTIC_PASSWORD=x
mkdir d; echo old >d/1; echo new >d/2; touch -d '1960-01-01 00:00:00.5' d/1; touch -d '2200-01-01 00:00:00.25' d/2
failures=0
through() {
    name=$1 expected=$2; rm -rf o; mkdir o; code=0
    bash -c "set -e -o pipefail; $3" >output 2>&1 || code=$?
    seen="$code $(date -r o/d/1 '+%F %T.%1N') $(date -r o/d/2 '+%F %T.%2N')"
    echo "$name: $seen"
    [ "$seen" = "$expected" ] || { failures=1; echo "expected: $expected"; cat output; }
}
kept='1960-01-01 00:00:00.5 2200-01-01 00:00:00.25' modulo='2096-02-06 06:28:16.0 2063-11-24 17:31:44.00'
through 'cpio' "0 $modulo" 'find d | cpio -o -H newc | (cd o; cpio -idm)'
through 'squashfs' "0 $modulo" 'mksquashfs d squashfs -quiet -noappend -no-progress; unsquashfs -q -n -d o/d squashfs'
through 'bsdcpio' '0 2106-02-07 06:28:15.0 2106-02-07 06:28:15.00' 'find d | bsdcpio -o -H newc | (cd o; bsdcpio -idm)'
through 'zip' '0 1980-01-01 00:00:00.0 2063-11-24 17:31:44.00' 'zip -q -r zip.zip d; unzip -q zip.zip -d o'
through 'zip, read by bsdtar' "0 $modulo" 'bsdtar -xf zip.zip -C o'
through 'borg' '0 1970-01-01 00:00:00.0 2038-01-17 03:14:07.00' 'borg init -e none; borg create ::a d; cd o; borg extract ::a'
through 'pax' '0 1970-01-01 00:00:00.0 2200-01-01 00:00:00.00' 'pax -w d | (cd o; pax -r -pe)'
through 'bsdtar, 7z' '0 1970-01-01 00:00:00.0 2200-01-01 00:00:00.25' 'bsdtar -a -cf 7z.7z d; bsdtar -xf 7z.7z -C o'
through 'bsdtar' "0 $kept" 'bsdtar -cf - d | bsdtar -xf - -C o'
through 'bsdtar, read by GNU tar' '0 1959-12-31 23:59:59.5 2200-01-01 00:00:00.25' 'bsdtar -cf - d | tar -xf - -C o'
through 'GNU tar, read by bsdtar' '0 1960-01-01 00:00:01.5 2200-01-01 00:00:00.25' 'tar --format=posix -cf - d | bsdtar -xf - -C o'
through 'toybox tar' '0 1960-01-01 00:00:00.0 2200-01-01 00:00:00.00' 'toybox tar -c d | toybox tar -x -C o'
through 'toybox tar, read by GNU tar' '2 1969-12-31 23:59:59.0 2200-01-01 00:00:00.00' 'toybox tar -c d | tar -xf - -C o'
through 'restic' "0 $kept" 'restic -q init; restic -q backup d; restic -q restore latest -t o'
through 'rsync' "0 $kept" 'rsync -a d o'
exit $failures
