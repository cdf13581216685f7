#!/bin/sh
# Wrong guess: the file system "libarchive" of fsspec lists of a tar what the file system "tar" lists, since libarchive reads hard links, and bsdtar extracts them. It keeps regular members and folders only, so each further name of a hard-linked
# file, and each symbolic link, is missing in find, exists and get, without a message; "tar" lists both, and reads the hard link. Of cpio and zip, which store no names of links, all files are there. Who is hurt: whoever reads archives of linked trees by the libarchive protocol, chosen because it
# reads 7z, cpio, zstd and so on: files are missing in copies. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
dpkg-query -W -f '${Package} ${Version}\n' libarchive13 | tee /dev/stderr | grep -q ' 3\.6\.2-1+deb12u5$'
python3 -m venv v; v/bin/pip -q install fsspec==2026.9.0 libarchive-c==5.3
mkdir s; for i in 0 1 2 3 4; do echo "file $i" >s/$i; done; ln s/0 s/5; ln s/0 s/6; ln -s 1 s/7
tar -cf s.tar --sort=name s; bsdtar --format=newc -cf s.cpio s; bsdtar -a -cf s.zip s
cat >list.py <<'P'
import fsspec
print("fsspec", fsspec.__version__)
def names(protocol, archive):
    files = fsspec.filesystem(protocol, fo=archive)
    files.get("", "copy-" + protocol + archive, recursive=True)
    return [name.split("/")[-1] for name in files.find("")], [files.exists("s/6"), files.exists("s/0")]
seen = {(protocol, archive): names(protocol, archive) for protocol, archive in (("tar", "s.tar"), ("libarchive", "s.tar"), ("libarchive", "s.cpio"), ("libarchive", "s.zip"))}
for (protocol, archive), (found, exist) in seen.items(): print(protocol, archive, "find:", found, "exists s/6, s/0:", exist)
first, more = list("01234"), list("0123456")
assert seen == {("tar", "s.tar"): ([*more, "7"], [True, True]), ("libarchive", "s.tar"): (first, [False, True]), ("libarchive", "s.cpio"): (more, [True, True]), ("libarchive", "s.zip"): (more, [True, True])}
P
v/bin/python list.py
[ "$(find copy-libarchives.tar -type f | wc -l)" = 5 ] && cmp copy-libarchives.zip/s/6 s/6
