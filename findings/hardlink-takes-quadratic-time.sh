#!/bin/bash
# Wrong guess: a program that links equal files hashes them, so twice as many files of one size take twice as long. hardlink of util-linux takes four times as
# long for twice as many small files of one size with different contents: 6000 files of 8 bytes took 10 s, and rdfind 0.2 s.
# Who is hurt: whoever saves space in caches and trees of small records of one size. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' rdfind util-linux | tee /dev/stderr | tr '\n' ' ' | grep -q '^rdfind 1\.5\.0-1[^ ]* util-linux 2\.38\.1-[^ ]* $'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"
milliseconds() { local start; start=$(date +%s%N); "$@" >/dev/null 2>&1; echo $((($(date +%s%N) - start) / 1000000)); }
made() { rm -rf d; mkdir d; python3 -c 'for i in range(int(__import__("sys").argv[1])): open(f"d/{i}", "w").write(f"{i:08}")' "$1"; }
made 1500
first=$(for run in 1 2 3; do milliseconds hardlink -n d; done | sort -n | head -1)
made 6000
hardlink=$(milliseconds hardlink -n d) rdfind=$(milliseconds rdfind -dryrun true -outputname /dev/null d)
echo "1500 files: hardlink $first ms; 6000 files: hardlink $hardlink ms, rdfind $rdfind ms"
[ $hardlink -gt $((first * 7)) ] && [ $hardlink -gt $((rdfind * 10)) ]
