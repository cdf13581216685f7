#!/bin/sh
# Wrong guess: an archive has either nanoseconds or whole seconds. The default format of bsdtar ("restricted pax") has whole seconds for most files and nanoseconds
# for those that need a further header for another reason, for instance a name of more than 100 bytes. So the order of times is reversed: a result that was made
# 0.3 s after its source is older than the source in the restored tree. Who is hurt: whoever restores trees with both: make builds again what is up to date,
# `find -newer` and synchronizers pick other files than before. `--format pax` keeps all, `--format gnutar` none. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' libarchive-tools make | tee /dev/stderr | tr '\n' ' ' | grep -q '^libarchive-tools 3\.6\.2-1[^ ]* make 4\.3-4[^ ]* $'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
source=source-$(printf '%0110d' 1)
mkdir d; printf 'result: %s\n\techo made\n' "$source" >d/Makefile
touch -d '2020-01-01 00:00:00.5' "d/$source"; touch -d '2020-01-01 00:00:00.8' d/result
fractions() { echo "$(date -r "$1/$source" +%1N)$(date -r "$1/result" +%1N) $(cd "$1"; make -q && echo 'up to date' || echo 'to be made')"; }
restored() { rm -rf o; mkdir o; bsdtar "$@" -cf archive d; bsdtar -xf archive -C o; fractions o/d; }
before=$(fractions d) default=$(restored) pax=$(restored --format pax) gnutar=$(restored --format gnutar)
echo "tenths of a second of source and result: before $before | default $default | pax $pax | gnutar $gnutar"
[ "$before" = '58 up to date' ] && [ "$default" = '50 to be made' ] && [ "$pax" = '58 up to date' ] && [ "$gnutar" = '00 up to date' ]
