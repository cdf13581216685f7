#!/bin/sh
# Wrong guess: find, walk and get of fsspec on a tar pass over the list of members once; the list is in memory. The tar file system has no find of its own, as the zip one has, and
# its ls goes through all members, so find takes folders times members: four times as many folders take 16 times as many calls; 1000 folders of 10 files took 44 s and 2000 took 135 s.
# Who is hurt: whoever lists or extracts a data set of a folder per class, day or sample from one tar (fsspec, datasets, pandas, Dask, universal_pathlib). Counted by the
# profiler of Python. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install fsspec==2026.9.0
v/bin/python - <<'P'
import fsspec, io, sys, tarfile, time, zipfile
print("fsspec", fsspec.__version__)
def steps(kind, folders):
    with tarfile.open("x.tar", "w") as tar, zipfile.ZipFile("x.zip", "w") as zip:
        for name in (f"d{i:06}/{j}" for i in range(folders) for j in range(2)):
            info = tarfile.TarInfo(name); info.size = 1; tar.addfile(info, io.BytesIO(b"x")); zip.writestr(name, "x")
    files = fsspec.filesystem(kind, fo="x." + kind); files.ls("")
    start = time.monotonic(); assert len(files.find("")) == 2 * folders; seconds = time.monotonic() - start
    count = 0
    def called(frame, event, argument):
        nonlocal count
        count += event == "call"
    sys.setprofile(called); files.find(""); sys.setprofile(None)
    print(f"{kind}: {folders} folders, {2 * folders} files: {count} calls by find, {seconds:.2f} s")
    return count
few, many = ([steps(kind, folders) for kind in ("tar", "zip")] for folders in (100, 400))
assert many[0] / few[0] > 12 and many[1] / few[1] < 5
P
