#!/bin/sh
# Wrong guess: DuckDB returns the values stored in a Parquet file. If a folder of its path is named COLUMN=VALUE, the folder's value replaces the column that the
# file has, by default, without a message, even for one file named in full. Who is hurt: inventories kept below folders like "kind=7". Polars 2 returns the file's.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install duckdb==2.0.1 polars==2.1.0
v/bin/python - <<'P'
import os, duckdb, polars
print("duckdb", duckdb.__version__, "polars", polars.__version__)
os.makedirs("kind=7"); path = "kind=7/x.parquet"
polars.DataFrame({"kind": [1, 2], "name": ["a", "b"]}).write_parquet(path)
default = duckdb.sql(f"select kind from '{path}'").fetchall()
off = duckdb.sql(f"select kind from read_parquet('{path}', hive_partitioning = false)").fetchall()
other = polars.read_parquet(path)["kind"].to_list()
print("duckdb:", default, "duckdb without hive_partitioning:", off, "polars:", other)
assert default == [(7,), (7,)] and off == [(1,), (2,)] and other == [1, 2]
P
