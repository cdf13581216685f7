#!/bin/bash
# Wrong guess: rsync --fuzzy, which looks in the folder for a file that resembles the new one, narrows the choice by size or by the beginning of the name, so four times as many files take four times
# as long. It computes the edit distance of each new name to each name of the folder at the other side: 1000 new files beside 1000 old ones took 1.7 s of processor time, 4000 beside 4000 took 25 s
# (without the option 0.03 s), so 100 000 take hours. Renamed files, with size and time as before, are found at once. Who is hurt: whoever sends folders in which each day brings new files (logs, frames,
# measurements); --fuzzy is in recipes for backups with --link-dest. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' rsync | tee /dev/stderr | grep -q '^rsync 3\.5\.0'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"
processor() { TIMEFORMAT=%U; { time "$@" >output 2>&1; } 2>&1 | tr -d . | sed 's/^0*//;s/^$/0/'; } # Milliseconds in user mode, of all three processes.
make() { mkdir "$1"; (cd "$1"; python3 -c 'import os, sys
for i in range(int(sys.argv[2])):
    name = f"{sys.argv[1]}-report-2026-{i:06}.dat"
    with open(name, "w") as file: file.write(f"{sys.argv[3]} {i}")
    os.utime(name, (int(sys.argv[3]) + i,) * 2)' "$2" "$3" "$4"); }
for files in 750 3000; do
    rm -rf old new renamed; make old old $files 1700000000; make new new $files 1800000000; make renamed renamed $files 1700000000
    for run in 'new -a' 'new -ay' 'renamed -ay'; do
        rm -rf to; cp -a old to; took=$(processor rsync ${run#* } ${run% *}/ to); [ "$(ls to | wc -l)" = $((files * 2)) ]
        echo "rsync ${run#* }, $files ${run% *} files beside $files: $took ms"; declare "t_${run//[ -]/_}_$files=$took"
    done
done
[ $t_new__ay_3000 -ge $((t_new__ay_750 * 9)) ] && [ $t_new__a_3000 -lt $((t_new__ay_3000 / 20)) ] && [ $t_renamed__ay_3000 -lt $((t_new__ay_3000 / 10)) ]
