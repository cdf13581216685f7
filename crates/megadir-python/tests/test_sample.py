"""`megadir.sample`: uniform, repeatable, and the sample of `megadir list --sample`."""

import os
import subprocess
import sys

import megadir
import pytest

COMMAND = os.path.join(os.path.dirname(sys.executable), "megadir")


def of_command(path, *words):
    ran = subprocess.run([COMMAND, "list", "-0", *words, path], stdout=subprocess.PIPE, check=True)
    paths = ran.stdout.split(b"\0")[:-1]
    start = os.fsencode(path) + b"/"
    return [entry[len(start) :] if entry.startswith(start) else entry for entry in paths]


def test_the_sample_is_the_one_of_the_command(tree, tmp_path):
    (tree / os.fsdecode(b"\xff\xfe")).touch()
    inventory = tmp_path / "inventory.parquet"
    megadir.scan(tree, inventory)
    for seed in range(8):
        for n in [0, 1, 7, 400]:
            expected = of_command(tree, "-r", f"--sample={n}", f"--seed={seed}")
            assert len(expected) == min(n, 308)
            for path in [os.fsencode(tree), os.fsencode(inventory)]:
                sample = megadir.sample(path, n, seed=seed, recursive=True)
                assert sample == (expected, 308, seed)
            assert [os.fsencode(path) for path in megadir.sample(tree, n, seed=seed, recursive=True).paths] == expected
        given = {"type": "file", "larger_than": "100B", "exclude": "b"}
        words = ["--type=file", "--larger-than=100", "--exclude=b"]
        sample = megadir.sample(os.fsencode(tree / "a"), 20, seed=seed, **given)
        assert sample == (of_command(tree / "a", "--sample=20", f"--seed={seed}", *words), 199, seed)


def test_without_a_seed_samples_differ_and_can_be_repeated(tree):
    samples = [megadir.sample(tree, 20, recursive=True) for _ in range(3)]
    assert len({tuple(sample.paths) for sample in samples}) == 3
    for sample in samples:
        assert sample.entries == 307 and len(set(sample.paths)) == 20 and sample.paths == sorted(sample.paths)
        assert megadir.sample(tree, 20, seed=sample.seed, recursive=True) == sample


def test_every_entry_is_drawn_about_equally_often(tree):
    """A thousand samples of 3 of the 10 files: each has 300 +- 14.5; six deviations are 87."""
    drawn = {}
    for seed in range(1000):
        for path in megadir.sample(tree / "a", 3, seed=seed, match="file-000?.dat").paths:
            drawn[path] = drawn.get(path, 0) + 1
    assert len(drawn) == 10 and sum(drawn.values()) == 3000
    assert all(abs(times - 300) < 87 for times in drawn.values())


def test_wrong_arguments_of_a_sample(tree):
    for n in [-1, 1_000_001, "3", 0.5]:
        with pytest.raises(ValueError, match="n: write a whole number from 0 to 1000000"):
            megadir.sample(tree, n)
    for seed in [-1, 2**64, "1"]:
        with pytest.raises(ValueError, match="seed: write a whole number"):
            megadir.sample(tree, 1, seed=seed)
    assert megadir.sample(tree, 1, seed=2**64 - 1).seed == 2**64 - 1
    with pytest.raises(FileNotFoundError):
        megadir.sample(tree / "missing", 1)
    with pytest.raises(TypeError, match="has no unit"):
        megadir.sample(tree, 1, older_than=3)
    seen = []
    megadir.sample(tree, 1, recursive=True, progress=seen.append)
    assert seen[-1] == 307
