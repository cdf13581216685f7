#!/bin/sh
# Wrong guess: a stack of images, some of 8 and some of 16 bits, is read in the larger type, or not at all. SimpleITK.ReadImage, imread of dask-image and of dask.array.image, and rasterio.merge (a mosaic of tiles) take the type of the FIRST file for all:
# behind an 8-bit image a value of 300 becomes 44 and 0.75 becomes 0, without a message, and the order of the names decides; max() of the same array of Dask is 300. pims and ImageCollection of scikit-image read 300, tifffile refuses the
# stack. Who is hurt: whoever reads a folder of label masks, where a mask of up to 255 objects is stored in 8 bits and one of more in 16 bits: objects merge or vanish, in some folders only. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v
v/bin/pip -q install SimpleITK==2.5.7 tifffile==2026.3.3 imagecodecs==2026.3.6 scikit-image==0.26.0 numpy==2.4.6 dask==2026.8.0 dask-image==2026.5.0 PIMS==0.7 rasterio==1.4.4
v/bin/pip freeze | grep -i -e '^SimpleITK==' -e '^tifffile==' -e '^scikit-image==' -e '^dask' -e '^pims==' -e '^rasterio=='
v/bin/python - <<'P' 2>messages | tee seen || { cat messages; exit 1; }
import dask.array.image, dask_image.imread, numpy, pims, rasterio, rasterio.merge, SimpleITK, tifffile
from pathlib import Path
from skimage.io import ImageCollection
def stack(name, *images):
    Path(name).mkdir()
    for i, (value, kind) in enumerate(images): tifffile.imwrite(f"{name}/{i}.tif", numpy.full((40, 60), value, kind))
stack("8,16", (7, "u1"), (300, "u2")); stack("16,8", (300, "u2"), (7, "u1")); stack("8,float", (7, "u1"), (0.75, "f4"))
def names(folder): return sorted(map(str, Path(folder).iterdir()))
readers = {
    "SimpleITK": lambda folder: SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(names(folder))),
    "dask-image": lambda folder: dask_image.imread.imread(f"{folder}/*.tif").compute(),
    "dask.array": lambda folder: dask.array.image.imread(f"{folder}/*.tif").compute(),
    "pims": lambda folder: numpy.array(pims.open(f"{folder}/*.tif")[:]),
    "scikit-image": lambda folder: ImageCollection(names(folder)).concatenate(),
    "tifffile": lambda folder: tifffile.imread(names(folder)),
}
for folder in ("8,16", "16,8", "8,float"):
    for reader, read in readers.items():
        try: array = read(folder); print(folder, reader, array.dtype, [float(image.flat[0]) for image in array])
        except ValueError as error: print(folder, reader, "ValueError:", error)
for i, (value, kind) in enumerate(((7, "uint8"), (300, "uint16"))):
    where = rasterio.transform.from_origin(10 * i, 10, 1, 1)
    with rasterio.open(f"tile{i}.tif", "w", width=10, height=10, count=1, dtype=kind, crs="EPSG:3857", transform=where) as tile:
        tile.write(numpy.full((1, 10, 10), value, kind))
mosaic = rasterio.merge.merge(["tile0.tif", "tile1.tif"])[0]
print("mosaic of 8,16 rasterio", mosaic.dtype, mosaic.shape, float(mosaic[0, 0, 0]), float(mosaic[0, 0, 19]))
print("max() of dask.array", dask.array.image.imread("8,16/*.tif").max().compute())
P
if grep -i -e overflow -e truncat -e cast -e 'dtype' -e 'pixel type' messages; then exit 1; fi
diff - seen <<'E'
8,16 SimpleITK uint8 [7.0, 44.0]
8,16 dask-image uint8 [7.0, 44.0]
8,16 dask.array uint8 [7.0, 44.0]
8,16 pims uint16 [7.0, 300.0]
8,16 scikit-image uint16 [7.0, 300.0]
8,16 tifffile ValueError: cannot cast uint16 to uint8
16,8 SimpleITK uint16 [300.0, 7.0]
16,8 dask-image uint16 [300.0, 7.0]
16,8 dask.array uint16 [300.0, 7.0]
16,8 pims uint16 [300.0, 7.0]
16,8 scikit-image uint16 [300.0, 7.0]
16,8 tifffile ValueError: size mismatch
8,float SimpleITK uint8 [7.0, 0.0]
8,float dask-image uint8 [7.0, 0.0]
8,float dask.array uint8 [7.0, 0.0]
8,float pims float32 [7.0, 0.75]
8,float scikit-image float32 [7.0, 0.75]
8,float tifffile ValueError: cannot cast float32 to uint8
mosaic of 8,16 rasterio uint8 (1, 10, 20) 7.0 44.0
max() of dask.array 300
E
