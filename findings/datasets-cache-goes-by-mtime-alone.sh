#!/bin/sh
# Wrong guess: load_dataset reads a local file again when it was replaced, by size, inode number or ctime at least (as fsspec's ukey, Git or restic do), or by the contents. datasets goes by the path and the
# modification time alone: of a file of another size that has the time of the one before, it returns the rows of the file before, without a message, for a file and for a folder, in later processes, too.
# streaming=True reads the file. Who is hurt: whoever unpacks a new release of data over the old one from archives with fixed times, which are advised for reproducible builds (tar --mtime, layers of images,
# Nix, OSTree): training goes on with the old rows. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install datasets==5.2.0 pyarrow==26.0.1 pandas==3.1.1
for release in 1 2; do
    mkdir data; { echo x; seq $((release * release * 2)); } >data/a.csv; tar --mtime=2026-01-01T00:00:00Z --sort=name -cf release$release.tar data; rm -r data
done
cat >load.py <<'P'
import datasets, fsspec
datasets.disable_progress_bars()
def load(path, **options): return datasets.load_dataset(path, split="train", cache_dir="cache", **options)
print("rows of the file:", len(load("csv", data_files="data/a.csv")), "of the folder:", len(load("data")),
      "with streaming:", len(list(load("csv", data_files="data/a.csv", streaming=True))), "in the file:", sum(1 for line in open("data/a.csv")) - 1)
open("ukeys", "a").write(fsspec.filesystem("file").ukey("data/a.csv") + "\n")
P
export HOME="$t" HF_HUB_OFFLINE=1
v/bin/python -c 'import datasets; print("datasets", datasets.__version__)'
for release in 1 2; do tar xf release$release.tar; echo "release $release, $(stat -c 'mtime %y, size %s' data/a.csv)"; v/bin/python load.py 2>messages | tee -a seen; done
touch data/a.csv; echo "the same with a new time"; v/bin/python load.py 2>messages | tee -a seen
echo "ukeys of fsspec: $(sort -u ukeys | wc -l) of 3 differ"
[ "$(grep -o '[0-9]*' seen | paste -sd' ')" = '2 2 2 2 2 2 8 8 8 8 8 8' ] && [ "$(sort -u ukeys | wc -l)" = 3 ]
