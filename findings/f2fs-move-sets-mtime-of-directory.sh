#!/bin/sh
# Wrong guess: renaming a directory leaves its mtime, which changes when its entries do; only its ctime and the two parents' times change.
# NILFS2 sets the mtime of the renamed directory with every rename, F2FS when it moves to another directory, because both write its `..` by
# the function that changes any entry. Who is hurt: whoever recognizes a moved directory by inode number and mtime, where there is no birth
# time, or skips directories whose mtime is old. Without root: Debian's kernel as a process (User Mode Linux).
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
apt-get -qq download user-mode-linux=6.1um4+b13 f2fs-tools=1.15.0-1 nilfs-tools=2.2.9-1 busybox-static=1:1.35.0-4+deb12u1+b1 2>/dev/null
for p in *.deb; do dpkg-deb -x "$p" x; done
mkdir -p r/bin r/m r/proc r/dev; cp x/bin/busybox r/bin/
find x/usr/lib/uml -name crc32_generic.ko -o -name f2fs.ko -o -name nilfs2.ko | while read -r m; do cp "$m" r/; done
truncate -s 144M f n
PATH=$PATH:/usr/sbin; x/sbin/mkfs.f2fs -q -f f >/dev/null; x/sbin/mkfs.nilfs2 -q -f n
cat >r/init <<'I'
#!/bin/busybox sh
b=/bin/busybox; $b mount -t proc proc /proc; $b mount -t devtmpfs dev /dev
$b insmod /crc32_generic.ko
for f in 'f2fs ubda' 'nilfs2 ubdb'; do
    set -- $f; $b insmod /$1.ko; $b mount -t $1 /dev/$2 /m || continue
    $b mkdir -p /m/a/b /m/c; $b sleep 2
    t() { $b stat -c %Y "$1"; }
    before=$(t /m/a/b); $b mv /m/a/b /m/a/d; renamed=$(t /m/a/d); $b sleep 2; $b mv /m/a/d /m/c/d; moved=$(t /m/c/d)
    $b echo "RESULT $1: renamed: $([ $before = $renamed ] && $b echo same || $b echo new) mtime, moved: $([ $renamed = $moved ] && $b echo same || $b echo new) mtime"
    $b umount /m
done
$b echo "KERNEL $($b uname -r)"; $b poweroff -f
I
chmod +x r/init
TMPDIR=$t x/usr/bin/linux.uml mem=192M rootfstype=hostfs rootflags="$t/r" rw init=/init ubda=f ubdb=n con=null con0=null,fd:1 quiet >out 2>&1 </dev/null || true
tr -d '\r' <out | grep -aoE '(RESULT|KERNEL) .*' | tee result
grep -qx 'RESULT f2fs: renamed: same mtime, moved: new mtime' result
grep -qx 'RESULT nilfs2: renamed: new mtime, moved: new mtime' result
