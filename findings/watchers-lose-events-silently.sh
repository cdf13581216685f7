#!/bin/bash
# Wrong guess: a program that watches a directory says so when the kernel's queue (16 384 events) has run over, so that its user can list the directory again.
# inotifywait and node's fs.watch drop the kernel's overflow event: they report the last file, not some thousands before it, and print nothing, though the manual
# of inotify asks for a new listing. fswatch does not even need an overflow: with its default latency it reads some 85 events a second, and is minutes late after
# a few thousand files. Who is hurt: synchronization, indexes and upload queues that wait for names. Without root; a program that is stopped for a while stands
# for one that is busy.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' fswatch inotify-tools | tee /dev/stderr | tr '\n' ' ' | grep -q '^fswatch 1\.14\.0[^ ]* inotify-tools 3\.22\.6\.0-[^ ]* $'
echo "node $(node --version), queue of $(cat /proc/sys/fs/inotify/max_queued_events)"
t=$(mktemp -d) watcher=; trap '[ -z "$watcher" ] || kill -KILL "$watcher" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
cat >watch.mjs <<'N'
import fs from 'fs';
fs.watch('d', (event, name) => console.log(String(name))).on('error', error => console.log('error', error.message));
N
# Five events a file, three for node.
create() { python3 -c 'import os, sys
for i in range(int(sys.argv[1])):
    with open(f"d/f{i}", "w") as file: file.write("x"); os.fchmod(file.fileno(), 0o600)' "$1"; }
count=$(($(cat /proc/sys/fs/inotify/max_queued_events) / 3 + 1600))
names() { grep -o 'f[0-9]*$' output | sort -u | wc -l; }
lost() {
    rm -rf d; mkdir d; "$@" >output 2>messages & watcher=$!
    sleep 2; kill -STOP $watcher; create $count; kill -CONT $watcher
    sleep 2; touch d/last
    for _ in $(seq 50); do ! grep -q 'last$' output || break; sleep 0.2; done
    seen="$([ "$(names)" -lt $count ] && echo lost) $(grep -q 'last$' output && echo goes-on) $(cat output messages | grep -ci 'over\|error\|lost' || true)"
    echo "$*: $(names) of $count names; $seen (messages)"
    kill $watcher; wait $watcher 2>/dev/null || true; watcher=
}
lost inotifywait -q -m d; inotifywait=$seen
lost node watch.mjs; node=$seen
rm -rf d; mkdir d; fswatch d >output 2>messages & watcher=$!
sleep 2; create 2000; sleep 5; fswatch=$(names)
echo "fswatch: $fswatch of 2000 names after 5 s"; kill $watcher; wait $watcher 2>/dev/null || true; watcher=
for seen in "$inotifywait" "$node"; do [ "$seen" = 'lost goes-on 0' ]; done
[ "$fswatch" -gt 0 ] && [ "$fswatch" -lt 1000 ]
