#!/bin/sh
# Wrong guess: wds2idx of NVIDIA DALI writes the places of all members, or refuses an archive that it cannot index. It computes a place from `tar --block-number`, which is where the headers begin: right for pax, whose
# record GNU tar counts before, and 1 KiB short for a path above 100 bytes in the format of GNU tar, its default. The reader then returns bytes of the NAME as image or label, with the right length,
# without a message. Without an index it is the other way around: from GNU tar all is right, and of pax (the default of Python's tarfile, webdataset) samples with such paths are empty or left out. webdataset
# reads both. Who is hurt: whoever trains with DALI on shards with long paths (class folders, hashes, descriptive names): labels are wrong, or rare classes missing. Reads on the CPU. Without root; 1 GB of disk.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install --no-cache-dir --no-deps nvidia-dali-cuda120==2.4.0 absl-py==2.5.1 astunparse==1.6.3 attrs==26.1.0 dm-tree==0.1.10 gast==0.7.0 libcst==1.9.0 makefun==1.16.0 \
    numpy==2.4.6 nvtx==0.2.17 optree==0.20.0 packaging==26.4 PyYAML==6.0.4 six==1.17.0 typing_extensions==4.16.0 wrapt==2.5.2 webdataset==1.0.2 braceexpand==0.1.7
tar --version | head -1; v/bin/pip freeze 2>/dev/null | grep -e '^nvidia-dali' -e '^webdataset'
mkdir -p "s/$(printf 'class-%.0s' $(seq 18))"; for i in 0 1 2 3; do d=s; [ $i != 2 ] || d=$(echo s/class-*); echo "label $i" >"$d/$i.cls"; done
for f in gnu pax; do (cd s; tar --format=$f --sort=name -cf ../$f.tar -- *); v/bin/wds2idx $f.tar $f.idx >messages; done
v/bin/python - <<'P' >seen 2>messages || { cat messages; exit 1; }
import numpy, webdataset
from nvidia.dali import fn, pipeline_def
def read(name, samples, **options): # a sample without a label has an empty one
    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline(): return fn.readers.webdataset(paths=[name + ".tar"], ext=["cls"], missing_component_behavior="empty", **options)
    made = pipeline(); made.build()
    return sorted(bytes(numpy.array(made.run()[0][0])).decode().strip() for _ in range(samples))
for name in ("gnu", "pax"):
    print(f"{name}: webdataset", sorted(sample["cls"].decode().strip() for sample in webdataset.WebDataset(name + ".tar", shardshuffle=False)))
    print(f"{name}: DALI with index", read(name, 4, index_paths=[name + ".idx"]))
    print(f"{name}: DALI without index", read(name, 4))
P
cat seen
all="['label 0', 'label 1', 'label 2', 'label 3']"
{
    echo "gnu: webdataset $all"; echo "gnu: DALI with index ['class-cl', 'label 0', 'label 1', 'label 3']"; echo "gnu: DALI without index $all"
    echo "pax: webdataset $all"; echo "pax: DALI with index $all"; echo "pax: DALI without index ['', 'label 0', 'label 1', 'label 3']"
} | diff - seen
