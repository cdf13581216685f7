"""Directories to test in: on tmpfs, and on ext4 in an image that is mounted for the run."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest


def make_ext4(scratch: pathlib.Path) -> pathlib.Path:
    image, mount = scratch / "image", scratch / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(256 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-b", "4096", "-i", "1024", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mount], check=True)
    return mount


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="drops privileges")


def holds_for_an_ordinary_user(path: pathlib.Path, check) -> bool:
    """Call ``check`` in a child that gives up root's rights, which may read everything. It may search the directories above ``path``."""
    for directory in path.parents:
        if not directory.stat().st_mode & 0o001:
            directory.chmod(directory.stat().st_mode | 0o011)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgid(65534)
            os.setuid(65534)
            check()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


@pytest.fixture(scope="session", params=["tmpfs", "ext4"])
def file_system(request):
    """Empty directory on a file system."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="megadir-python-"))
    mount = None
    try:
        if request.param == "tmpfs":
            mount = scratch / "mount"
            mount.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", mount], check=True)
        else:
            mount = make_ext4(scratch)
        yield mount
    except (OSError, subprocess.CalledProcessError) as error:
        if os.environ.get("MEGADIR_REQUIRE_ALL") == "1":
            raise
        pytest.skip(f"no {request.param}: {error}")
    finally:
        if mount is not None and os.path.ismount(mount):
            subprocess.run(["umount", mount], check=True)
        shutil.rmtree(scratch)


@pytest.fixture
def file_system_name(request, file_system):
    return request.node.callspec.params["file_system"]


@pytest.fixture
def place(file_system):
    """Empty directory of a test."""
    directory = pathlib.Path(tempfile.mkdtemp(dir=file_system))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def tree(place):
    """Files of several types and sizes in three directories."""
    top = place / "tree"
    (top / "a" / "b").mkdir(parents=True)
    (top / "empty").mkdir()
    for index in range(300):
        (top / "a" / f"file-{index:04}.dat").write_bytes(b"x" * index)
    (top / "a" / "b" / "größe.txt").write_text("text")
    (top / "link").symlink_to("a")
    (top / "dangling").symlink_to("missing")
    os.mkfifo(top / "fifo")
    return top
