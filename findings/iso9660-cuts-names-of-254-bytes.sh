#!/bin/sh
# Wrong guess: a file system that stores names of 255 bytes lists them. xorriso and genisoimage write Rock Ridge names of up to 255 bytes without
# a warning; Linux cuts one of 254 or 255 bytes in the middle. Two files whose names differ behind that have one name: the directory lists it
# twice, and only one of the files can be opened. Who is hurt: archives of caches and mail (long names) on images, and programs that take a name in a directory
# for a key. And a listing has other inode numbers than stat (d_ino is the place in the directory). Without root: Debian's kernel as a process.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
apt-get -qq download user-mode-linux=6.1um4+b13 busybox-static=1:1.35.0-4+deb12u1+b1 xorriso=1.5.4-4 libisoburn1=1.5.4-4 libisofs6=1.5.4-1 libburn4=1.5.4-1 libjte2=1.22-3 2>/dev/null
for p in *.deb; do dpkg-deb -x "$p" x; done
mkdir -p s r/bin r/m r/proc r/dev; cp x/bin/busybox r/bin/
find x/usr/lib/uml -name isofs.ko -o -name cdrom.ko | while read -r m; do cp "$m" r/; done
for length in 253 254; do
    start=$length$(head -c $((length - 4)) /dev/zero | tr '\0' a)
    for end in x y; do echo "$length$end" >"s/$start$end"; done
done
LD_LIBRARY_PATH=$(echo x/usr/lib/*-linux-gnu) x/usr/bin/xorriso -as mkisofs -quiet -R -o i s 2>/dev/null
cat >r/init <<'I'
#!/bin/busybox sh
b=/bin/busybox; $b mount -t proc proc /proc; $b mount -t devtmpfs dev /dev
$b insmod /cdrom.ko; $b insmod /isofs.ko; $b mount -t iso9660 -o ro /dev/ubda /m
for f in /m/*; do
    name=${f#/m/}
    $b echo "RESULT a name that begins with $($b expr substr $name 1 3) has $([ ${#name} = 253 ] && $b echo 253 || $b echo fewer) bytes and opens $($b cat $f)"
done
$b echo "KERNEL $($b uname -r)"; $b poweroff -f
I
chmod +x r/init
TMPDIR=$t x/usr/bin/linux.uml mem=192M rootfstype=hostfs rootflags="$t/r" rw init=/init ubda=i con=null con0=null,fd:1 quiet >out 2>&1 </dev/null || true
tr -d '\r' <out | grep -aoE '(RESULT|KERNEL) .*' | tee result
[ "$(grep -c 'begins with 253 has 253 bytes and opens 253[xy]$' result)" = 2 ] && [ "$(grep 'with 253' result | sort -u | wc -l)" = 2 ]
[ "$(grep -c 'begins with 254 has fewer bytes' result)" = 2 ] && [ "$(grep 'with 254' result | sort -u | wc -l)" = 1 ]
