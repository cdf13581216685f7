#!/bin/sh
# Wrong guess: of two members with one name the later one counts, as for tar itself: that is what tar -r and tar -u write for a changed file. sqfstar keeps the first one,
# prints a line and ends with 0, and archivemount shows the first one without a message; tar2sqfs refuses the archive, and tar, bsdtar, tarfile of Python return the last.
# Who is hurt: whoever makes an image of an archive that is extended, or mounts it: each changed file has its oldest contents. Root, for the mount.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' archivemount squashfs-tools squashfs-tools-ng | tee /dev/stderr | tr '\n' ' ' | grep -q 'archivemount 0\.8\.7-1+b1 squashfs-tools 1:4\.5\.1-1 squashfs-tools-ng 1\.2\.0-1 '
t=$(mktemp -d); trap 'cd /; umount "$t/m" 2>/dev/null || :; rm -rf "$t"' EXIT; cd "$t"
mkdir d m; echo old >d/f; tar -cf t.tar d; echo newer >d/f; tar -rf t.tar d/f
sqfstar -quiet image <t.tar; echo "sqfstar: exit code $?, contents: $(unsquashfs -cat image d/f)" | tee seen
archivemount -o readonly t.tar m; echo "archivemount: contents: $(cat m/d/f)" | tee -a seen; umount m
code=0; tar2sqfs -q other <t.tar || code=$?; echo "tar2sqfs: exit code $code" | tee -a seen
echo "tar: contents: $(tar -xOf t.tar d/f | tail -1)" | tee -a seen
echo "tarfile of Python: contents: $(python3 -c 'import tarfile; print(tarfile.open("t.tar").extractfile("d/f").read().decode().strip())')" | tee -a seen
printf '%s\n' 'sqfstar: exit code 0, contents: old' 'archivemount: contents: old' 'tar2sqfs: exit code 1' 'tar: contents: newer' 'tarfile of Python: contents: newer' | cmp - seen
