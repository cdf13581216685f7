#!/bin/sh
# Wrong guess: `bsdtar --format=7zip -cf new.7z @old.tar`, which the manual advises to convert an archive, stores a further name of a hard-linked file with its contents, or as a link, or fails. From the
# file system bsdtar does so. From a tar it stores an empty file of size 0 in 7zip, xar, ISO 9660 and cpio (newc, odc, cpio), without a message and with exit code 0, and in zip
# it leaves the name out, with a message of a wrong cause ("cannot archive files with mode 0644") and exit code 0. Converted to pax, nothing is lost. Who is hurt: whoever
# converts archives of trees with hard links (cp -al, deduplicated data, conda, Git clones) and removes the tar. Read back by bsdtar and 7zz. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' 7zip libarchive-tools | tee /dev/stderr | tr '\n' ' ' | grep -q '7zip 22\.01+really26\.02+dfsg-0+deb12u1 libarchive-tools 3\.6\.2-1+deb12u5 '
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
mkdir s; echo contents >s/a; ln s/a s/b; tar -cf s.tar --sort=name s
sizes() { stat -c '%n %s' x/s/* | sed 's,x/s/,,' | tr '\n' ' '; rm -rf x; }
for format in zip 7zip xar iso9660 cpio newc odc pax; do
    for from in @s.tar s; do
        code=0; bsdtar --format=$format -cf o "$from" 2>message || code=$?
        mkdir x
        case $format in 7zip) 7zz x -bso0 -bsp0 -ox o ;; *) bsdtar -xf o -C x ;; esac
        echo "$format from $from: exit code $code, size of $(sizes)$(cat message)"
    done
done | tee seen
{
    for format in zip 7zip xar iso9660 cpio newc odc pax; do
        case $format in
        zip) echo "zip from @s.tar: exit code 0, size of a 9 bsdtar: s/b: s/b: zip format cannot archive files with mode 0644" ;;
        pax) echo "pax from @s.tar: exit code 0, size of a 9 b 9 " ;;
        *) echo "$format from @s.tar: exit code 0, size of a 9 b 0 " ;;
        esac
        echo "$format from s: exit code 0, size of a 9 b 9 "
    done
} | diff - seen
