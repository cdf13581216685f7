#!/bin/bash
# Wrong guess: mtree, which compares a tree with its specification, sorts or hashes the names of a directory, so four times as many files take four times as long. mtree (of NetBSD) writes the
# specification in linear time, but a check goes through the list of entries of the directory for each file: 6000 files took 0.1 s, 24 000 files 1.8 s of processor time (beside
# other programs 20 000 took up to 22 s), so a million files of one directory take an hour or more. bsdtar reads the same specification in linear time.
# Who is hurt: whoever checks stores and data sets with large folders by mtree.
# Processor time, so that other programs matter less. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' libarchive-tools mtree-netbsd | tee /dev/stderr | tr '\n' ' ' | grep -q '^libarchive-tools 3\.6\.2-1[^ ]* mtree-netbsd 20180822-7[^ ]* $'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"; export PATH="$PATH:/usr/sbin:/sbin"
made() { rm -rf d; mkdir d; (cd d; seq -f %06.0f "$1" | xargs touch); mtree -c -p d -k size,type >specification; }
processor() { # COMMAND: milliseconds of processor time in user mode, the least of three runs
    for run in 1 2 3; do TIMEFORMAT=%U; { time $1 >output 2>&1; } 2>&1 | tr -d .; done | sed 's/^0*//' | sort -n | head -1
    [ "$1" != 'mtree -p d -f specification' ] || [ ! -s output ]
}
commands=('mtree -p d -f specification' 'mtree -c -p d -k size,type' 'bsdtar -cf /dev/null -C d @../specification')
for files in 6000 24000; do
    made $files
    for i in 0 1 2; do took[files+i]=$(processor "${commands[i]}"); echo "$files files: ${commands[i]}: ${took[files+i]} ms"; done
done
for i in 0 1 2; do ratio[i]=$((took[24000+i] / took[6000+i])); echo "${commands[i]}: four times as many files take ${ratio[i]} times as long"; done
[ ${ratio[0]} -ge 10 ] && [ ${took[24001]} -lt $((took[24000] / 10)) ] && [ ${ratio[2]} -lt 8 ]
