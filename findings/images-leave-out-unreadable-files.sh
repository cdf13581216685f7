#!/bin/bash
# Wrong guess: a builder of an image that cannot read a file or a folder fails, as mke2fs -d, mkfs.btrfs --rootdir, mkfs.erofs, gensquashfs, casync and xorriso do. mksquashfs stores an
# EMPTY file of the same name and leaves an unreadable folder out, genisoimage leaves both out, mkfs.cramfs the file; each prints a line and ends with 0.
# Who is hurt: build scripts go by the exit code, so an image without contents is deployed or kept as the backup. Files are unreadable for root, too
# (FUSE of other users, NFS, broken sectors). mksquashfs has -exit-on-error. As root, the script becomes nobody.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' btrfs-progs casync e2fsprogs erofs-utils genisoimage squashfs-tools squashfs-tools-ng util-linux xorriso | tee /dev/stderr | tr '\n' ' ' | grep -q \
    '^btrfs-progs 6\.2-1[^ ]* casync 2+20201210-1[^ ]* e2fsprogs 1\.47\.0-2[^ ]* erofs-utils 1\.5-1 genisoimage 9:1\.1\.11-3[^ ]* squashfs-tools 1:4\.5\.1-1 squashfs-tools-ng 1\.2\.0-1 util-linux 2\.38\.1-5[^ ]* xorriso 1\.5\.4-4 $'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"; export PATH="$PATH:/usr/sbin:/sbin"
mkdir whole file folder folder/e; echo contents >whole/f; echo contents >file/f; echo contents >folder/e/f
[ "$(id -u)" != 0 ] || { chown -R 65534:65534 "$t"; as="setpriv --reuid 65534 --regid 65534 --clear-groups"; }
chmod 0 file/f folder/e
build() { # EXPECTED COMMAND: the exit codes for a whole tree, an unreadable file and an unreadable folder
    codes=
    for tree in whole file folder; do
        rm -rf image; ${as:-} truncate -s 200M image; code=0
        tree=$tree timeout 60 ${as:-} bash -c "$2" >output 2>&1 || code=$?
        codes="$codes $code"
        case $2 in mksquashfs*-noappend) mv image kept-$tree ;; esac
    done
    echo "$2: exit codes for a whole tree, an unreadable file and an unreadable folder:$codes"
    [ "$codes" = "$1" ] || failures=1
}
failures=0
build ' 0 0 0' 'mksquashfs $tree image -quiet -no-progress -noappend'
build ' 0 1 1' 'mksquashfs $tree image -quiet -no-progress -noappend -exit-on-error'
build ' 0 0 0' 'genisoimage -quiet -R -o image $tree'
build ' 0 0 8' 'mkfs.cramfs $tree image'
build ' 0 1 1' 'gensquashfs -q -f -D $tree image'
build ' 0 1 1' 'mkfs.erofs image $tree'
build ' 0 1 1' 'mke2fs -q -F -t ext4 -d $tree image'
build ' 0 1 1' 'mkfs.btrfs -q --rootdir $tree image'
build ' 0 1 1' 'casync make image.caidx $tree'
build ' 0 5 5' 'rm image; xorriso -as mkisofs -quiet -R -o image $tree'
size=$(unsquashfs -ll kept-file | awk '/\/f$/ { print $3 }')
echo "size of the file in the image of mksquashfs: $size of $(stat -c %s file/f); entries of the image of the folder: $(unsquashfs -l kept-folder | grep -c squashfs-root/ || true)"
[ "$size" = 0 ] && ! unsquashfs -l kept-folder | grep -q squashfs-root/
exit $failures
