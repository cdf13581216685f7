#!/bin/bash
# Wrong guess: files with the same name in many folders (one label.json for each sample) go to the trash in linear time. gio trash and send2trash look for a free name from the first number on, for each
# file: 1000 files took 1.2 and 1.5 s of processor time, 4000 took 18 and 24 s, so 100 000 take hours; files with names of their own took 0.2 s. What was in the trash before counts, too.
# trash-cli takes random numbers after the hundredth and is linear. Who is hurt: whoever removes such files in a file manager (they use GIO or the same loop) or by a program with send2trash. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' libglib2.0-bin | tee /dev/stderr | grep -q '^libglib2\.0-bin 2\.74\.6-2'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install send2trash==2.2.0 trash-cli==0.26.9.29; echo "send2trash 2.2.0, trash-cli 0.26.9.29"
export HOME="$t/home" XDG_DATA_HOME="$t/home/.local/share"
processor() { TIMEFORMAT='%U %S'; { time "$@" >output; } 2>&1 | awk '{ printf "%d", ($1 + $2) * 1000 }'; } # Milliseconds.
for run in 'equal gio trash' 'own gio trash' 'equal v/bin/send2trash' 'own v/bin/send2trash' 'equal v/bin/trash-put'; do
    for files in 700 2800; do
        rm -rf home data; mkdir home
        python3 -c 'import os, sys
for i in range(int(sys.argv[1])): os.makedirs(f"data/{i}"); open(f"data/{i}/label" + (f"{i}.json" if sys.argv[2] == "own" else ".json"), "w").close()' $files "${run%% *}"
        took=$(processor ${run#* } data/*/*); [ "$(ls home/.local/share/Trash/files | wc -l)" = $files ]
        echo "${run#* } of $files files with ${run%% *} names: $took ms"; name=${run%% *}${run##* }; declare "t_${name//[^a-z0-9]/_}_$files=$took"
    done
done
# Measured as 15 and 16 times; the start of Python is in the numbers of the others.
[ $t_equaltrash_2800 -ge $((t_equaltrash_700 * 9)) ] && [ $t_owntrash_2800 -lt $((t_equaltrash_2800 / 10)) ] &&
    [ $t_equalv_bin_send2trash_2800 -ge $((t_equalv_bin_send2trash_700 * 7)) ] && [ $t_ownv_bin_send2trash_2800 -lt $((t_equalv_bin_send2trash_2800 / 5)) ] &&
    [ $t_equalv_bin_trash_put_2800 -lt $((t_equalv_bin_trash_put_700 * 6)) ]
