#!/bin/sh
# Wrong guess: unar and lsar, which read "any archive", extract of a tar what tar does, or end with an error. Members that are hard links are left out, without a message, exit code 0, while lsar lists them; and pax headers are ignored, so
# that paths above 100 bytes are cut and files whose paths begin alike are one (of 3 files one). Times are whole seconds. The format of GNU tar has long names right, and loses links as well.
# tar, bsdtar, 7zz and BusyBox have all files. Who is hurt: whoever extracts archives of linked trees or with long names by unar, as file managers do, and removes the archive. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' 7zip busybox libarchive-tools unar | tee /dev/stderr | tr '\n' ' ' |
    grep -q '7zip 22\.01+really26\.02+dfsg-0+deb12u1 busybox 1:1\.35\.0-4+deb12u1+b1 libarchive-tools 3\.6\.2-1+deb12u5 unar 1\.10\.7+ds1+really1\.10\.1-2+b2 '
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
mkdir s l; echo one >s/a; ln s/a s/b; echo other >s/c
d=l/$(printf 'experiment-%.0s' $(seq 9)); for i in 0 1 2; do echo "result $i" >"$d$i.txt"; done
for f in pax gnu; do tar --format=$f --sort=name -cf links-$f.tar s; tar --format=$f --sort=name -cf names-$f.tar l; done
python3 -c 'import tarfile; t = tarfile.open("names-python.tar", "w"); t.add("l"); t.close()'
for a in links-pax links-gnu names-pax names-gnu names-python; do
    for with in 'unar -q -f -D -o x' '7zz x -y -bso0 -bsp0 -ox' 'bsdtar -C x -xf' 'busybox tar -C x -xf' 'tar -C x -xf'; do
        mkdir x; code=0; $with $a.tar >messages 2>&1 || code=$?; echo "$a, ${with%% *}: exit code $code, $(find x -type f | wc -l) files, $(wc -l <messages) lines of messages"; rm -r x
    done
    echo "$a, lsar: $(lsar $a.tar | tail -n +2 | grep -vc '/$') files"
done | tee seen
for a in links-pax links-gnu names-pax names-gnu names-python; do
    for with in unar 7zz bsdtar busybox tar; do
        case $a,$with in links-*,unar) n=2 ;; names-gnu,unar) n=3 ;; names-*,unar) n=1 ;; *) n=3 ;; esac
        echo "$a, $with: exit code 0, $n files, 0 lines of messages"
    done
    echo "$a, lsar: 3 files"
done | diff - seen
