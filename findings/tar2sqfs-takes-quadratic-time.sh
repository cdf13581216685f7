#!/bin/bash
# Wrong guess: an image of a folder of four times as many files takes four times as long, whether it is made of the folder or of its tar. tar2sqfs and sqfstar seek each new member in a
# list of those before it, and are slower still once the list has outgrown the caches. Beside other programs 10 000 files in one folder took tar2sqfs 3 s, 20 000 up to 19 s and 60 000 14 minutes;
# mksquashfs and gensquashfs take a second or two for the folder, so unpacking the tar first is quicker.
# Who is hurt: whoever turns archives of data sets or layers of containers with large folders into images. Processor time, so that other programs matter less. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' squashfs-tools squashfs-tools-ng | tee /dev/stderr | tr '\n' ' ' | grep -q '^squashfs-tools 1:4\.5\.1-1 squashfs-tools-ng 1\.2\.0-1 $'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"
made() { rm -rf d d.tar; mkdir d; python3 -c 'for i in range(int(__import__("sys").argv[1])): open(f"d/some-long-file-name-for-a-large-directory-{i:06}", "w").write("x")' "$1"; tar cf d.tar d; }
processor() { # COMMAND: milliseconds of processor time in user mode, the lesser of two runs, of one for 30 000 files
    for run in $(seq $runs); do rm -f image; TIMEFORMAT=%U; { time $1 <d.tar >/dev/null 2>&1; } 2>&1 | tr -d .; done | sed 's/^0*//' | sort -n | head -1
}
commands=('tar2sqfs -q -f image' 'sqfstar -quiet -no-progress -processors 1 image' 'gensquashfs -q -f -D d image' 'mksquashfs d image -quiet -no-progress -processors 1')
runs=2
for files in 6000 30000; do
    made $files; [ $files = 6000 ] || runs=1
    for i in 0 1 2 3; do took[$files+i]=$(processor "${commands[i]}"); echo "$files files: ${commands[i]}: ${took[$files+i]} ms"; done
done
for i in 0 1 2 3; do ratio[i]=$((took[30000+i] / took[6000+i])); echo "${commands[i]}: five times as many files take ${ratio[i]} times as long"; done
[ ${ratio[0]} -ge 12 ] && [ ${ratio[1]} -ge 12 ] && [ ${took[30002]} -lt $((took[30000] / 4)) ] && [ ${took[30003]} -lt $((took[30000] / 4)) ]
