#!/bin/sh
# Wrong guess: an update of an archive (tar -u, zip -u and -f, sqlite3 -Au) adds a file whose size or time differs from the member, and no other file. These compare whole seconds, and not the size: a file that was
# written again within the second, with another size, is left out (exit code 0; of zip 12, which it has for nothing to do), and so it is in every later update. bsdtar -u errs the other way: it adds every unchanged file whose time has a
# fraction again, each time (in its own default format, too), so the archive grows by the tree per run. 7zz u, zpaq a, zip -FS and tar -u of a pax archive add just what changed.
# Who is hurt: whoever updates an archive from jobs or builds that write files twice (first a header, then the rows). Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' 7zip libarchive-tools sqlite3 tar zip zpaq | tee /dev/stderr | tr '\n' ' ' |
    grep -q '7zip 22\.01+really26\.02+dfsg-0+deb12u1 libarchive-tools 3\.6\.2-1+deb12u5 sqlite3 3\.40\.1-2+deb12u[0-9]* tar 1\.34+dfsg-1\.2+deb12u1 zip 3\.0-13[^ ]* zpaq 7\.15+repack-1 '
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
write() { mkdir -p d; echo "$1" >d/f; touch -d "@1700000000.$2" d/f; }
run() { # name, command that makes an archive, command that updates it, command that prints the size of each member d/f
    rm -rf d a.*; write old 1; eval "$2" >messages 2>&1; eval "$3" >>messages 2>&1 || :; members=$(eval "$4" | wc -l)
    write 'newer and longer' 9; code=0; eval "$3" >>messages 2>&1 || code=$?
    echo "$1: $members of 1 member after an update without changes, $(eval "$4" | tail -1) of 17 bytes after one with a change, exit code $code"
}
tars='tar -tvf a.tar --wildcards "*/f" | awk "{print \$3}"'; zips='unzip -l a.zip | awk "/d\\/f/{print \$1}"'
{
    run 'tar -u, gnu' 'tar -cf a.tar d' 'tar -uf a.tar d' "$tars"
    run 'tar -u, pax' 'tar --format=pax -cf a.tar d' 'tar -uf a.tar d' "$tars"
    run 'bsdtar -u' 'bsdtar -cf a.tar d' 'bsdtar -uf a.tar d' "$tars"
    run 'bsdtar -u, gnutar' 'bsdtar --format=gnutar -cf a.tar d' 'bsdtar --format=gnutar -uf a.tar d' "$tars"
    run 'zip -u' 'zip -r a.zip d' 'zip -ru a.zip d' "$zips"
    run 'zip -f' 'zip -r a.zip d' 'zip -rf a.zip d' "$zips"
    run 'zip -FS' 'zip -r a.zip d' 'zip -r -FS a.zip d' "$zips"
    run '7zz u, zip' '7zz a a.zip d' '7zz u a.zip d' "$zips"
    run 'zpaq a' 'zpaq a a.zpaq d' 'zpaq a a.zpaq d' 'zpaq l a.zpaq 2>/dev/null | awk "/d\\/f/{print \$4}"'
    run 'sqlite3 -Au' 'sqlite3 a.sqlar -Ac d' 'sqlite3 a.sqlar -Au d' "sqlite3 a.sqlar \"select sz from sqlar where name = 'd/f'\""
} | tee seen
expected() { echo "$1: $2 of 1 member after an update without changes, $3 of 17 bytes after one with a change, exit code $4"; }
{
    expected 'tar -u, gnu' 1 4 0; expected 'tar -u, pax' 1 17 0; expected 'bsdtar -u' 2 17 0; expected 'bsdtar -u, gnutar' 2 17 0; expected 'zip -u' 1 4 12; expected 'zip -f' 1 4 12
    expected 'zip -FS' 1 17 0; expected '7zz u, zip' 1 17 0; expected 'zpaq a' 1 17 0; expected 'sqlite3 -Au' 1 4 0
} | diff - seen
