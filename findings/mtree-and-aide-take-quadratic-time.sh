#!/bin/bash
# Wrong guess: mtree and AIDE, which compare a tree with a list of it, sort or hash the names of a directory, so four times as many files take four times as long. mtree (of NetBSD) writes its
# specification in linear time, but a check goes through the entries of the directory for each file; AIDE takes quadratic time for making its database, too: a check of 5000 files of one
# directory took AIDE 0.7 s of processor time, of 20 000 files 12 to 19 s, so a million take some ten hours, and mtree an hour or so. bsdtar reads the specification of mtree in linear time.
# Who is hurt: whoever checks stores, mail and data sets with large folders by them. Processor time, so that other programs matter less. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' aide libarchive-tools mtree-netbsd | tee /dev/stderr | tr '\n' ' ' | grep -q '^aide 0\.18\.3-1[^ ]* libarchive-tools 3\.6\.2-1[^ ]* mtree-netbsd 20180822-7[^ ]* $'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"; export PATH="$PATH:/usr/sbin:/sbin"
printf 'database_in=file:%s/database\ndatabase_out=file:%s/database\n%s/d s+p\n' "$t" "$t" "$t" >conf
processor() { # RUNS COMMAND: milliseconds of processor time in user mode, the least of the runs
    for run in $(seq "$1"); do TIMEFORMAT=%U; { time $2 >output 2>&1; } 2>&1 | tr -d .; done | sed 's/^0*//;s/^$/0/' | sort -n | head -1
}
commands=('mtree -p d -f specification' 'aide -c conf --init' 'aide -c conf --check' 'mtree -c -p d -k size,type' 'bsdtar -cf /dev/null -C d @../specification')
runs=(3 1 1 3 3)
for files in 5000 20000; do
    rm -rf d; mkdir d; seq -f d/%06.0f $files | xargs touch; mtree -c -p d -k size,type >specification
    [ -z "$(mtree -p d -f specification)" ]
    for i in ${!commands[*]}; do took[files+i]=$(processor ${runs[i]} "${commands[i]}"); done
done
failures=0
for i in ${!commands[*]}; do
    few=${took[5000+i]} many=${took[20000+i]}
    echo "${commands[i]}: $few ms for 5000 files, $many ms for 20000"
    if [ $i -lt 3 ]; then [ $many -ge $((few * 9)) ] || failures=1; else [ $many -lt $((took[20000] / 4)) ] || failures=1; fi
done
exit $failures
