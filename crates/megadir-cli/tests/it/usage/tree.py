"""Makes a random tree: usage: tree.py DIRECTORY SEED. Names are bytes; times are old, so that ages do not change meanwhile."""
import os, random, sys

top, rng = os.fsencode(sys.argv[1]), random.Random(int(sys.argv[2]))
NAMES = [b"a", b"a-b", b"a b", b"a.b", b"b", b"new\nline", b"not\xffutf8", b"caf\xc3\xa9", b"x" * 200, b"%", b"q\"uote"]
ENDS = [b"", b".txt", b".TXT", b".tar.gz", b".1", b".20", b".toolongtobeone", b".p-l", b"."]
directories, files = [top], []
os.mkdir(top)
for _ in range(rng.randrange(5, 40)):
    parent = rng.choice(directories[-8:] + directories[:3])
    path = parent + b"/" + rng.choice(NAMES) + rng.choice([b"", b"", b"1", b"-2"])
    if not os.path.lexists(path):
        os.mkdir(path)
        directories.append(path)
for index in range(rng.randrange(0, 200)):
    path = rng.choice(directories) + b"/f%d" % index + rng.choice(NAMES) [:40] + rng.choice(ENDS)
    kind = rng.randrange(10)
    if kind == 0:
        os.symlink(b"nowhere" * rng.randrange(1, 9), path)
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2 and files:
        os.link(rng.choice(files), path)
    elif kind == 3:
        with open(path, "wb") as file:
            file.truncate(rng.randrange(1 << 34))
        files.append(path)
    else:
        with open(path, "wb") as file:
            file.write(b"z" * rng.choice([0, 1, 1023, 1024, 4096, rng.randrange(100_000)]))
        files.append(path)
    if os.geteuid() == 0:
        os.chown(path, rng.choice([0, 1, 65534, 4_000_000_000]), 0, follow_symlinks=False)
for path, _, names in os.walk(top, topdown=False):
    for name in names + [b""]:
        one = os.path.join(path, name) if name else path
        years = rng.choice([0.2, 0.5, 1.5, 3, 9])
        stamp = int((1_700_000_000 - years * 365 * 86400) * 10**9) + rng.randrange(10**9)
        os.utime(one, ns=(stamp - 5 * 10**9, stamp), follow_symlinks=False)
