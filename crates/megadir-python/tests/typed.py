"""Typical uses, for mypy and pyright only: each must be accepted with exactly these types."""

import os
import pathlib
from datetime import timedelta
from typing import Optional, Union

import megadir
import megadir.fsspec
import megadir.huggingface
import megadir.pack
import megadir.torch


def uses() -> None:
    version: str = megadir.__version__
    stream: megadir.Stream = megadir.list(
        pathlib.Path("photos"), columns=["name"], match=["*.jpg"], older_than=timedelta(days=1), larger_than="4KiB"
    )
    batches: int = sum(len(batch) for batch in stream)
    sizes: megadir.Stream = megadir.list(b"photos", columns=["size"], stat_backend="ext4-device", cross_mounts=True)
    names: list[str] = [entry.name for entry in megadir.scandir("photos")]
    raw: list[bytes] = [entry.path for entry in megadir.scandir(b"photos")]
    for entry in megadir.scandir():
        status: os.stat_result = entry.stat(follow_symlinks=False)
        is_directory: bool = entry.is_dir()
    errors: list[OSError] = []
    total: int = megadir.count("photos", recursive=True, on_error=errors.append, progress=print, type="file")
    drawn: megadir.Sample = megadir.sample("photos", 100, seed=7, recursive=True, type="file")
    some: list[Union[str, bytes]] = drawn.paths
    compared: megadir.Comparison = megadir.compare("photos", b"copy.parquet", by="size", exclude=["*.tmp"], progress=True)
    differences: megadir.Stream = compared.differences
    estimate: tuple[int, int, int, str] = megadir.estimate("photos")
    rows: int = megadir.scan(["a", "b"], "out.parquet", stat_backend="statx", by="atime", newer_than="1d").rows
    used: megadir.Stream = megadir.usage("photos", order="allocated", by="mtime", older_than="1h")
    advice: str = megadir.advise("photos", files=10_000_000, time="1m", like=b"a")["layout"]["name"]
    samples: megadir.Stream = megadir.records.read("record.jsonl")
    path: bytes = megadir.Layout("digest:2").path(b"abcdef")
    name: str = megadir.Layout("digest:2").name(pathlib.Path("be/abcdef"))
    complete: bool = megadir.remove("photos", dry_run=True, owner=1000).complete
    kept: Optional[megadir.Kept] = megadir.remove("cache", keep_within="50GB", by="atime", older_than="1h").budget
    within: bool = kept is not None and kept.is_met
    errno: Optional[int] = errors[0].errno
    recorded: megadir.Stream = megadir.list("inventory.parquet", columns="size", recursive=True, progress=True)
    changed: megadir.Stream = megadir.changes("inventory.parquet", match="*.jpg", older_than="1d", progress=True)
    hashed: megadir.Scanned = megadir.scan("a", "b.parquet", hash="all", read_rate="50MB/s", read_threads=8, on_error=errors.append)
    read_bytes: int = 0 if hashed.hashes is None else hashed.hashes.read_bytes
    contents_of: list[megadir.Verified] = []
    night: megadir.Stream = megadir.changes("b.parquet", verify="1/30", read_rate="1MB/s", on_verified=contents_of.append)
    try:
        megadir.changes("b.parquet", verify="all")
    except megadir.RottenError as rotten:
        paths: list[Union[str, bytes]] = [file.path for file in rotten.verified.rotten]
        rest: Optional[megadir.Stream] = rotten.changes
    files: megadir.Files = megadir.files(pathlib.Path("photos"), match="*.jpg", inventory="inventory.parquet")
    sizes_of: list[tuple[str, Optional[int]]] = list(zip(files.paths, files.sizes))
    system = megadir.fsspec.MegadirFileSystem(inventory="inventory.parquet", root=pathlib.Path("photos"))
    used_bytes = system.du("photos", total=False)
    classes: tuple[list[str], dict[str, int]] = megadir.torch.find_classes("photos")
    images: list[tuple[str, int]] = megadir.torch.make_dataset(
        "photos", classes[1], extensions=".jpg", inventory=b"inventory.parquet", refresh=True, on_error=errors.append
    )
    data_files = megadir.huggingface.data_files("photos", split="train", inventory="inventory.parquet")
    problems: list[Exception] = []
    shards: int = megadir.pack.create("photos", pathlib.Path("packed"), shard_size="64MiB", on_error=errors.append).shards
    found: int = megadir.pack.verify(b"packed", "photos", on_error=problems.append, progress=True).problems
    pack: megadir.pack.Pack = megadir.pack.open("packed", check=False)
    contents: bytes = pack["a.jpg"] + pack[b"b.jpg"] + pack[pathlib.Path("old/c.jpg")]
    either: Optional[bytes] = pack.get("a.jpg")
    number_or_bytes: Union[bytes, int] = pack.get(b"a.jpg", 5)
    all_of_them: dict[str, bytes] = dict(pack)
    shard, offset, length = pack.place("a.jpg")
    descriptor: int = os.open(shard, os.O_RDONLY)
    part: bytes = os.pread(descriptor, length, offset)
    large: megadir.Stream = pack.table(columns=["path", "size"], type="file", larger_than="1MB")
    keys: list[str] = [sample["__key__"] for sample in pack.samples(by_path=True)]
