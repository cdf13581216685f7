#!/bin/sh
# Wrong guess: Unison on Linux reads a file again whose modification time or inode number changed; only with fastcheck on file systems without those it can miss a change. It takes times that differ
# by exactly an hour for equal (as if clocks had been changed), with -times also those that differ by up to a second, or by an hour and up to a second. So a file that is rewritten in place with
# contents of the same size is "unchanged" if its time moved by that much: never copied, not in later runs either, exit code 0. -fastcheck false copies all; rsync misses changes within a second only.
# Who is hurt: whoever synchronises files that a program rewrites in place, with the same size and times of its own (hourly data, state files, caches); several writes within a second. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' rsync unison | tee /dev/stderr | tr '\n' ' ' | grep -q '^rsync 3\.5\.0[^ ]* unison 2\.52+1 $'
unison -version | tee /dev/stderr | grep -q '^unison version 2\.52\.1 '
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
export HOME="$t" UNISON="$t/archives"
report() { missed=$(grep -l old b/* | sed 's,b/,,' | sort -n | paste -sd' '); echo "$1: exit code $code, files whose new contents are missing: ${missed:-none}"; echo "$missed" >>seen; }
run() { code=0; "$@" >output 2>&1 || code=$?; }
for options in '' -times; do
    rm -rf a b archives; mkdir a b
    for seconds in 0.5 1 2 3599.5 3600 3602 7200; do echo old >a/$seconds; touch -d 2026-01-01T00:00:00Z a/$seconds; done
    for time in 1 2; do run unison a b -batch -silent -ui text $options; done # The second one has the archive of the first one.
    cp -a b rsync; inodes=$(stat -c %i a/*)
    for file in a/*; do # Written in place, the time is the old one and the seconds of the name.
        echo new >"$file"; python3 -c 'import os, sys; t = 1767225600 * 10**9 + int(float(sys.argv[1][2:]) * 10**9); os.utime(sys.argv[1], ns=(t, t))' "$file"
    done
    [ "$inodes" = "$(stat -c %i a/*)" ]
    for time in 1 2; do run unison a b -batch -silent -ui text $options; report "unison $options, run $time after the change"; done
    run unison a b -batch -silent -ui text $options -fastcheck false; report "unison $options -fastcheck false"
    run rsync -a a/ rsync; rm -rf b; mv rsync b; report 'rsync -a'
done
[ "$(paste -sd, seen)" = '3600,3600,,,0.5 1 3599.5 3600,0.5 1 3599.5 3600,,0.5' ]
