#!/bin/bash
# Wrong guess: a program that moves files into an archive or to another file system keeps a file that changed while it was copied, at least if it prints
# that it changed. `tar --remove-files` prints "file changed as we read it", ends with 1, and has removed the file: what was written meanwhile is nowhere.
# `zip -m` and `mv` to another file system do the same without a word, and end with 0. rsync --remove-source-files keeps the file. Who is hurt: whoever packs
# or moves logs, mail or caches while programs still write them, and takes exit code 1 of tar for a warning. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' coreutils rsync tar zip | tee /dev/stderr | tr '\n' ' ' |
    grep -q '^coreutils 9\.1-1 rsync 3\.[0-9.]*[^ ]* tar 1\.34+dfsg-1\.2[^ ]* zip 3\.0-13[^ ]* $'
t=$(mktemp -d) s=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t" "$s"' EXIT; cd "$t"
[ "$(stat -c %d "$t")" != "$(stat -c %d "$s")" ]
change() { printf X | dd of="$1" conv=notrunc 2>/dev/null; }
# An archiver that writes into a pipe waits while nobody reads: the file changes when its beginning has been read.
archive() {
    rm -rf d p; mkdir d; head -c 4000000 /dev/zero >d/log; mkfifo p
    "$@" >p 2>message & local archiver=$!
    exec 3<p; head -c 100000 <&3 >archive; change d/log; cat <&3 >>archive; exec 3<&-
    code=0; wait "$archiver" || code=$?
}
kept() { [ -e "$1" ] && echo kept || echo removed; }
archive tar cf - --remove-files d
tar=$code:$(kept d/log):$(tar xOf archive d/log | head -c 1 | tr '\0' 0)
echo "tar: $tar (exit code, source, first byte in the archive); $(cat message)"
archive zip -q -m -0 -r - d
zip=$code:$(kept d/log):$(unzip -p archive d/log | head -c 1 | tr '\0' 0)
echo "zip: $zip; $(cat message)"
rm -rf d; mkdir d; head -c 300000000 /dev/zero >"$s/log"
mv "$s/log" d/log & mover=$!
until [ -s d/log ]; do :; done
kill -STOP $mover; [ "$(stat -c %s d/log)" -lt 300000000 ]; change "$s/log"; kill -CONT $mover
code=0; wait $mover || code=$?
mv=$code:$(kept "$s/log"):$(head -c 1 d/log | tr '\0' 0)
echo "mv: $mv"
rm -rf d; mkdir d; head -c 3000000 /dev/zero >"$s/log"
rsync --remove-source-files --bwlimit=3000 "$s/log" d/ 2>message & sender=$!
sleep 0.4; change "$s/log"; echo more >>"$s/log"
code=0; wait $sender || code=$?
rsync=$code:$(kept "$s/log")
echo "rsync: $rsync; $(head -n 1 message)"
[ "$tar" = 1:removed:0 ] && [ "$zip" = 0:removed:0 ] && [ "$mv" = 0:removed:0 ] && [ "$rsync" = 23:kept ]
