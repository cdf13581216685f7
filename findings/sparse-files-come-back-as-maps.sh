#!/bin/sh
# Wrong guess: bsdtar without options writes a tar that each program reads; at worst a file with holes is stored with the zeros, or refused. bsdtar stores a file with holes as a map and the data, named
# s/GNUSparseFile.0/f, and the true name and size stand in pax headers of GNU tar only. BusyBox, toybox, 7zz, unar, pax, ptar and the packages tar and tar-stream of npm extract that: another path, 516 bytes of a
# file of 1 MiB, exit code 0. Of `tar -S` (GNU format) 7zz and toybox are right, ptar, pax and tar-stream give the data without the holes, tar of npm leaves the file out, without an error; BusyBox and unar fail. Who is hurt: whoever packs
# files that were preallocated or have holes (sparse HDF5 and images, SQLite, downloads under way) and unpacks with another program. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' 7zip libarchive-tools pax perl tar toybox unar | tee /dev/stderr | tr '\n' ' ' |
    grep -q '^7zip 22\.01+really26\.02.* libarchive-tools 3\.6\.2.* pax 1:20201030.* perl 5\.36\.0.* tar 1\.34.* toybox 0\.8\.9.* unar 1\.10\.7'
busybox | head -n 1 | tee /dev/stderr | grep -q ' v1\.35\.0 '
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
npm install --silent --no-audit --no-fund tar@7.5.23 tar-stream@3.2.2 >/dev/null
echo "node $(node --version), tar 7.5.23, tar-stream 3.2.2"
mkdir s; echo small >s/small; truncate -s 1M s/f; echo end >>s/f
[ "$(stat -c %b s/f)" -lt 100 ] || { echo "The file system of $t stores no holes: set TMPDIR."; exit 1; }
bsdtar -cf bsdtar.tar s; tar -S -cf tar-S.tar s
cat >stream.mjs <<'J'
import fs from 'fs'; import path from 'path'; import { extract } from 'tar-stream'
const out = extract()
out.on('entry', (header, stream, next) => {
    if (header.type === 'directory') { stream.resume(); return next() }
    fs.mkdirSync(path.dirname(header.name), { recursive: true })
    stream.pipe(fs.createWriteStream(header.name)).on('finish', next)
})
fs.createReadStream(process.argv[2]).pipe(out)
J
look() {
    program=$1; shift
    for archive in bsdtar tar-S; do
        rm -rf o; mkdir o; code=0; (cd o; "$@" "../$archive.tar" >/dev/null 2>../messages) || code=$?
        found=nothing; path=$(cd o; find . -name f); [ -z "$path" ] || { found=other; cmp -s s/f "o/$path" && found=right; found="$found, $(stat -c %s "o/$path") bytes, ${path#./}"; }
        echo "$program of $archive: exit code $code, $found"
    done
}
{
    look tar tar -xf; look bsdtar bsdtar -xf; look BusyBox busybox tar xf; look toybox toybox tar xf; look 7zz 7zz x -bso0 -bsp0; look unar unar -q -D; look pax pax -rf; look ptar ptar -xf
    look npm-tar node -e 'require("../node_modules/tar").x({file: process.argv[1], sync: true})'
    look tar-stream node ../stream.mjs
} | tee seen
diff - seen <<'E'
tar of bsdtar: exit code 0, right, 1048580 bytes, s/f
tar of tar-S: exit code 0, right, 1048580 bytes, s/f
bsdtar of bsdtar: exit code 0, right, 1048580 bytes, s/f
bsdtar of tar-S: exit code 0, right, 1048580 bytes, s/f
BusyBox of bsdtar: exit code 0, other, 516 bytes, s/GNUSparseFile.0/f
BusyBox of tar-S: exit code 1, nothing
toybox of bsdtar: exit code 0, other, 516 bytes, s/GNUSparseFile.0/f
toybox of tar-S: exit code 0, right, 1048580 bytes, s/f
7zz of bsdtar: exit code 0, other, 516 bytes, s/GNUSparseFile.0/f
7zz of tar-S: exit code 0, right, 1048580 bytes, s/f
unar of bsdtar: exit code 0, other, 516 bytes, s/GNUSparseFile.0/f
unar of tar-S: exit code 1, other, 0 bytes, s/f
pax of bsdtar: exit code 0, other, 516 bytes, s/GNUSparseFile.0/f
pax of tar-S: exit code 0, other, 4 bytes, s/f
ptar of bsdtar: exit code 0, other, 516 bytes, s/GNUSparseFile.0/f
ptar of tar-S: exit code 0, other, 4 bytes, s/f
npm-tar of bsdtar: exit code 0, other, 516 bytes, s/GNUSparseFile.0/f
npm-tar of tar-S: exit code 0, nothing
tar-stream of bsdtar: exit code 0, other, 516 bytes, s/GNUSparseFile.0/f
tar-stream of tar-S: exit code 0, other, 4 bytes, s/f
E
