#!/bin/bash
# Wrong guess: a library that watches a tree reports each new file of it, as its events name files. Of a folder that is moved in (written elsewhere and renamed, as is advised), watchfiles and
# @parcel/watcher report the folder and none of its files, of folders that are copied in only those files that come after the folder is watched; no message. In such folders
# @parcel/watcher misses now and then even files that come seconds later. inotifywait -r misses files, too, and its manual tells so. watchdog, chokidar and fs.watch of node list each new folder and report all.
# Who is hurt: upload queues, indexes and caches that add the files they are told of; complete sets of files (renamed folders) are those that are missed. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' inotify-tools | tee /dev/stderr | grep -q '^inotify-tools 3\.22\.6\.0-'
echo "node $(node --version)"
t=$(mktemp -d) watcher=; trap '[ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install watchfiles==1.3.0 watchdog==7.1.0
npm install --silent --no-fund --no-audit chokidar@6.0.0 @parcel/watcher@2.6.0 >/dev/null
cat >watch.mjs <<'N'
import chokidar from 'chokidar'; import fs from 'fs'; import parcel from '@parcel/watcher';
const how = process.argv[2];
if (how === 'chokidar') chokidar.watch('w', { ignoreInitial: true }).on('all', (event, path) => console.log(path));
else if (how === 'parcel') await parcel.subscribe(process.cwd() + '/w', (error, events) => { if (error) throw error; for (const event of events) console.log(event.path); });
else fs.watch('w', { recursive: true }, (event, name) => console.log('w/' + name));
N
cat >watch.py <<'P'
import sys, time, warnings, watchdog.events, watchdog.observers, watchfiles
warnings.simplefilter("ignore")
class Print(watchdog.events.FileSystemEventHandler):
    def on_any_event(self, event): print(event.src_path, event.dest_path, sep="\n", flush=True)
if sys.argv[1] == "watchdog":
    observer = watchdog.observers.Observer(); observer.schedule(Print(), "w", recursive=True); observer.start(); time.sleep(100)
for changes in watchfiles.watch("w", watch_filter=None):
    for change, path in changes: print(path, flush=True)
P
names() { grep -o "$1[^/]*$" output | sort -u | wc -l; }
failures=0
watch() { # all|some COMMAND: which files it is to report
    local expected=$1; shift
    rm -rf w src tree; mkdir -p w src/a/b; for i in 1 2 3 4 5 6 7 8 9; do echo x >src/a/b/moved$i; done
    for i in $(seq 100); do mkdir -p tree/$i/x; for j in 1 2 3; do echo x >tree/$i/x/copied-$i-$j; done; done
    "$@" >output 2>messages & watcher=$!
    sleep 4; touch w/first; sleep 1; mv src w/src; sleep 2; cp -r tree w/tree; sleep 3; touch w/src/a/b/later w/tree/100/x/later-too
    for _ in $(seq 50); do [ "$(names later)" != 2 ] || break; sleep 0.2; done
    kill $watcher; wait $watcher 2>/dev/null || true; watcher=
    moved=$(names moved) copied=$(names copied) later=$(names later) first=$(names first)
    echo "$*: $moved of 9 files of a moved folder, $copied of 300 of copied folders, $later of 2 later files, $first of 1 file outside; $(wc -l <messages) lines of messages"
    case $expected in
        all) [ "$moved $copied $later $first" = '9 300 2 1' ] || failures=1 ;;
        some) [ "$moved $first" = '0 1' ] || failures=1 ;; # The other numbers depend on how busy the machine is.
    esac
}
watch some v/bin/python watch.py watchfiles
watch some node watch.mjs parcel
watch some inotifywait -q -r -m --format %w%f w
watch all v/bin/python watch.py watchdog
watch all node watch.mjs chokidar
watch all node watch.mjs fs.watch
exit $failures
