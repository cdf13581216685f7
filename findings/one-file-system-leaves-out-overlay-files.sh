#!/bin/sh
# Wrong guess: an option such as --one-file-system keeps a program out of the mounts below a folder, so a tree without mounts is read as a whole with it, too. On overlayfs with layers on two file
# systems (live systems, overlayroot: squashfs or a disk below, tmpfs above; without xino) only folders have the device number of the mount, files have one of their layer. restic, dar -M,
# mksquashfs and rdiff-backup compare the number of each file, so they store the folders and no file at all; exit code 0, and only mksquashfs prints a line for each. du -x and ncdu -x count none,
# tmpreaper removes none. GNU find and tar, rsync, cp, bsdtar, borg and bup compare folders only and see all. Who is hurt: whoever backs up / of such a system with the option that leaves out /proc and /sys:
# the backup has no files. Root, or user namespaces.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' borgbackup bup coreutils dar libarchive-tools ncdu rdiff-backup restic rsync squashfs-tools tar | tee /dev/stderr | tr '\n' ' ' | grep -qE \
    '^borgbackup 1\.2\.4-1 bup 0\.33\.7-1[^ ]* coreutils 9\.1-1 dar 2\.7\.8-2[^ ]* libarchive-tools 3\.6\.2-1[^ ]* ncdu 1\.18-[^ ]* rdiff-backup 2\.2\.2-1 restic 0\.14\.0-1[^ ]* rsync [^ ]* squashfs-tools 1:4\.5\.1-1 tar 1\.34[^ ]* $'
echo "Linux $(uname -r)"
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
apt-get -qq download tmpreaper=1.6.17 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" programs; done; PATH="$t/programs/bin:$t/programs/usr/bin:$t/programs/usr/sbin:$PATH"; export PATH
cat >run <<'S'
set -eu
mkdir lower upper tree; mount -t tmpfs none lower; mount -t tmpfs none upper; mkdir -p upper/files upper/work lower/d/sub
for i in 1 2 3 4 5; do echo "contents $i" >lower/d/$i; echo "contents $i" >lower/d/sub/$i; done
mount -t overlay none -o lowerdir=lower,upperdir=upper/files,workdir=upper/work,xino=off tree
for i in 6 7 8 9; do echo "contents $i" >tree/d/$i; done
echo "device numbers: folder $(stat -c %d tree/d), file of the lower layer $(stat -c %d tree/d/1), of the upper one $(stat -c %d tree/d/6)"
report() { files=$(grep -cE '(^|/|"name":")[1-9]("[^}]*|)$' list | cat); echo "$1: $files of 14 files, exit code $code"; echo "$files $code" >>seen; }
run() { name=$1; shift; code=0; "$@" >messages 2>&1 || code=$?; }
export HOME="$PWD" BORG_BASE_DIR="$PWD/borg-base" BUP_DIR="$PWD/bup" RESTIC_PASSWORD=x
run tar tar --one-file-system -cf tar.tar tree; tar tf tar.tar >list; report "$name"
run bsdtar bsdtar --one-file-system -cf bsdtar.tar tree; tar tf bsdtar.tar >list; report "$name"
mkdir cp; run cp cp -ax tree cp; find cp >list; report "$name"
run rsync rsync -ax tree rsync; find rsync >list; report "$name"
borg init -e none borg; run borg borg create -x borg::a tree; borg list --short borg::a >list; report "$name"
bup init 2>/dev/null; bup index -x tree; run bup bup save -q -n a tree; { bup ls "a/latest$PWD/tree/d"; bup ls "a/latest$PWD/tree/d/sub"; } >list; report "$name"
restic init -q -r restic; run restic restic -q -r restic backup -x tree; [ ! -s messages ]; restic -q -r restic ls latest >list; report "$name"
run dar dar -Q -q -M -c dar -R tree; [ ! -s messages ]; dar -Q -q -l dar >list; report "$name"
run mksquashfs mksquashfs tree image -one-file-system -quiet -no-progress; unsquashfs -l image >list; report "$name"
run rdiff-backup rdiff-backup backup --exclude-other-filesystems tree rdiff; find rdiff -path '*rdiff-backup-data*' -prune -o -print >list; report "$name"
run du du -xa tree; cp messages list; report "$name -x"
run ncdu ncdu -x -0 -o export tree; grep -v othfs export >list; report "$name -x"
run find find tree -xdev; cp messages list; report "$name -xdev"
cp -a tree plain; find tree plain -exec touch -h -d 2020-01-01 {} +
for folder in plain tree; do run tmpreaper tmpreaper --mtime 1d "$PWD/$folder"; [ ! -s messages ]; find "$folder" >list; report "$name, left in $folder"; done
S
user=; [ "$(id -u)" = 0 ] || user=-r
unshare $user -m sh run
[ "$(paste -sd, seen)" = '14 0,14 0,14 0,14 0,14 0,14 0,0 0,0 0,0 0,0 0,0 0,0 0,14 0,0 0,14 0' ]
