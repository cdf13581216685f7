#!/bin/sh
# Wrong guess: `mkfs.btrfs --rootdir` copies every file of a tree, or fails. It takes inode numbers for the identity of files, without their
# device: of two mounts in the tree, entries with one number become one. Here the image has only y, under both directories, and x is
# lost; the exit code is 0. Who is hurt: whoever builds an image of a tree with mounts in it (a container's root, two tmpfs). Root, or user namespaces.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' btrfs-progs | tee /dev/stderr | grep -q '^btrfs-progs 6\.2-1+deb12u'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"; PATH=$PATH:/usr/sbin
user=; [ "$(id -u)" = 0 ] || user=-r
unshare $user -m sh -eu -c '
    mkdir -p s/a s/b; mount -t tmpfs none s/a; mount -t tmpfs none s/b
    echo contents-of-x >s/a/x; echo contents-of-y >s/b/y
    [ "$(stat -c %i s/a/x)" = "$(stat -c %i s/b/y)" ]
    truncate -s 128M i; mkfs.btrfs -q --rootdir s i >/dev/null'
btrfs inspect-internal dump-tree -t 5 i >dump
names=$(grep -oE 'name: [abxy]$' dump | sort -u | tr '\n' ' ')
x=$(grep -ac contents-of-x i || true); y=$(grep -ac contents-of-y i || true)
echo "names in the image: $names; copies of the contents of x: $x, of y: $([ "$y" -gt 0 ] && echo some)"
[ "$names" = "name: a name: b name: y " ] && [ "$x" = 0 ] && [ "$y" -gt 0 ]
