#!/bin/bash
# Wrong guess: taking the members of a list out of an archive costs one pass over the archive, as the list is hashed or sorted. GNU tar (-T), bsdtar (-T), cpio (-E), 7z (@list), unzip and pax compare each
# member with each name of the list: four times as many members and names take some 16 times as long. Of 20 000 members, tar lists all in 0.03 s and those of a list of all names in 3 s, cpio in 25 s;
# of a million the list of tar takes two hours or more. tar -X (leave out the names of the list), zip -d and toybox tar -T on the same list do not.
# Who is hurt: whoever restores a list of lost files from a backup of very many small files, or takes a sample out of a data set. All of it and a removal afterwards is quicker.
# Processor time, so that other programs matter less. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' cpio libarchive-tools p7zip-full pax tar toybox unzip zip | tee /dev/stderr | tr '\n' ' ' | grep -q \
    '^cpio 2\.13+dfsg-7[^ ]* libarchive-tools 3\.6\.2-1[^ ]* p7zip-full 16\.02+really26\.02[^ ]* pax 1:20201030-1 tar 1\.34+dfsg-1\.2[^ ]* toybox 0\.8\.9[^ ]* unzip 6\.0-28[^ ]* zip 3\.0-13[^ ]* $'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"
made() {
    rm -rf d a.*; mkdir d; seq -f d/%06.0f "$1" >names; xargs touch <names; tar cf a.tar -T names; zip -q a.zip -@ <names
}
processor() { # COMMAND: milliseconds of processor time in user mode, the lesser of two runs
    for run in 1 2; do TIMEFORMAT=%U; { time bash -c "$1" >output 2>&1; } 2>&1 | tr -d .; done | sed 's/^0*//;s/^$/0/' | sort -n | head -1
}
commands=('tar tf a.tar -T names' 'bsdtar tf a.tar -T names' 'cpio -t --quiet -I a.tar -E names' '7z l a.zip @names' 'unzip -l a.zip $(cat names)' 'pax -f a.tar $(cat names)'
    'tar tf a.tar' 'tar tf a.tar -X names' 'toybox tar tf a.tar -T names' 'cp a.zip b.zip; zip -q -d b.zip -@ <names')
failures=0
for files in 3000 15000; do
    made $files
    for i in ${!commands[*]}; do
        took[files*10+i]=$(processor "${commands[i]}")
        [ $i -gt 5 ] || [ "$(grep -c 'd/0' output)" = $files ] || { echo "${commands[i]}: not all names"; failures=1; }
    done
done
for i in ${!commands[*]}; do
    few=${took[30000+i]} many=${took[150000+i]}
    echo "${commands[i]}: $few ms for 3000 members, $many ms for 15000"
    if [ $i -lt 6 ]; then [ $many -ge $((few * 9)) ] || failures=1; else [ $many -lt $((took[150000] / 2)) ] || failures=1; fi
done
exit $failures
