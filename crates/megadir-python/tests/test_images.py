"""The comparison of docs/images.md: what the libraries find themselves equals what megadir returns to them."""

import os
import pathlib
import subprocess
import sys

import pytest

FULL = os.environ.get("MEGADIR_FULL") == "1"
SCRIPT = pathlib.Path(__file__).parents[1] / "bench" / "images.py"


def compared(directory, *options):
    done = subprocess.run(
        [sys.executable, SCRIPT, directory, "--rounds", "1", *options], stdout=subprocess.PIPE, text=True, check=True
    )
    assert not any(directory.iterdir())
    return done.stdout


@pytest.fixture(autouse=True)
def libraries():
    for library in ["fsspec", "datasets", "torchvision", "PIL"]:
        if not any(pathlib.Path(place, library).is_dir() for place in sys.path):
            pytest.skip(f"no {library}")


def test_a_small_folder_is_compared(tmp_path):
    text = compared(tmp_path, "--files", "1k", "--skip", "datasets")
    assert "make_dataset / this" in text and "find / this" in text


@pytest.mark.skipif(not FULL, reason="a million files, and 66 searches of a tenth of them by datasets: MEGADIR_FULL=1")
def test_a_million_images_are_compared(tmp_path):
    assert "datasets / this" in compared(tmp_path, "--files", "100k")
    assert "find / this" in compared(tmp_path, "--files", "1M", "--skip", "datasets")
