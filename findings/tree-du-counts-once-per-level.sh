#!/bin/sh
# Wrong guess: the last line of `tree --du` is the size of the tree, as the line of the top folder and du have it. It is the sum of all lines below the top folder, and the line of a folder has what is in it: a file
# in eight folders below the top one is counted nine times, in the report of -J and -X, too. (Each name of a file with hard links counts as well.) Who is hurt: whoever measures a data set in nested folders by the last line, or by the field "size"
# of the report: 9 MB for 1 MB, and another factor for each tree. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' tree coreutils | tee /dev/stderr | tr '\n' ' ' | grep -q '^coreutils 9\.1-1 tree 2\.1\.0-1 $'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
measure() {
    mkdir -p "$1"; i=0; while [ "$i" -lt 100 ]; do head -c 10000 /dev/zero >"$1/$i"; i=$((i + 1)); done
    top=${1%%/*}
    echo "$1: du $((($(du -sb "$top" | cut -f 1) + 500000) / 1000000)), tree --du: top folder $((($(tree --du "$top" | sed -n '1s/[^0-9]*\([0-9]*\).*/\1/p') + 500000) / 1000000))," \
        "last line $((($(tree --du "$top" | sed -n 's/ *\([0-9]*\) bytes used in.*/\1/p') + 500000) / 1000000)), report of -J $((($(tree --du -J "$top" | sed -n 's/.*"report","size":\([0-9]*\),.*/\1/p') + 500000) / 1000000)) MB"
}
{ measure flat; measure two/2; measure nine/2/3/4/5/6/7/8/9; } | tee seen
diff - seen <<'E'
flat: du 1, tree --du: top folder 1, last line 1, report of -J 1 MB
two/2: du 1, tree --du: top folder 1, last line 2, report of -J 2 MB
nine/2/3/4/5/6/7/8/9: du 1, tree --du: top folder 1, last line 9, report of -J 9 MB
E
