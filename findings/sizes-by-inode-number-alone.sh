#!/bin/sh
# Wrong guess: a program that counts a file with several names once goes by device and inode number, as du does. gdu (of files with several names) and get-folder-size of npm (of all files) go by
# the inode number alone, so of two mounts in a tree they leave out the files of the second one whose numbers are taken; exit code 0, no error. Two tmpfs, or two ext4 that were filled alike, have
# the same numbers throughout: of two volumes get-folder-size counts one. Who is hurt: whoever sums up a tree with several disks or volumes, or checks a quota by it. Root, or user namespaces.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' coreutils gdu | tee /dev/stderr | tr '\n' ' ' | grep -q '^coreutils 9\.1-1 gdu 5\.22\.0-1[^ ]* $'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
npm install --silent --no-audit --no-fund get-folder-size@5.0.0 >/dev/null
echo "get-folder-size 5.0.0, node $(node --version)"
echo 'import size from "get-folder-size"; console.log(await size.strict("s"));' >size.mjs
user=; [ "$(id -u)" = 0 ] || user=-r
unshare $user -m sh -eu -c '
    for d in one two; do
        mkdir -p s/$d; mount -t tmpfs none s/$d
        for i in 1 2 3 4; do head -c 1000000 /dev/urandom >s/$d/$i; done
        ln s/$d/1 s/$d/1-linked; ln s/$d/2 s/$d/2-linked
    done
    [ "$(stat -c %i s/one/4)" = "$(stat -c %i s/two/4)" ] && [ "$(stat -c %d s/one/4)" != "$(stat -c %d s/two/4)" ]
    gdu -n -p -a -s --no-prefix s >gdu; node size.mjs >get-folder-size; du -sb s >du'
for program in du gdu get-folder-size; do
    echo "$program: $(($(grep -oE '[0-9]+' "$program" | head -1) / 1000000)) of 8 files, 4 of them with two names, in two mounts"
done | tee seen
[ "$(grep -oE ': [0-9]' seen | tr -d ': \n')" = 864 ]
