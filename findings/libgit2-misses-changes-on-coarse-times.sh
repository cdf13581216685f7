#!/bin/bash
# Wrong guess: a change is seen by every Git library, since a file that may have changed after the index was written is read again ("racily clean"). libgit2
# compares nanoseconds of the two times: if the work tree is on a file system with whole seconds (ext3, ext4 with inodes of 128 bytes, and others) and the
# Git directory is not, then the file's time is cut and looks older than the index. A file that is rewritten with the same size within the second of
# index.write() is unchanged for libgit2 for ever, and add_all does not store it: the commit has the old contents, without a message. git itself compares
# whole seconds and sees it. Who is hurt: generators and servers that use libgit2 on a separate work tree (sticks, old volumes, network mounts).
# Needs root (loop mount), ext4.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' git | tee /dev/stderr | grep -q '^git 1:2\.39\.5-'
t=$(mktemp -d); trap 'cd /; umount "$t/work" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q --no-input install pygit2==1.21.0
truncate -s 32M image; mkfs.ext4 -q -I 128 image 2>message || { cat message; exit 1; }; mkdir work; mount -o loop image work; rmdir work/lost+found
v/bin/python - <<'P'
import os, subprocess, time, pygit2
print("pygit2", pygit2.__version__, "libgit2", pygit2.LIBGIT2_VERSION)
def committed(git):
    flags = pygit2.enums.RepositoryInitFlag
    pygit2.init_repository(git, workdir_path=os.path.abspath("work"), flags=flags.NO_DOTGIT_DIR | flags.MKPATH)
    def write(text):
        with open("work/file", "w") as file: file.write(text)
    repository = pygit2.Repository(git)
    time.sleep(1.1 - time.time() % 1)
    write("one\n")
    time.sleep(0.2)
    repository.index.add("file"); repository.index.write()
    time.sleep(0.2)
    write("two\n")
    assert int(os.stat("work/file").st_mtime) == int(os.stat(git + "/index").st_mtime), "the machine was too slow"
    time.sleep(1.1)
    repository = pygit2.Repository(git)
    modified = bool(repository.status_file("file") & pygit2.enums.FileStatus.WT_MODIFIED)
    by_git = subprocess.run(["git", "--git-dir", git, "--work-tree", "work", "status", "--porcelain", "file"], capture_output=True, text=True).stdout.strip()
    repository.index.add_all(["file"]); repository.index.write()
    return modified, by_git, repository[repository.index["file"].id].data.decode().strip()
elsewhere, inside = committed("elsewhere"), committed("work/inside")
print("modified for libgit2, status of git, contents in the index after add_all; the file says 'two'")
print("Git directory on another file system:", elsewhere, "| on the same one:", inside)
assert elsewhere == (False, "AM file", "one") and inside == (True, "AM file", "two")
P
