"""Data files, compared with those that `datasets` finds."""

import os
import pathlib
import warnings

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"
datasets = pytest.importorskip("datasets")

from datasets.data_files import DataFilesDict, EmptyDatasetError, get_data_patterns  # noqa: E402

import megadir  # noqa: E402
import megadir.huggingface  # noqa: E402

TREES = {
    "hidden and special names": [
        "a/1.jpg", "b/2.jpg", "b/.h.jpg", "__x__/y.jpg", ".g/z.jpg", "b/..jpg", "c/.../x.jpg", "...", "c/__d", "README.md", "config.json", "b/config.json",
    ],
    "splits by directory": ["train/a/1.jpg", "train/b/2.jpg", "test/a/3.jpg", "x.jpg"],
    "splits by file": ["a/x_train.jpg", "a/dev-1.jpg", "b.jpg"],
    "a class with the name of a split": ["bus/1.jpg", "car/2.jpg", "train/3.jpg"],
    "a file that two patterns match": ["train/train-1/1.jpg"],
    "shards": ["data/train-00000-of-00001.jpg", "data/x-00000-of-00001.jpg", "data/y.jpg"],
    "a word within a name": ["latest/1.jpg", "device/2.jpg"],
    "logs": ["a.eval", "b"],
    "tasks": ["a/task.toml", "b"],
    "odd names": ["a/n\nl.jpg", "a/tr\nain.jpg", os.fsdecode(b"a/\xff.jpg"), "a/\U0001f600.jpg", "a/\ue000.jpg", "a/b\\c [1].jpg", "x:/y.jpg"],
    "many levels": ["a.jpg", "a/b.jpg", "a-b/c.jpg", "a/b/c/d/e.jpg"],
}  # fmt: skip


def plain(files):
    return {str(split): (list(paths), paths.origin_metadata) for split, paths in files.items()}


def found_by_datasets(directory):
    base = pathlib.Path(directory).resolve().as_posix()
    return plain(DataFilesDict.from_patterns(get_data_patterns(base), base_path=base))


@pytest.mark.parametrize("tree", TREES)
def test_files_splits_and_times_are_those_of_datasets(tmp_path, tree):
    top = tmp_path / "top"
    for number, name in enumerate(TREES[tree]):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(b"x")
        os.utime(top / name, ns=(0, 1_234_567_890_123_456_789 + number))
    (top / "fifo.jpg").parent.mkdir(exist_ok=True)
    os.mkfifo(top / "fifo.jpg")
    file = next(path for path in top.rglob("*.*") if path.is_file())
    (file.parent / "link.jpg").symlink_to(file.name)
    (file.parent / "broken.jpg").symlink_to("missing")
    (top / "linked").symlink_to(".")
    expected = found_by_datasets(top)
    megadir.scan(top, tmp_path / "top.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert plain(megadir.huggingface.data_files(top)) == expected
        assert plain(megadir.huggingface.data_files(top, inventory=tmp_path / "top.parquet")) == expected


def test_files_that_are_in_no_split_are_reported(tmp_path):
    for name in TREES["a class with the name of a split"]:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    with pytest.warns(UserWarning, match="2 files of .* in no split.*split='train'"):
        megadir.huggingface.data_files(tmp_path)
    files = megadir.huggingface.data_files(tmp_path, split="train")
    assert [os.path.relpath(path, tmp_path) for path in files["train"]] == ["bus/1.jpg", "car/2.jpg", "train/3.jpg"]


def test_names_that_datasets_cannot_take_are_found(tmp_path):
    """A directory that looks like a pattern, and a name that looks like a path within an archive."""
    top = tmp_path / "photos [2]"
    top.mkdir()
    (top / "1.jpg").touch()
    with pytest.raises(EmptyDatasetError):
        found_by_datasets(top)
    (top / "a::b.jpg").touch()
    assert len(megadir.huggingface.data_files(top)["train"]) == 2
    with pytest.raises(EmptyDatasetError, match="doesn't contain any data files"):
        (tmp_path / "empty").mkdir()
        megadir.huggingface.data_files(tmp_path / "empty")


def test_load_dataset_takes_them(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for number, name in enumerate(["cat/1.png", "dog/2.png", "dog/3.png"]):
        (tmp_path / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        image.new("L", (1, 1), number).save(tmp_path / "images" / name)
    files = megadir.huggingface.data_files(tmp_path / "images")
    loaded = datasets.load_dataset("imagefolder", data_files=files, cache_dir=os.fspath(tmp_path / "cache"))["train"]
    assert loaded.features["label"].names == ["cat", "dog"] and loaded["label"] == [0, 1, 1]
    assert [example.getpixel((0, 0)) for example in loaded["image"]] == [0, 1, 2]
