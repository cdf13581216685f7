#!/bin/sh
# Wrong guess: ptar and Archive::Tar of Perl either read the pax headers that Python's tarfile, Node's tar, Go and bsdtar write by default, or refuse names that they cannot read. They ignore pax headers: a path of more
# than 100 bytes is cut to what the old header holds, so of three files whose paths begin alike one is left, with the contents of the last, exit code 0 and no message; --format=gnu is read.
# tar, bsdtar, 7zz and tarfile read all three. Who is hurt: whoever reads archives of deep trees or long generated names (node_modules, caches, hashed or descriptive
# file names) with Perl: files vanish by the number. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' perl | tee /dev/stderr | grep -q ' 5\.36\.0-'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
perl -MArchive::Tar -e 'print "Archive::Tar $Archive::Tar::VERSION\n"' | tee version; grep -q ' 2\.40$' version
python3 - <<'P'
import io, tarfile
for name, form in (("pax", tarfile.DEFAULT_FORMAT), ("gnu", tarfile.GNU_FORMAT)):
    assert name != "pax" or form == tarfile.PAX_FORMAT
    with tarfile.open(name + ".tar", "w", format=form) as tar:
        for i in range(3):
            info = tarfile.TarInfo("runs/" + "experiment-" * 9 + f"{i}.txt"); info.size = 2; tar.addfile(info, io.BytesIO(b"%d\n" % i))
P
count() { echo "$1, $2: exit code $3, $(find x -type f | wc -l) files, contents: $(find x -type f -exec cat {} + | sort | tr '\n' ' ')"; rm -rf x; }
for f in pax gnu; do
    code=0; mkdir x; (cd x; ptar -xf ../$f.tar) >messages 2>&1 || code=$?; count ptar $f $code; cat messages
    mkdir x; tar -xf $f.tar -C x; count tar $f $?
    mkdir x; bsdtar -xf $f.tar -C x; count bsdtar $f $?
done | tee seen
{ echo 'ptar, pax: exit code 0, 1 files, contents: 2 '; for r in 'tar, pax' 'bsdtar, pax' 'ptar, gnu' 'tar, gnu' 'bsdtar, gnu'; do echo "$r: exit code 0, 3 files, contents: 0 1 2 "; done; } | cmp - seen
