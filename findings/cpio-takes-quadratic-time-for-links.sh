#!/bin/bash
# Wrong guess: an archiver finds the other names of a file by a table of device and inode numbers, so four times as many files take four times as long. cpio -o -H newc keeps the files whose other names
# are to come in one list, which it goes through for each name (of BusyBox, too): 10 000 files with two names, one in each of two folders, took it 0.6 s of processor time, 40 000 files 24 s, so a
# million take four hours. Its other formats, and newc by bsdcpio and toybox, are linear. Who is hurt: whoever archives trees with many hard links (snapshots of cp -al or rsync --link-dest, stores of
# packages) in newc. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' cpio libarchive-tools toybox | tee /dev/stderr | tr '\n' ' ' | grep -q '^cpio 2\.13[^ ]* libarchive-tools 3\.6\.2-1[^ ]* toybox 0\.8\.9[^ ]* $'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"
apt-get -qq download busybox-static=1:1.35.0-4+deb12u1+b1 2>/dev/null; dpkg-deb -x busybox-static*.deb busybox; PATH="$t/busybox/bin:$t/busybox/usr/bin:$PATH"; busybox | sed 1q
processor() { TIMEFORMAT=%U; { time $1 <list >archive 2>output; } 2>&1 | tr -d . | sed 's/^0*//;s/^$/0/'; } # Milliseconds in user mode.
commands=('cpio -o -H newc' 'busybox cpio -o -H newc' 'cpio -o -H odc' 'bsdcpio -o -H newc' 'toybox cpio -o -H newc')
for files in 7000 28000; do
    rm -rf a b; mkdir a; seq -f a/%06.0f $files | xargs touch; cp -al a b; find a b >list
    for i in ${!commands[*]}; do took[files+i]=$(processor "${commands[i]}"); [ "$(bsdtar tf archive | wc -l)" = $((files * 2 + 2)) ]; done
done
failures=0
for i in ${!commands[*]}; do
    few=${took[7000+i]} many=${took[28000+i]}
    echo "${commands[i]}: $few ms for 7000 files with two names each, $many ms for 28000"
    if [ $i -lt 2 ]; then [ $many -ge $((few * 9)) ] || failures=1; else [ $many -lt $((took[28000] / 8)) ] || failures=1; fi
done
exit $failures
