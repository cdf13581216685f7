#!/bin/bash
# Wrong guess: xorriso builds an image from a list of files (-path-list, -path_list, -map_l) as fast as from the folder with the same files. With a list it goes through the entries of the target folder
# for each name: 5000 files in one folder took 0.3 s of processor time, 20 000 took 22 s (80 times as long), so 200 000 take an hour or so. The folder as a whole takes 0.1 and 0.4 s, and genisoimage reads the
# same list in linear time. Who is hurt: whoever chooses the files of an image by find or by a database (archives on discs, installers, data for virtual machines). Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' genisoimage libisofs6 xorriso | tee /dev/stderr | tr '\n' ' ' | grep -q '^genisoimage 9:1\.1\.11-3[^ ]* libisofs6 1\.5\.4-1 xorriso 1\.5\.4-4 $'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"
processor() { rm -f image; TIMEFORMAT=%U; { time $1 >output 2>&1; } 2>&1 | tr -d . | sed 's/^0*//;s/^$/0/'; } # Milliseconds in user mode.
commands=('xorriso -as mkisofs -quiet -R -graft-points -path-list list -o image' 'xorriso -as mkisofs -quiet -R -o image d' 'genisoimage -quiet -R -graft-points -path-list list -o image')
for files in 4000 16000; do
    rm -rf d; mkdir d; seq -f d/%06.0f $files | xargs touch; for name in d/*; do echo "$name=$name"; done >list
    for i in ${!commands[*]}; do
        took[files+i]=$(processor "${commands[i]}"); [ "$(bsdtar tf image | grep -c '[0-9]$')" = $files ]
    done
done
failures=0
for i in ${!commands[*]}; do
    few=${took[4000+i]} many=${took[16000+i]}
    echo "${commands[i]}: $few ms for 4000 files, $many ms for 16000"
    if [ $i = 0 ]; then [ $many -ge $((few * 9)) ] || failures=1; else [ $many -lt $((took[16000] / 8)) ] || failures=1; fi
done
exit $failures
