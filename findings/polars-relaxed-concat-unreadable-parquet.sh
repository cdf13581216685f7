#!/bin/sh
# Wrong guess: concat(how="vertical_relaxed") of a UInt64 and an Int64 column gives some common type that other readers know. It gives Int128, and write_parquet
# stores it as 16 raw bytes: DuckDB reads a BLOB, pyarrow fails. Who is hurt: who merges inventories whose inode columns differ in sign, and finds out at the reader.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1
v/bin/python - <<'P'
import duckdb, polars as pl, pyarrow as pa, pyarrow.parquet as pq
print("polars", pl.__version__, "duckdb", duckdb.__version__, "pyarrow", pa.__version__)
parts = [pl.DataFrame({"inode": pl.Series([n], dtype=t)}) for n, t in ((5, pl.UInt64), (6, pl.Int64))]
whole = pl.concat(parts, how="vertical_relaxed")
whole.write_parquet("x.parquet")
other = duckdb.sql("select distinct typeof(inode) from 'x.parquet'").fetchall()[0][0]
try:
    arrow = str(pq.read_table("x.parquet").schema)
except pa.ArrowNotImplementedError as e:
    arrow = f"ArrowNotImplementedError: {e}"
print("polars:", whole.schema, "| duckdb:", other, "| pyarrow:", arrow)
assert whole.schema["inode"] == pl.Int128 and other == "BLOB" and arrow.startswith("ArrowNotImpl")
P
