#!/bin/sh
# Wrong guess: mogrify changes each file of its list in place, whatever the file's name is. ImageMagick takes %d, %o and %x in the name, with a width before the letter, for the number of the picture: after
# `mogrify -resize 50% *.png` the file my%20dog.png is gone and there is "my", 19 spaces and "0og.png"; 50%off.png replaces 500ff.png, whose picture is lost; exit code 0, no message. my%20cat.png stays. identify and convert read them
# by their names, and GraphicsMagick keeps the names. Who is hurt: whoever scales images that a crawler stored under names in the form of URLs: labels by name match no more, for words with d, o and x only. Without root.
set -eu
export LC_ALL=C
dpkg-query -W -f '${Package} ${Version}\n' graphicsmagick imagemagick-6.q16 | tee /dev/stderr | tr '\n' ' ' | grep -q '^graphicsmagick 1\.4+really1\.3\.40-4.* imagemagick-6\.q16 8:6\.9\.11\.60+dfsg-1\.6'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
images() {
    rm -rf w; mkdir w; cd w
    size=8; for name in 500ff.png 50%off.png box.png my%20cat.png my%20dog.png; do convert-im6.q16 -size ${size}x8 xc:red png:- >"$name"; size=$((size + 16)); done
}
show() { echo "$1:"; for name in *.png; do printf '%s is %s pixels wide\n' "$name" "$(identify-im6.q16 -format %w - <"$name")"; done; cd ..; }
{
    images; identify-im6.q16 my%20dog.png | grep -o '^my%20dog.png PNG 72x8'; show before
    images; mogrify-im6.q16 -resize 50% ./*.png; show "exit code $? of ImageMagick"
    images; gm mogrify -resize 50% ./*.png; show "exit code $? of GraphicsMagick"
} 2>&1 | tee seen
diff - seen <<'E'
my%20dog.png PNG 72x8
before:
50%off.png is 24 pixels wide
500ff.png is 8 pixels wide
box.png is 40 pixels wide
my%20cat.png is 56 pixels wide
my%20dog.png is 72 pixels wide
exit code 0 of ImageMagick:
500ff.png is 6 pixels wide
box.png is 20 pixels wide
my                   0og.png is 36 pixels wide
my%20cat.png is 28 pixels wide
exit code 0 of GraphicsMagick:
50%off.png is 12 pixels wide
500ff.png is 4 pixels wide
box.png is 20 pixels wide
my%20cat.png is 28 pixels wide
my%20dog.png is 36 pixels wide
E
