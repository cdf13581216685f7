#!/bin/bash
# Wrong guess: cp -b renames each old file to its name with ~ and copies the new one, so four times as many files take four times as long, as for rsync -b. cp, mv, ln and install
# list the whole directory for each file that they replace, to look for numbered backups, even if there are none (that is the default of -b): for 500 files the kernel
# returns 9 MB of listings and for 2000 files 148 MB; 100 000 files would take some 400 GB. --backup=simple lists nothing. Who is hurt: whoever copies a new state over a
# directory of very many files and keeps the old one. Counted by strace, so that the speed of the machine does not matter. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' coreutils rsync strace | tee /dev/stderr | tr '\n' ' ' | grep -q '^coreutils 9\.1-1 rsync 3\.5\.0[^ ]* strace 6\.1-[^ ]* $'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"
listed() { # FILES COMMAND: bytes of listings
    rm -rf s d; mkdir s; (cd s; seq "$1" | xargs touch); cp -r s d
    strace -f -qq -e trace=getdents64 -o calls $2
    awk '{ bytes += $NF } END { print bytes }' calls
}
failures=0
check() { # RANGE COMMAND
    few=$(listed 500 "$2") many=$(listed 2000 "$2")
    echo "$2: $few bytes of listings for 500 files, $many for 2000"
    [ "$1" = linear ] && [ $((many / few)) -le 4 ] || { [ "$1" = quadratic ] && [ $((many / few)) -ge 14 ]; } || failures=1
}
check quadratic 'cp -rb s/. d'
check quadratic 'cp -r --backup=numbered s/. d'
check linear 'cp -r --backup=simple s/. d'
check quadratic 'find s -type f -exec mv -b -t d {} +'
check quadratic 'find s -type f -exec ln -b -t d {} +'
check quadratic 'find s -type f -exec install -b -t d {} +'
check linear 'rsync -ab --ignore-times s/ d'
exit $failures
