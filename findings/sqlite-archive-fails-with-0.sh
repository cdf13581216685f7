#!/bin/sh
# Wrong guess: `sqlite3 FILE -Ac DIR && rm -r DIR` removes the directory only if the archive has all of it. If one file has more than 10^9 bytes, the program
# prints "string or blob too big", stores nothing, not even the other files, and ends with 0. A file that it may not read is stored without contents, without a
# message, and the exit code is 0; extracted, it is an empty file. Reading an archive that is not there fails with 0 too. Who is hurt: scripts that pack
# directories into SQLite (sqlar) and trust the exit code. tar ends with 2 in both cases. Needs root (to drop privileges) and 1 GB of memory.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' sqlite3 | tee /dev/stderr | grep -q '^sqlite3 3\.40\.1-2'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"; chmod 777 .
mkdir -m 755 s; echo one >s/one; echo two >s/two
archived() { code=0; "$@" >message 2>&1 || code=$?; echo "$code:$(sqlite3 a 'SELECT count(*) FROM sqlar' 2>/dev/null || echo none):$(cat message)"; rm -f a; }
whole=$(archived sqlite3 a -Ac s)
truncate -s 1000000001 s/large; large=$(archived sqlite3 a -Ac s); rm s/large
chmod 000 s/two
as_nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
$as_nobody sqlite3 a -Ac s; unreadable=$?:$(sqlite3 a "SELECT name, sz, data IS NULL FROM sqlar WHERE name = 's/two'")
mkdir o; (cd o; sqlite3 ../a -Ax); extracted=$(stat -c %s o/s/one o/s/two | tr '\n' ' ')
absent=0; sqlite3 absent -At >/dev/null 2>&1 || absent=$?
tar=0; $as_nobody tar cf s.tar s 2>/dev/null || tar=$?
echo "whole: $whole (exit code, entries, message); with a file of 10^9 + 1 bytes: $large"
echo "with an unreadable file: $unreadable; sizes extracted: $extracted; an archive that is not there: exit code $absent; tar: exit code $tar"
[ "$whole" = "0:3:" ] && [ "$large" = "0:none:ERROR: string or blob too big" ] && [ "$unreadable" = "0:s/two||1" ] && [ "$extracted" = "4 0 " ] && [ "$absent" = 0 ] && [ "$tar" = 2 ]
