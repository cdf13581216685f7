#!/bin/sh
# Wrong guess: two files with one inode number are hard links, and then have two links. On cramfs the number is the place of the contents, which
# mkfs.cramfs stores once: unrelated files with the same contents have one number, and one link each. On ROMFS hard links have one number and one link each.
# Who is hurt: `find -samefile`, inventories and caches by inode number; counts by links see no hard link. Without root: Debian's kernel as a process.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
apt-get -qq download user-mode-linux=6.1um4+b13 busybox-static=1:1.35.0-4+deb12u1+b1 genromfs=0.5.2-4+b1 2>/dev/null
for p in *.deb; do dpkg-deb -x "$p" x; done
mkdir -p s r/bin r/m r/proc r/dev; cp x/bin/busybox r/bin/; PATH=$PATH:/usr/sbin
find x/usr/lib/uml -name cramfs.ko -o -name romfs.ko -o -name mtd.ko | while read -r m; do cp "$m" r/; done
echo same >s/a; echo same >s/b; echo other >s/c; ln s/c s/d
mkfs.cramfs -V; mkfs.cramfs s c >/dev/null; x/usr/bin/genromfs -f o -d s
cat >r/init <<'I'
#!/bin/busybox sh
b=/bin/busybox; $b mount -t proc proc /proc; $b mount -t devtmpfs dev /dev
$b insmod /mtd.ko; $b insmod /cramfs.ko; $b insmod /romfs.ko
for f in 'cramfs ubda' 'romfs ubdb'; do
    set -- $f; $b mount -t $1 -o ro /dev/$2 /m || continue
    n() { $b stat -c %i /m/$1; }
    same() { [ $(n $1) = $(n $2) ] && $b echo one number || $b echo two numbers; }
    $b echo "RESULT $1: equal contents: $(same a b), hard links: $(same c d), links: $($b stat -c %h /m/a /m/b /m/c /m/d | $b tr '\n' ' ')"
    $b umount /m
done
$b echo "KERNEL $($b uname -r)"; $b poweroff -f
I
chmod +x r/init
TMPDIR=$t x/usr/bin/linux.uml mem=192M rootfstype=hostfs rootflags="$t/r" rw init=/init ubda=c ubdb=o con=null con0=null,fd:1 quiet >out 2>&1 </dev/null || true
tr -d '\r' <out | grep -aoE '(RESULT|KERNEL) .*' | tee result
grep -qx 'RESULT cramfs: equal contents: one number, hard links: one number, links: 1 1 1 1 ' result
grep -qx 'RESULT romfs: equal contents: two numbers, hard links: one number, links: 1 1 1 1 ' result
