#!/bin/sh
# Wrong guess: programs that read a folder of Parquet files agree on whether a link to a folder in it ("latest", or a day that is a copy of another) is part of it.
# pyarrow, Polars and Daft read the linked files again: every row counts twice. DuckDB does not with **, and does with */; Dask does not. Who is hurt: whoever
# compares counts of two engines, or deletes by one list what another counted. A link without a target is left out by pyarrow without a message. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install pyarrow==25.0.1 duckdb==2.0.1 polars==2.1.0 'dask[dataframe]==2026.8.0' daft==0.7.26
v/bin/python - <<'P' 2>errors || { cat errors; exit 1; }
import os, pyarrow as pa, pyarrow.parquet as pq, pyarrow.dataset as ds, duckdb, polars as pl, dask.dataframe as dd, daft
os.makedirs("data/day=1")
pq.write_table(pa.table({"x": [1, 2, 3]}), "data/day=1/a.parquet")
os.symlink("day=1", "data/day=2"); os.symlink("missing", "data/day=1/c.parquet")
def arrow(): return ds.dataset("data", format="parquet").count_rows()
dangling = arrow(); os.remove("data/day=1/c.parquet")
def duck(glob): return duckdb.sql(f"SELECT count(*) FROM '{glob}'").fetchall()[0][0]
rows = {"pyarrow": arrow(), "polars": pl.scan_parquet("data").select(pl.len()).collect().item(),
        "polars **": pl.scan_parquet("data/**/*.parquet").select(pl.len()).collect().item(), "daft **": daft.read_parquet("data/**/*.parquet").count_rows(),
        "duckdb **": duck("data/**/*.parquet"), "duckdb */": duck("data/*/*.parquet"), "dask": len(dd.read_parquet("data"))}
print("rows of a file of 3 in a folder and in a link to the folder:", rows, "| pyarrow beside a link without a target:", dangling)
assert rows == {"pyarrow": 6, "polars": 6, "polars **": 6, "daft **": 6, "duckdb **": 3, "duckdb */": 6, "dask": 3} and dangling == 6
P
