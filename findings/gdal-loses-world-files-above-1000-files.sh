#!/bin/sh
# Wrong guess: which world file belongs to an image does not depend on the other files of the folder. In a folder of fewer than 1000 files GDAL compares names without
# case, in a larger one it does not: A.tif with a.tfw has a place beside 990 files and none beside 1010, without an error. Who is hurt: whoever copies scans of
# case-insensitive volumes together on Linux: beyond 1000 files the west edge of the images is 0. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install rasterio==1.4.4
v/bin/python -W ignore - <<'P'
import os, shutil, numpy, rasterio
print("rasterio", rasterio.__version__, "GDAL", rasterio.__gdal_version__)
def west(others, image, world):
    os.makedirs("d")
    with rasterio.open("d/" + image, "w", driver="GTiff", width=2, height=2, count=1, dtype="uint8") as file: file.write(numpy.ones((1, 2, 2), "uint8"))
    with open("d/" + world, "w") as file: file.write("2\n0\n0\n-2\n100\n200\n")
    for i in range(others): open(f"d/x{i}", "w").close()
    with rasterio.open("d/" + image) as file: found = file.transform[2]
    shutil.rmtree("d")
    return found
seen = {}
for image, world in [("a.tif", "a.tfw"), ("A.tif", "a.tfw"), ("a.tif", "A.tfw"), ("a.TIF", "A.TFW")]:
    seen[image, world] = [west(others, image, world) for others in (990, 1010)]
    print(image, "with", world, "west edge beside 990 and 1010 files:", seen[image, world])
assert list(seen.values()) == [[99, 99], [99, 0], [99, 0], [99, 0]]
P
