#!/bin/sh
# Wrong guess: a birth time is set once; and a ctime lasts. On exFAT, Linux sets the birth time of a directory to the current time whenever an
# entry in it is renamed, and the ctime is not stored: after a remount it is the mtime. Who is hurt: whoever recognizes a directory by its birth
# time (there are no lasting inode numbers on exFAT), and backups that compare the ctime. The same in Linux 6.12. Without root: the
# kernel of Debian 12 in QEMU, emulated.
set -eu
k=6.1.0-56-amd64
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
apt-get -qq download linux-image-$k=6.1.192-2 2>/dev/null
apt-get -qq download busybox-static=1:1.35.0-4+deb12u1+b1 exfatprogs=1.2.0-1+deb12u1 coreutils=9.1-1 \
    qemu-system-x86=1:7.2+dfsg-7+deb12u18+b3 qemu-system-common qemu-system-data seabios $(
    apt-get -s install --no-install-recommends qemu-system-x86 2>/dev/null | awk '$1 == "Inst" && $2 ~ /^lib/ { print $2 }') 2>/dev/null
for p in *.deb; do dpkg-deb -x "$p" x; rm "$p"; done
mkdir -p r/bin r/m r/proc r/dev; cp x/bin/busybox r/bin/
for m in loop exfat; do find x/lib/modules -name $m.ko -exec cp {} r/ \;; done
truncate -s 32M r/i; x/usr/sbin/mkfs.exfat r/i >/dev/null
# busybox's stat has no birth time.
cp x/usr/bin/stat r/bin/; ldd x/usr/bin/stat | grep -o '/[^ ]*' | while read -r l; do mkdir -p "r$(dirname "$l")"; cp -L "$l" "r$l"; done
cat >r/init <<'I'
#!/bin/busybox sh
b=/bin/busybox; $b mount -t proc proc /proc; $b mount -t devtmpfs dev /dev; $b insmod /loop.ko; $b insmod /exfat.ko
mnt() { $b mount -t exfat -o loop /i /m; }
mnt; $b mkdir /m/d; $b touch /m/d/a; $b touch -d @1600000000 /m/d/a; $b sleep 3
before=$(/bin/stat -c %W /m/d); $b touch /m/d/b; created=$(/bin/stat -c %W /m/d); $b sleep 3; $b mv /m/d/b /m/d/c; renamed=$(/bin/stat -c %W /m/d)
$b mv /m/d/a /m/d/e; ctime=$(/bin/stat -c %Z /m/d/e); $b umount /m; mnt; after=$(/bin/stat -c %Z /m/d/e)
same() { [ "$1" = "$2" ] && $b echo same || $b echo new; }
$b echo "RESULT birth of the directory: after a create $(same $before $created), after a rename $(same $created $renamed)"
$b echo "RESULT ctime: after a remount $(same $ctime $after), the mtime: $(same $after 1600000000)"
$b echo "KERNEL $($b uname -r)"; $b poweroff -f
I
chmod +x r/init; (cd r; find . | ../x/bin/busybox cpio -o -H newc 2>/dev/null) >initrd
LD_LIBRARY_PATH=x/usr/lib/x86_64-linux-gnu x/usr/bin/qemu-system-x86_64 -L x/usr/share/qemu -L x/usr/share/seabios -accel tcg -m 512 -nodefaults \
    -no-reboot -nographic -serial file:out -kernel x/boot/vmlinuz-$k -initrd initrd -append 'console=ttyS0 quiet panic=-1'
tr -d '\r' <out | grep -aoE '(RESULT|KERNEL) .*' | tee result
grep -qx 'RESULT birth of the directory: after a create same, after a rename new' result
grep -qx 'RESULT ctime: after a remount new, the mtime: same' result
