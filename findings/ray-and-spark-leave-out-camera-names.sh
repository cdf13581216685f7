#!/bin/sh
# Wrong guess: a reader of a folder of images reads all its images. Ray Data (read_images, read_binary_files) and Spark (binaryFile, image) take a name that begins with _ for one
# that is not to be read, as _SUCCESS, without a message. But cameras of Canon and Nikon name photos in the Adobe RGB color space _MG_0001.JPG and _DSC0001.JPG. Of a list of names
# Ray reads them, and Spark leaves them out even then. Daft and datasets read them. Who is hurt: whoever trains on photos; the set lacks those of one color
# space. Without root. Needs Java, and some 450 MB for pyspark.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install ray==2.60.0 pyspark==4.3.0 daft==0.7.26 datasets==5.2.0 pillow==13.0.0 pyarrow==25.0.1 pandas==3.1.1
HOME="$t" HF_HUB_OFFLINE=1 v/bin/python - 2>messages <<'P' || { tail -20 messages; exit 1; }
import os, tempfile, importlib.metadata as metadata
from PIL import Image
os.mkdir("d")
for name in ["IMG_0001.JPG", "_MG_0002.JPG", "_DSC0003.JPG"]: Image.new("RGB", (4, 4)).save("d/" + name, format="JPEG")
names = sorted("d/" + name for name in os.listdir("d"))
print(*(f"{name} {metadata.version(name)}" for name in ["ray", "pyspark", "daft", "datasets"]))
seen = {}
def show(what, paths):
    seen[what] = sorted(os.path.basename(path) for path in paths)
    print(what, seen[what], flush=True)
import daft
show("Daft", daft.from_glob_path(os.getcwd() + "/d/*").to_pydict()["path"])
from datasets import load_dataset, Image as Feature
show("datasets", [row["image"]["path"] for row in load_dataset("imagefolder", data_dir="d", split="train", cache_dir="cache").cast_column("image", Feature(decode=False))])
import ray
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir=os.getcwd() + "/r")
for read in (ray.data.read_images, ray.data.read_binary_files):
    for what, paths in [("folder", "d"), ("list", names)]:
        show(f"Ray {read.__name__}, {what}", [row["path"] for row in read(paths, include_paths=True).take_all()])
ray.shutdown()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
for form, column in [("binaryFile", "path"), ("image", "image.origin")]:
    for what, paths in [("folder", "d"), ("list", names)]:
        show(f"Spark {form}, {what}", [row[0] for row in spark.read.format(form).load(paths).select(column).collect()])
spark.stop()
everything = ["IMG_0001.JPG", "_DSC0003.JPG", "_MG_0002.JPG"]
for what, found in seen.items():
    assert found == (everything if what in ("Daft", "datasets") or what.startswith("Ray") and what.endswith("list") else everything[:1]), what
P
