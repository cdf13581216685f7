#!/bin/sh
# Wrong guess: ShardWriter of webdataset with maxsize=1e6 writes tar files of at most a megabyte and one sample. It adds up the lengths of the contents only, and a member
# takes 2 KiB at least, because its mtime has a fraction, so that a pax header comes first: of samples of 100 bytes the tar has 20.5 times maxsize, of samples with four members of 20 bytes 102 times; of 100 kB it is within some percent. Who is hurt: whoever packs captions,
# labels, embeddings or audio frames for a limit in bytes (5 GB for one upload to S3, a disk, a quota, memory for a shard) and raises maxcount, whose default of 100 000 samples else ends such shards earlier. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install webdataset==1.0.2
v/bin/python - <<'P'
import glob, os, webdataset
print("webdataset", webdataset.__version__)
def largest(name, samples, fields, length):
    with webdataset.ShardWriter(name + "-%d.tar", maxsize=1e6, maxcount=10**9, verbose=0) as writer:
        for i in range(samples): writer.write({"__key__": f"{i:08d}"} | {f"f{j}": b"x" * length for j in range(fields)})
    times = max(map(os.path.getsize, glob.glob(name + "-*.tar"))) / 1e6
    print(f"{samples} samples of {fields} x {length} bytes: the largest tar has {times:.1f} times maxsize")
    return times
assert 20 < largest("one", 12000, 1, 100) < 21
assert 100 < largest("four", 13000, 4, 20) < 105
assert 1 < largest("large", 30, 1, 100000) < 1.12
import tarfile; assert all("mtime" in member.pax_headers for member in tarfile.open("one-0.tar"))
P
