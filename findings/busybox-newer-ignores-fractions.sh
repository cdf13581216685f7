#!/bin/sh
# Wrong guess: find -newer compares times as exactly as the file system keeps them, in BusyBox as in GNU find and toybox. BusyBox 1.35 compares whole seconds in find -newer, cp -u and [ -nt ]
# (applet and shell), so a file that is written in the second of the mark, after it, is not newer than the mark; exit code 0. The usual loop "touch next; find -newer mark; mv next mark"
# then never sees such files, and thousands are written in a second. find, cp and [ of GNU, bash and dash go by nanoseconds.
# Who is hurt: whoever makes incremental copies or indexes by find -newer or cp -u in Alpine containers, on routers and NAS devices. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' busybox coreutils dash findutils toybox | tee /dev/stderr | tr '\n' ' ' |
    grep -q '^busybox 1:1\.35\.0-4[^ ]* coreutils 9\.1-1 dash 0\.5\.12-2 findutils 4\.9\.0-4 toybox 0\.8\.9[^ ]* $'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
mkdir written first second; (cd written; seq 1000 | xargs touch -d '2026-01-01 00:00:01.002')
touch -d '2026-01-01 00:00:01.001' mark; touch -d '2026-01-01 00:00:01.003' next
seen=
round() { # MARK PROGRAM: files newer than the mark
    count=$($2 written -type f -newer "$1" | wc -l); echo "$2 -newer $1: $count of 1000 files"; seen="$seen $count"
}
round mark find; round mark 'toybox find'; round mark 'busybox find'
round next 'busybox find' # The next round of a loop: the files stay out.
echo new >new; touch -d '2026-01-01 00:00:01.002' new
for cp in cp 'busybox cp'; do
    echo old >old; touch -d '2026-01-01 00:00:01.001' old
    $cp -u new old; echo "$cp -u: $(cat old)"; seen="$seen $(cat old)"
done
for shell in bash dash 'busybox sh'; do
    answer=$($shell -c '[ new -nt mark ] && echo newer || echo no'); echo "[ -nt ] of $shell: $answer"; seen="$seen $answer"
done
[ "$seen" = ' 1000 1000 0 0 new old newer newer no' ]
