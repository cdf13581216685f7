#!/bin/sh
# Wrong guess: with --from0, each entry of --files-from is a literal name. rsync drops entries that begin with # or ; as comments,
# and exits with 0. Who is hurt: backups of changed files by list lack such names at the top of a tree. Names with ./ in front are kept.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' rsync | tee /dev/stderr | grep -qx 'rsync 3\.5\.0+ds1-0+deb12u1'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
mkdir s d e; touch 's/#a' 's/;b' s/c
(cd s; find . -type f -printf '%P\0') | rsync -a --from0 --files-from=- s/ d/
(cd s; find . -type f -print0) | rsync -a --from0 --files-from=- s/ e/
echo "plain names: $(ls d | xargs)"; echo "names with ./: $(ls e | wc -l)"
[ "$(ls -A d)" = c ] && [ "$(ls -A e | wc -l)" = 3 ]
