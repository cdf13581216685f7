#!/bin/bash
# Wrong guess: with multigrain timestamps (Linux 6.13 and later) a file whose times were looked at gets other times by whatever changes it afterwards, so a tool that
# notices changes by times (a build, a backup, git's index) needs no check of files that were modified just before its look. A write sets the times first and the
# data afterwards, under a lock that a reader does not take: a look in between has the new times with the old contents, and the times never change again.
# Who is hurt: make, backups and indexes that drop the check for "racily clean" entries on new kernels. A write that begins after the look does get
# other times, always, which is the second number. The kernel is the one that runs; the file system is that of the temporary folder.
set -eu
uname -r; python3 --version; [[ $(uname -r) = 6.18.* ]]
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
fs=$(df --output=fstype . | tail -1); echo "$fs"; [[ $fs = ext[34] || $fs = xfs ]]
timeout 120 python3 - <<'P'
import os, sys, threading, time
SIZE = 1 << 18
blocks = [b"a" * SIZE, b"b" * SIZE]
fd = os.open("f", os.O_RDWR | os.O_CREAT); os.pwrite(fd, blocks[0], 0)
def look():
    status = os.stat("f"); return status.st_mtime_ns, status.st_ctime_ns, status.st_size
def count(concurrent):
    stale, rounds, end = 0, 0, time.monotonic() + 10
    while time.monotonic() < end:
        rounds += 1
        write = threading.Thread(target=os.pwrite, args=(fd, blocks[rounds % 2], 0))
        if concurrent: write.start()
        times, contents = look(), os.pread(fd, SIZE, 0)
        if not concurrent: write.start()
        write.join()
        stale += look() == times and os.pread(fd, SIZE, 0) != contents
    return stale, rounds
beside, before = count(True), count(False)
print("the look lies within a write: of %d looks %d have the later times and the earlier contents" % beside[::-1])
print("the look lies before a write: of %d looks %d" % before[::-1])
sys.exit(not (beside[0] > 0 and before[0] == 0))
P
