#!/bin/sh
# Wrong guess: a pattern is expanded, but a list of names from os.listdir is read as it is. DuckDB, Polars and Dask expand each name of a list: of run1 and run[1]
# they read run1 twice and run[1] never, without a message; so does cat of fsspec, which returns run1 once. Without a file run1 beside it, DuckDB reads run[1] after all; Polars, Dask and fsspec leave it out silently
# if another name of the list exists. So what is read of one file depends on its neighbours. pyarrow reads the names. Who is hurt: whoever lists a folder first
# (to split or shuffle it) and hands the names on; downloads and exports have names such as x[1]. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install duckdb==2.0.1 polars==2.1.0 pyarrow==25.0.1 'dask[dataframe]==2026.8.0' fsspec==2026.9.0
v/bin/python - <<'P'
import os, importlib.metadata as metadata, dask.dataframe, duckdb, fsspec, polars, pyarrow as pa, pyarrow.dataset, pyarrow.parquet
print(*(f"{name} {metadata.version(name)}" for name in ["duckdb", "polars", "pyarrow", "dask", "fsspec"]))
def read(files):
    os.makedirs("d")
    for name, value in files.items(): pa.parquet.write_table(pa.table({"x": [value]}), "d/" + name + ".parquet")
    names = sorted("d/" + name for name in os.listdir("d"))
    values = {
        "duckdb": [x for x, in duckdb.sql(f"SELECT x FROM read_parquet({names})").fetchall()],
        "polars": polars.scan_parquet(names).collect()["x"].to_list(),
        "dask": dask.dataframe.read_parquet(names).compute()["x"].tolist(),
        "pyarrow": pa.dataset.dataset(names).to_table()["x"].to_pylist(),
        "files of fsspec": len(fsspec.filesystem("file").cat(names)),
    }
    for name in names: os.remove(name)
    os.rmdir("d")
    print("names", names, "values", values)
    return [values[key] if key == "files of fsspec" else sorted(values[key]) for key in values]
beside, other = read({"run1": 1, "run[1]": 100}), read({"other": 1, "run[1]": 100})
assert beside == [[1, 1], [1, 1], [1, 1], [1, 100], 1] and other == [[1, 100], [1], [1], [1, 100], 1]
P
