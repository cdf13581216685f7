#!/bin/sh
# Wrong guess: DuckDB's SUM of a BIGINT column is exact, also in the Parquet file that COPY writes. SUM gives HUGEINT, which Parquet lacks: COPY writes DOUBLE and
# loses digits above 2^53 without a message. Who is hurt: totals of bytes or of nanoseconds stored per directory. A cast to BIGINT before COPY keeps them.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install duckdb==2.0.1
v/bin/python - <<'P'
import duckdb
print("duckdb", duckdb.__version__)
query = "select sum(size){} as total from (values (9007199254740992::bigint), (1::bigint)) v(size)"
memory = duckdb.sql(query.format("")).fetchall()[0][0]
def stored(cast):
    duckdb.execute(f"copy ({query.format(cast)}) to 'x.parquet'")
    return duckdb.sql("select typeof(total), total::bigint from 'x.parquet'").fetchall()[0]
plain, cast = stored(""), stored("::bigint")
print("in memory:", memory, "stored:", plain, "stored with a cast:", cast)
assert memory == 2**53 + 1 and plain == ("DOUBLE", 2**53) and cast == ("BIGINT", 2**53 + 1)
P
