#!/bin/bash
# Wrong guess: a program that replaces duplicates by hard links leaves a file alone when it cannot be linked. The script that `rmlint -c sh:hardlink` writes
# runs `rm -rf` on the duplicate first and `ln` after it: on ext4, where a file has at most 65 000 links, the name of every further duplicate is gone, and the
# script ends with 0. The contents are still in the original, but nothing tells which names there were. jdupes and rdfind leave such files as they are (and end
# with 0), hardlink of util-linux begins a new set of links. Also, a duplicate on another file system becomes a symbolic link although hard links were asked
# for. Who is hurt: whoever saves space in trees with many equal small files (licences, stubs, packages of many projects). Needs root (loop mount), ext4.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' jdupes rdfind rmlint util-linux | tee /dev/stderr | tr '\n' ' ' |
    grep -q '^jdupes 1\.21\.3-1[^ ]* rdfind 1\.5\.0-1[^ ]* rmlint 2\.9\.0-2[^ ]* util-linux 2\.38\.1-[^ ]* $'
t=$(mktemp -d); trap 'cd /; umount "$t/m" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
truncate -s 64M image; mkfs.ext4 -q image; mkdir m; mount -o loop image m; cd m
mkdir x original; head -c 5000 /dev/zero | tr '\0' A >original/0
python3 -c 'for i in range(64999): __import__("os").link("original/0", f"x/{i}")'
[ "$(stat -c %h original/0)" = 65000 ]
files() { find d -mindepth 1 -printf '%f\n' | sort | tr '\n' ' '; }
run() {
    rm -rf d; mkdir d; cp -p original/0 d/1; cp -p original/0 d/2
    code=0; "$@" >../output 2>&1 </dev/null || code=$?
    echo "$1: exit code $code, names left: $(files)($(grep -ci 'too many links\|failed to make' ../output || true) messages)"
    seen="$code:$(files)"
}
with_rmlint() { rmlint -o sh:../script.sh -c sh:hardlink -k -m d // original && sh ../script.sh -d; }
run with_rmlint; rmlint=$seen
run jdupes -q -r -L original d; jdupes=$seen
run rdfind -makehardlinks true -outputname /dev/null original d; rdfind=$seen
run hardlink original d; hardlink=$seen:$(stat -c %h d/1)
mkdir ../e; cp -p original/0 ../e/1; rmlint -o sh:../script.sh -c sh:hardlink -k -m ../e // original >/dev/null; sh ../script.sh -d >/dev/null </dev/null
echo "rmlint, a duplicate on another file system: $(stat -c %F ../e/1)"
[ "$rmlint" = 0: ] && [ "$jdupes" = "0:1 2 " ] && [ "$rdfind" = "0:1 2 " ] && [ "$hardlink" = "0:1 2 :3" ] && [ "$(stat -c %F ../e/1)" = "symbolic link" ]
