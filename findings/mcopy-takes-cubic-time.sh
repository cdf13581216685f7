#!/bin/sh
# Wrong guess: mtools copies n files into a directory of a FAT image in time n, or, as FAT directories have no index, in n squared. If names are long
# and begin alike, as those of a camera do, twice the files take six times as long or more: for each file, mcopy tries the short names ~1, ~2, ... and reads the
# directory for each. 1 200 files took 11 s of the processor, 8 000 with names in 8.3 form 3 s. Who is hurt: whoever fills sticks or boot images by mcopy. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' mtools dosfstools | tee /dev/stderr | tr '\n' ' ' | grep -q '^dosfstools 4\.2-1 mtools 4\.0\.33-1'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"; PATH=$PATH:/usr/sbin
# Hundredths of a second of the processor.
copy() {
    rm -rf d i; mkdir d; (cd d; seq -f "$1" "$2" | xargs touch); truncate -s 64M i; mkfs.vfat -F 32 i >/dev/null
    python3 -c 'import os, subprocess, sys
subprocess.run(["mcopy", "-s", "-Q", "-i", "i", "d", "::"], check=True)
print(round(os.times().children_user * 100))'
}
half=$(copy 'picture-of-the-day-%06g.jpeg' 400); all=$(copy 'picture-of-the-day-%06g.jpeg' 800); short=$(copy 'P%06g.JPG' 800)
echo "400 long names: ${half}0 ms, 800: ${all}0 ms, 800 names in 8.3 form: ${short}0 ms"
[ "$all" -gt $((half * 9 / 2)) ] && [ "$all" -gt $((short * 10)) ]
