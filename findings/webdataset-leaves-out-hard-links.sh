#!/bin/sh
# Wrong guess: a tar of a folder in which equal files are hard links (cp -al, jdupes -L, a pool of equal images) has as many samples as the folder has files.
# tar stores the second name of a file as a link, and webdataset and datasets read regular members only: samples are missing without a message, and of a pair
# image + label whose image is such a name, the label comes alone (datasets fails if that is one of the first five). fsspec's tar file system and Python's tarfile read the link. `tar --hard-dereference` stores
# each name with its contents. Who is hurt: whoever packs a deduplicated data set; which names are lost depends on the order of the directory. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install webdataset==1.0.2 datasets==5.2.0 fsspec==2026.9.0
mkdir images; for i in 0 1 2 3 4 5 6; do echo "image $i" >images/$i.txt; echo "label $i" >images/$i.cls.txt; done; ln images/0.txt images/9.txt; echo "label 9" >images/9.cls.txt
(cd images; tar cf ../linked.tar --sort=name -- *; tar cf ../whole.tar --sort=name --hard-dereference -- *)
HF_HUB_OFFLINE=1 v/bin/python - <<'P' 2>errors || { cat errors; exit 1; }
import warnings; warnings.simplefilter("ignore")
import fsspec, webdataset
from datasets import load_dataset
print("webdataset", webdataset.__version__)
def samples(name):
    read = list(webdataset.WebDataset(name, shardshuffle=False))
    rows = load_dataset("webdataset", data_files=[name], split="train", cache_dir="cache")
    files = fsspec.filesystem("tar", fo=name)
    return (sum("txt" in s for s in read), sum("cls.txt" in s for s in read), sum(r["txt"] is not None for r in rows), len(rows),
            sum(len(files.cat_file(f)) > 0 for f in files.find("") if f.count(".") == 1))
linked, whole = samples("linked.tar"), samples("whole.tar")
print("images, labels by webdataset; images, rows by datasets; images by fsspec")
print("with a hard link:", linked, "dereferenced:", whole)
assert linked == (7, 8, 7, 8, 8) and whole == (8, 8, 8, 8, 8)
P
