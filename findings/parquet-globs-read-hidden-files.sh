#!/bin/sh
# Wrong guess: DIR/*.parquet leaves out .part.parquet, as in a shell, and _part.parquet, as in Spark. DuckDB and Polars read both; pyarrow, given the directory,
# reads neither. Who is hurt: who writes a part under a hidden name and renames it when it is complete: rows are counted twice, or a scan meets half a file.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install polars==2.1.0 duckdb==2.0.1 pyarrow==26.0.1
v/bin/python - <<'P'
import os, duckdb, polars as pl, pyarrow as pa, pyarrow.parquet as pq
print("polars", pl.__version__, "duckdb", duckdb.__version__, "pyarrow", pa.__version__)
os.mkdir("d")
for n, name in enumerate(("x", ".hidden", "_part")):
    pq.write_table(pa.table({"n": [n]}), f"d/{name}.parquet")
seen = {
    "duckdb": sorted(n for (n,) in duckdb.sql("from 'd/*.parquet'").fetchall()),
    "polars glob": sorted(pl.read_parquet("d/*.parquet")["n"]), "polars directory": sorted(pl.read_parquet("d")["n"]),
    "pyarrow": pq.read_table("d")["n"].to_pylist()}
print(seen)
assert seen["duckdb"] == seen["polars glob"] == seen["polars directory"] == [0, 1, 2] and seen["pyarrow"] == [0]
P
