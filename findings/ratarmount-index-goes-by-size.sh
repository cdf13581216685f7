#!/bin/sh
# Wrong guess: the index file that ratarmount keeps beside an archive (NAME.index.sqlite) is made again when the archive was replaced: its mtime differs, and the index has the old one. By default ratarmount compares the
# size and looks at a few places. GNU tar pads to 10 KiB, so a new archive of other files often has the same size: the mount then lists the old files, also removed ones, with old times, and
# returns bytes of the new archive at the old places: contents that are cut or of another file, without a message. With --verify-mtime all is right. Who is hurt: whoever mounts
# an archive that is made again each night at one path. Needs FUSE; root, or fusermount.
set -eu
t=$(mktemp -d); trap 'umount "$t/m" 2>/dev/null || fusermount -u "$t/m" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install ratarmount==1.3.0
archive() { rm -rf s; mkdir s; for i in $(seq 1000 "$2"); do echo "$1 $i" >"s/f$i"; done; touch -d "@$3" s s/*; tar -cf a.tar --sort=name -C s .; touch -d "@$3" a.tar; stat -c 'the tar: %s bytes, mtime %y' a.tar; }
look() {
    v/bin/ratarmount "$@" a.tar m >messages 2>&1; n=0; until [ -e m/f1500 ]; do n=$((n + 1)); [ "$n" -lt 100 ]; sleep 0.1; done
    echo "ratarmount $*: $(ls m | wc -l) files, f1500: $(cat m/f1500), $(grep -ci -e warn -e mismatch -e differ messages || :) warnings"
    umount m 2>/dev/null || fusermount -u m; sleep 0.5
}
mkdir m; v/bin/pip freeze 2>/dev/null | grep "^ratarmount=="
{
    archive old 3999 1700000000; look
    archive 'new contents of' 3998 1800000000; look; look --verify-mtime
} | tee seen
[ "$(grep -c '^the tar: 3082240 bytes' seen)" = 2 ]
grep -v '^the tar' seen | sed 's/[1-9][0-9]* warnings/some warnings/' >found
printf 'ratarmount %s\n' ': 3000 files, f1500: old 1500, 0 warnings' ': 3000 files, f1500: new conte, 0 warnings' '--verify-mtime: 2999 files, f1500: new contents of 1500, some warnings' | diff - found
