#!/bin/sh
# Wrong guess: reduce_size of joblib's Memory removes those results first that were used longest ago, as its documentation tells. It goes by the access time of the file, and Linux
# mounts with relatime by default: only the first reading after a write and one a day change an access time. So of the results of one day those are removed that were used first, whatever
# was used since. diskcache keeps the times of uses itself. Who is hurt: whoever bounds a cache of results by items or bytes: the
# ones in use are computed anew. Without root. Needs a temporary folder on a mount with relatime.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
findmnt -n -o FSTYPE,OPTIONS -T "$t" | tee /dev/stderr | grep -q relatime
python3 -m venv v; v/bin/pip -q install joblib==1.6.0 diskcache==5.6.3
v/bin/python - <<'P'
import time, diskcache, joblib
print("joblib", joblib.__version__, "diskcache", diskcache.__version__)
computed = []
def result(x):
    computed.append(x)
    return b"x" * 100_000
memory = joblib.Memory("joblib", verbose=0)
cached = memory.cache(result)
cache = diskcache.Cache("diskcache", eviction_policy="least-recently-used", cull_limit=0)
for time_of_use in range(2):
    for x in range(4):
        cached(x); cache.get(x) or cache.set(x, result(x)); time.sleep(0.1)
for again in range(20): cached(0); cache.get(0); time.sleep(0.1)
memory.reduce_size(items_limit=2)
cache.reset("size_limit", 100_000); cache.reset("cull_limit", 2); cache.set("more", b"x" * 100_000)
kept = [x for x in range(4) if cached.check_call_in_cache(x)], [x for x in range(4) if x in cache]
print("result 0 was used last, 20 times; kept by joblib:", kept[0], "by diskcache:", kept[1])
assert kept == ([2, 3], [0, 3])
P
