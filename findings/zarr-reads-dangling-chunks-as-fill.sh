#!/bin/sh
# Wrong guess: Zarr reads a chunk that does not exist as the fill value, but a chunk whose name exists and that cannot be read is an error. For zarr-python and
# TensorStore, a chunk that is a symbolic link without a target, or a folder, is a missing one: zeros, without a message; if the folder of all chunks is a file,
# all of the array is zeros. (A chunk that is an empty file is an error.) Who is hurt: whoever keeps arrays in git-annex or DataLad, where a file whose contents
# were not fetched is a link without a target, or links chunks to a volume that is not mounted: means and sums are wrong. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install zarr==3.1.6 tensorstore==0.1.86
v/bin/python - <<'P' 2>errors || { cat errors; exit 1; }
import os, shutil, importlib.metadata as metadata, numpy, tensorstore, zarr
print("zarr", metadata.version("zarr"), "tensorstore", metadata.version("tensorstore"))
def by_zarr(): return zarr.open_array("z", mode="r")[:]
def by_tensorstore():
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": os.path.abspath("z") + "/"}}
    return tensorstore.open(spec, read=True).result().read().result()
def total(read):
    try: return int(read().sum())
    except Exception as error: return type(error).__name__
def absent(): os.remove("z/c/1")
def dangling(): os.remove("z/c/1"); os.symlink("not-fetched", "z/c/1")
def folder(): os.remove("z/c/1"); os.mkdir("z/c/1")
def file(): shutil.rmtree("z/c"); open("z/c", "w").close()
def empty(): open("z/c/1", "w").close()
def whole(): pass
seen = {}
for change in [whole, absent, dangling, folder, file, empty]:
    shutil.rmtree("z", ignore_errors=True)
    array = zarr.create_array("z", shape=(40,), chunks=(10,), dtype="i4", fill_value=0, compressors=None)
    array[:] = numpy.ones(40, "i4")
    change()
    seen[change.__name__] = (total(by_zarr), total(by_tensorstore))
    print("sum of 40 ones, zarr and TensorStore, chunk 1 or c is", change.__name__, seen[change.__name__])
assert seen == {"whole": (40, 40), "absent": (30, 30), "dangling": (30, 30), "folder": (30, 30), "file": (0, 0), "empty": ("ValueError", "ValueError")}
P
