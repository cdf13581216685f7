#!/bin/sh
# Wrong guess: load_dataset("webdataset") has a row for each file of a tar. It leaves out members whose name begins with two underscores, as with a dot, without a message: of
# source code __init__.py, __main__.py and __tests__.js. webdataset returns them. Folders beginning so are kept. Who is hurt: whoever trains on code that was packed as it is: of a Python package
# each __init__.py is missing, which is where the exports are. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install webdataset==1.0.2 datasets==5.2.0 fsspec==2026.9.0
d=$(v/bin/python -c 'import os, fsspec; print(os.path.dirname(fsspec.__path__[0]))')
(cd "$d"; find fsspec -name '*.py' | sort >"$t/list"; tar -cf "$t/code.tar" -T "$t/list")
HF_HUB_OFFLINE=1 HOME="$t" v/bin/python - <<'P' 2>errors || { cat errors; exit 1; }
import warnings; warnings.simplefilter("ignore")
import datasets, webdataset
print("datasets", datasets.__version__, "webdataset", webdataset.__version__)
names = {name.rstrip("\n").removesuffix(".py") for name in open("list")}
rows = {stream: {row["__key__"] for row in datasets.load_dataset("webdataset", data_files=["code.tar"], split="train", streaming=stream, cache_dir="cache")} for stream in (False, True)}
read = {sample["__key__"] for sample in webdataset.WebDataset("code.tar", shardshuffle=False)}
missing = names - rows[False]
print(f"files {len(names)}, samples of webdataset {len(read)}, rows of datasets {len(rows[False])}, missing: {sorted(missing)}")
assert names == read and rows[False] == rows[True] and missing == {name for name in names if name.split("/")[-1].startswith("__")} and len(missing) >= 3
P
