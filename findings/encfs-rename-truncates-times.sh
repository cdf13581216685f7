#!/bin/sh
# Wrong guess: renaming a directory leaves the files in it as they are. encfs renames each file below it as well, and sets its mtime to
# the whole second. Who is hurt: backups and build tools that compare nanoseconds take every file below for changed. Root only.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' encfs | tee /dev/stderr | grep -qx 'encfs 1\.9\.5-2'
t=$(mktemp -d); trap 'umount "$t/m" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
mkdir s m; encfs --standard --extpass='echo secret' "$t/s" "$t/m" >/dev/null
mkdir -p m/a; echo x >m/a/f; touch -d '2026-01-02 03:04:05.678' m/a/f; a=$(stat -c %y m/a/f)
sleep 2; mv m/a m/b; sleep 2; b=$(stat -c %y m/b/f)
echo "mtime before: $a, after: $b"
case "$a" in *05.678*) ;; *) exit 1 ;; esac
case "$b" in *05.000000000*) ;; *) exit 1 ;; esac
