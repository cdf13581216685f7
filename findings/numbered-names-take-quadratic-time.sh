#!/bin/bash
# Wrong guess: a program that gives numbers to files that would have one name remembers the last number, or searches for it by halves. exiftool ("%-c" in a name) and wget (names such as label.json.7) try all numbers from
# the first on for each file: exiftool took 6.7 s of processor time to rename 1000 images of one day and 87 s for less than 4000 (to names of their own 1.5 and 6.3 s), wget -nd 0.6 s and 7.3 s for 1000 and 4000 files of
# one name from as many folders (with names of their own 0.1 and 0.6 s). Who is hurt: whoever renames photos by their date, or collects files of one name from many folders in one. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' libimage-exiftool-perl wget | tee /dev/stderr | tr '\n' ' ' |
    grep -q '^libimage-exiftool-perl 12\.57+[^ ]* wget 1\.21\.3-1[^ ]* $'
t=$(mktemp -d -p /dev/shm); server=; stop() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$t"; }; trap stop EXIT; cd "$t"; export HOME="$t"
processor() { TIMEFORMAT='%U %S'; { time "$@" >output 2>&1; } 2>&1 | awk '{ printf "%d", ($1 + $2) * 1000 }'; } # Milliseconds.
mkdir web; cat >server.py <<'P'
import functools, http.server
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory="web"))
open("port.new", "w").write(str(server.server_address[1]))
__import__("os").rename("port.new", "port")
server.serve_forever()
P
python3 server.py & server=$!
for try in $(seq 50); do [ -e port ] && break; sleep 0.1; done; port=$(cat port)
files_in() { [ "$(ls "$1" | wc -l)" = "$2" ]; }
report() { echo "$1 of $2 files with $3 names: $4 ms"; declare -g "t_$1_$3_$2=$4"; }
images() { rm -rf d; mkdir d; python3 -c 'import os, sys
image = bytes.fromhex("ffd8fffe00046162ffd9")
for i in range(int(sys.argv[1])): open(f"d/{i:05}.jpg", "wb").write(image); os.utime(f"d/{i:05}.jpg", (1767225600,) * 2)' "$1"; }
export TZ=UTC
for files in 400 1600; do
    images $files; took=$(processor exiftool -q -d '%Y%m%d%%-c.%%e' '-filename<filemodifydate' d); files_in d $files; [ -e d/20260101-$((files - 1)).jpg ]; report exiftool $files equal "$took"
    images $files; took=$(processor exiftool -q '-filename<new$filename' d); files_in d $files; report exiftool $files own "$took"
done
for files in 800 3200; do
    rm -rf web/*; (cd web; seq $files | xargs mkdir; for i in $(seq $files); do echo "$i" >"$i/label.json"; done; seq $files | sed 's/$/.json/' | xargs touch)
    seq $files | sed "s#.*#http://127.0.0.1:$port/&/label.json#" >equal; seq $files | sed "s#.*#http://127.0.0.1:$port/&.json#" >own
    for names in equal own; do
        rm -rf to; mkdir to; took=$(cd to; processor wget -q -nd -i ../$names); rm -f to/output; files_in to $files; report wget $files $names "$took"
    done
done
[ $t_exiftool_equal_1600 -ge $((t_exiftool_equal_400 * 7)) ] && [ $t_exiftool_own_1600 -lt $((t_exiftool_equal_1600 / 3)) ] && [ $t_wget_equal_3200 -ge $((t_wget_equal_800 * 8)) ] && [ $t_wget_own_3200 -lt $((t_wget_equal_3200 / 4)) ]
