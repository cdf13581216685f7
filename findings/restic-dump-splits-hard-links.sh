#!/bin/sh
# Wrong guess: `restic dump SNAPSHOT /` writes a tar that extracts to what `restic restore` makes: the snapshot has the link counts and inode numbers of hard links, and restore makes them again. dump writes each name with its contents,
# and times in whole seconds, though the tar is pax for the attributes: a tree with 20 names per file gets 20 times as large, while `restic stats` names the size of one. tar of the tree and borg export-tar keep the links. Who is hurt: whoever
# turns backups of linked trees (cp -al, mail, package caches, Git clones) into tars, or pipes them to another host: the disk gets full. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' borgbackup restic | tee /dev/stderr | tr '\n' ' ' | grep -q 'borgbackup 1\.2\.4-1 restic 0\.14\.0-1+b5 '
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
export RESTIC_PASSWORD=p HOME="$t" BORG_RELOCATED_REPO_ACCESS_IS_OK=yes
mkdir s; head -c 100000 /dev/zero >s/0; for i in $(seq 19); do ln s/0 s/$i; done; touch -d 2001-01-01T00:00:00.123456789Z s/0
restic init -q -r r; restic -q -r r backup s; restic -q -r r dump latest / >dump.tar; restic -q -r r restore latest --target restored >messages
borg init -e none b; borg create b::a s; borg export-tar b::a borg.tar; tar --format=pax -cf tar.tar s
size() { mkdir x; tar -xf $1.tar -C x; echo "$1: $(($(stat -c %s $1.tar) / 1000)) kB, links $(stat -c %h x/s/0), mtime $(TZ=UTC stat -c %y x/s/0)"; rm -r x; }
echo "restic stats: $(restic -q -r r stats latest --json | grep -o '"total_size":[0-9]*')" | tee seen
echo "restored: links $(stat -c %h restored/s/0), mtime $(TZ=UTC stat -c %y restored/s/0)" | tee -a seen
{ size dump; size borg; size tar; } | tee sizes
grep -q '"total_size":100000$' seen && grep -q '^restored: links 20, mtime 2001-01-01 00:00:00.123456789' seen
grep -Eq '^dump: 20[0-9]{2} kB, links 1, mtime 2001-01-01 00:00:00.000000000' sizes && grep -Eq '^borg: 1[0-9]{2} kB, links 20, ' sizes && grep -Eq '^tar: 1[0-9]{2} kB, links 20, mtime 2001-01-01 00:00:00.123456789' sizes
