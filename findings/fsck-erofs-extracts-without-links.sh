#!/bin/sh
# Wrong guess: `fsck.erofs --extract --preserve` of erofs-utils 1.5 restores what the image has, as the mount shows it and unsquashfs does for squashfs: hard links, extended attributes, the setuid bit and holes. Hard links
# become files of their own, so that a deduplicated tree needs the space of each name, extended attributes (also ACLs and capabilities) and the setuid bit are lost, exit code 0 and no message; times are kept.
# Who is hurt: whoever extracts an image without a mount (in a container, as a user) and removes it. Root, for the mount to compare with and the owner.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' erofs-utils squashfs-tools | tee /dev/stderr | tr '\n' ' ' | grep -q 'erofs-utils 1\.5-1 squashfs-tools 1:4\.5\.1-1 '
t=$(mktemp -d); trap 'cd /; umount "$t/m" 2>/dev/null || :; rm -rf "$t"' EXIT; cd "$t"
mkdir s m; echo text >s/a; ln s/a s/b; setfattr -n user.key -v value s/a; echo run >s/program; chmod 4755 s/program; touch -d 2001-01-01T00:00:00.123456789Z s/*
mkfs.erofs image s >messages 2>&1; mksquashfs s squash -quiet -no-progress
mount -o loop,ro image m; fsck.erofs --extract=x --preserve image >messages 2>&1; echo "fsck.erofs: exit code $?, messages that name a file: $(grep -c -e ' a' -e program messages || :)"
unsquashfs -quiet -no-progress -d u squash >/dev/null
show() { echo "$1: links $(stat -c %h $2/a), attributes $(getfattr --absolute-names -d $2/a | grep -c user), mode $(stat -c %a $2/program), mtime $(TZ=UTC stat -c %y $2/a)"; }
{ show mount m; show fsck.erofs x; show unsquashfs u; } | tee seen
printf '%s: links %s, attributes %s, mode %s, mtime 2001-01-01 00:00:00.%s +0000\n' mount 2 1 4755 123456789 fsck.erofs 1 0 755 123456789 unsquashfs 2 1 4755 000000000 | diff - seen
