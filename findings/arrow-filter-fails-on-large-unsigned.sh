#!/bin/sh
# Wrong guess: a filter "inode == 1" on a uint64 column works whatever the column holds. pyarrow casts the column to int64, the type of the literal: the scan fails
# as soon as one value is 2^63 or more. Who is hurt: queries by inode over FUSE or network mounts, whose numbers use all bits. A scalar of type uint64 works.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install pyarrow==26.0.1
v/bin/python - <<'P'
import pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq
print("pyarrow", pa.__version__)
def count(values, literal):
    pq.write_table(pa.table({"inode": pa.array(values, pa.uint64())}), "x.parquet")
    try:
        return ds.dataset("x.parquet").to_table(filter=ds.field("inode") == literal).num_rows
    except pa.ArrowInvalid as e:
        return f"ArrowInvalid: {e}"
small, large = count([1, 2**63 - 1], 1), count([1, 2**63 + 5], 1)
typed = count([1, 2**63 + 5], pa.scalar(1, pa.uint64()))
print("largest value 2^63 - 1:", small, "| 2^63 + 5:", large, "| with a typed scalar:", typed)
assert small == 1 and str(large).startswith("ArrowInvalid") and typed == 1
P
