"""Samples and classes, compared with those of torchvision."""

import errno
import importlib.util
import os
import pathlib
import random
import subprocess
import sys
import types

import pytest

import megadir
import megadir.torch


def torchvision_folder():
    """The module of torchvision. Without torch, which is large, it is loaded from the package without the base class of the datasets."""
    try:
        import torchvision.datasets.folder

        return torchvision.datasets.folder
    except ImportError:
        pass
    found = importlib.util.find_spec("torchvision")
    if found is None or importlib.util.find_spec("PIL") is None:
        pytest.skip("no torchvision")
    source = pathlib.Path(found.submodule_search_locations[0]) / "datasets" / "folder.py"
    vision = types.ModuleType("torchvision_alone.vision")
    vision.VisionDataset = object
    sys.modules["torchvision_alone"] = types.ModuleType("torchvision_alone")
    sys.modules["torchvision_alone.vision"] = vision
    spec = importlib.util.spec_from_file_location("torchvision_alone.folder", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def images(place):
    """Classes whose names, files and links need care."""
    top = place / "images"
    names = [
        "cat/1.jpg",
        "cat/10.JPG",
        "cat/2.jpeg",
        "cat/notes.txt",
        "cat/.hidden.png",
        "cat/.png",
        "cat/deep/er/3.webp",
        "cat/deep-er/4.tif",
        "cat-like/5.bmp",
        "cat/ü\u212a\u0130.TİFF",
        "cat/n\nl.png",
        "Cat/6.ppm",
        os.fsdecode(b"caf\xe9/7.pgm"),
        os.fsdecode(b"caf\xe9/\xff.pgm"),
        "caf\ue000/8.png",
        "caf\U0001f600/9.png",
        ".git/10.png",
        "top.png",
    ]
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(b"x")
    outside = place / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "11.png").touch()
    (outside / "sub" / "12.png").touch()
    (outside / "sub" / "link").symlink_to(top / "cat" / "deep")
    (top / "linked class").symlink_to(outside)
    (top / "cat" / "linked").symlink_to(outside / "sub")
    (top / "cat" / "0.png").symlink_to("1.jpg")
    (top / "cat" / "broken.png").symlink_to("missing")
    (top / "link to file").symlink_to("top.png")
    os.mkfifo(top / "cat" / "fifo.png")
    (top / "cat" / "directory.png").mkdir()
    return top


def sources(top):
    """The tree, an inventory of it, and the inventory refreshed."""
    inventory = top.parent / "images.parquet"
    megadir.scan(top, inventory)
    return [{}, {"inventory": inventory}, {"inventory": inventory, "refresh": True}]


@pytest.mark.parametrize("slash", ["", "/"])
def test_classes_and_samples_are_those_of_torchvision_in_their_order(images, slash):
    folder = torchvision_folder()
    directory = f"{images}{slash}"
    classes = folder.find_classes(directory)
    expected = folder.make_dataset(directory, extensions=folder.IMG_EXTENSIONS)
    assert len(expected) == 23 and folder.IMG_EXTENSIONS == megadir.torch.IMG_EXTENSIONS
    for source in sources(images):
        assert megadir.torch.find_classes(directory, **source) == classes
        assert megadir.torch.make_dataset(directory, **source) == expected
        for options in [
            {"extensions": ".png"},
            {"extensions": (".jpg", "TXT", ".txt")},
            {"is_valid_file": lambda path: "e" in path},
        ]:
            samples = megadir.torch.make_dataset(directory, allow_empty=True, **options, **source)
            assert samples == folder.make_dataset(directory, allow_empty=True, **options)
        chosen = {"cat-like": 7, "cat": 7, "missing": 1}
        samples = megadir.torch.make_dataset(directory, chosen, allow_empty=True, **source)
        assert samples == folder.make_dataset(directory, chosen, folder.IMG_EXTENSIONS, allow_empty=True)


def test_wrong_classes_fail_as_in_torchvision(images):
    folder = torchvision_folder()
    (images / "empty").mkdir()
    for arguments in [{}, {"class_to_idx": {"cat": 0, "empty": 0}}, {"class_to_idx": {}}]:
        with pytest.raises((FileNotFoundError, ValueError)) as expected:
            folder.make_dataset(images, extensions=folder.IMG_EXTENSIONS, **arguments)
        with pytest.raises(expected.type) as raised:
            megadir.torch.make_dataset(images, **arguments)
        assert str(raised.value) == str(expected.value)
    (images.parent / "bare").mkdir()
    with pytest.raises(FileNotFoundError, match="class folder"):
        megadir.torch.find_classes(images.parent / "bare")
    with pytest.raises(FileNotFoundError):
        megadir.torch.find_classes(images / "missing")
    with pytest.raises(ValueError, match="no name of a directory"):
        megadir.torch.make_dataset(images, {"cat/deep": 0})
    with pytest.raises(ValueError, match="needs inventory"):
        megadir.torch.make_dataset(images, refresh=True)


def test_changes_refresh_the_samples_of_an_inventory(images):
    folder = torchvision_folder()
    inventory = images.parent / "images.parquet"
    megadir.scan(images, inventory)
    before = megadir.torch.make_dataset(images, inventory=inventory)
    choice = random.Random(5)
    for step in range(12):
        files = [path for path in images.rglob("*") if path.is_file() and not path.is_symlink()]
        path = choice.choice(files)
        if step % 4 == 0:
            (images / f"new-{step}").mkdir()
            path.rename(images / f"new-{step}" / "moved.png")
        elif step % 4 == 1:
            path.with_name(f"added-{step}.jpg").touch()
        elif step % 4 == 2:
            (images / f"linked-{step}").symlink_to("cat")
        else:
            (images / "cat-like").rename(images / f"cat-like-{step}") if (images / "cat-like").exists() else path.unlink()
        expected = folder.make_dataset(images, extensions=folder.IMG_EXTENSIONS, allow_empty=True)
        samples = megadir.torch.make_dataset(images, inventory=inventory, refresh=True, allow_empty=True)
        assert samples == expected, step
        assert megadir.torch.find_classes(images, inventory, refresh=True) == folder.find_classes(images)
    assert before != expected
    moved = images.rename(images.parent / "moved")
    samples = megadir.torch.make_dataset(moved, inventory=inventory, refresh=True, allow_empty=True)
    assert samples == folder.make_dataset(moved, extensions=folder.IMG_EXTENSIONS, allow_empty=True)


@pytest.mark.parametrize("conditions", [{"exclude": "deep"}, {"match": "*.png"}, {"max_depth": 2}], ids=str)
def test_refresh_refuses_an_inventory_of_a_scan_with_conditions(images, conditions):
    inventory = images.parent / "images.parquet"
    megadir.scan(images, inventory, **conditions)
    (images / "cat" / "new.png").touch()
    for classes in [None, {"cat": 0}]:
        with pytest.raises(ValueError, match="refresh: .*images.parquet' has only entries that met the conditions of its scan"):
            megadir.torch.make_dataset(images, classes, inventory=inventory, refresh=True)
    with pytest.raises(ValueError, match="refresh: .*images.parquet'"):
        megadir.torch.find_classes(images, inventory, refresh=True)
    assert megadir.torch.make_dataset(images, {"cat": 0}, inventory=inventory)


def test_links_and_errors_of_other_classes_are_left_out(images):
    (images / "Cat" / "loop").symlink_to("../..")
    (images / "loop").symlink_to(".")
    chosen, errors = {"cat": 3, "linked class": 4}, []
    expected = None
    for source in sources(images):
        samples = megadir.torch.make_dataset(images, chosen, **source)
        assert samples == megadir.torch.make_dataset(images, chosen, on_error=errors.append, **source) and errors == []
        assert {number for _, number in samples} == {3, 4} and expected in (None, samples)
        expected = samples
        with pytest.raises(OSError, match="directory above"):
            megadir.torch.make_dataset(images, {"Cat": 0}, **source)


UNREADABLE = """if True:
    import os, sys
    import megadir, megadir.torch
    os.setgid(65534), os.setuid(65534)
    megadir.scan(sys.argv[1], sys.argv[2])
    for source in [{}, {"inventory": sys.argv[2]}]:
        errors = []
        samples = megadir.torch.make_dataset(sys.argv[1], {"cat-like": 0}, **source)
        print(len(samples), megadir.torch.make_dataset(sys.argv[1], {"cat-like": 0}, on_error=errors.append, **source) == samples, errors)
        try:
            megadir.torch.make_dataset(sys.argv[1], {"cat": 0}, **source)
        except OSError as error:
            print(os.path.relpath(error.filename, sys.argv[1]))
"""


def test_directories_of_other_classes_need_not_be_readable(images, tmp_path):
    """In another process, which gives up root's rights."""
    for directory in [images.parent, images.parent.parent, images.parent.parent.parent]:
        directory.chmod(0o755)
    (images / "cat" / "deep-er").chmod(0)
    output = images.parent / "output"
    output.mkdir()
    os.chown(output, 65534, 65534)
    done = subprocess.run([sys.executable, "-c", UNREADABLE, images, output / "images.parquet"], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines() == ["1 True []", "cat/deep-er"] * 2


def test_a_link_to_a_directory_above_is_an_error_instead_of_forty_copies(images):
    folder = torchvision_folder()
    expected = megadir.torch.make_dataset(images)
    (images / "cat" / "loop").symlink_to(".")
    # 41 copies, and as few as 21 where something is mounted meanwhile (findings/links-above-20-fail-beside-mounts.sh).
    copies = folder.make_dataset(images, extensions=folder.IMG_EXTENSIONS)
    assert 21 <= sum(path.endswith("/1.jpg") for path, _ in copies) <= 41
    with pytest.raises(OSError, match="directory above") as raised:
        megadir.torch.make_dataset(images)
    assert raised.value.errno == errno.ELOOP and raised.value.filename == f"{images}/cat/loop"
    errors = []
    assert megadir.torch.make_dataset(images, on_error=errors.append) == expected and len(errors) == 1
    # Through two links.
    (images / "cat" / "loop").unlink()
    (images / "Cat" / "there").symlink_to("../cat-like")
    (images / "cat-like" / "back").symlink_to("../Cat")
    with pytest.raises(OSError, match="directory above"):
        megadir.torch.make_dataset(images)


SCRIPT = """if True:
    import os, sys
    import megadir.torch
    os.setgid(65534), os.setuid(65534)
    try:
        megadir.torch.make_dataset(sys.argv[1])
    except PermissionError as error:
        print(os.path.relpath(error.filename, sys.argv[1]))
    errors = []
    print(len(megadir.torch.make_dataset(sys.argv[1], on_error=errors.append)), len(errors))
"""


def test_a_directory_that_may_not_be_read_is_an_error(images):
    """In another process, which gives up root's rights. torchvision leaves out the files silently."""
    before = len(megadir.torch.make_dataset(images))
    for directory in [images.parent, images.parent.parent, images.parent.parent.parent]:
        directory.chmod(0o755)
    (images / "cat" / "deep-er").chmod(0)
    done = subprocess.run([sys.executable, "-c", SCRIPT, images], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines() == ["cat/deep-er", f"{before - 1} 1"]
