"""Random trees and random conditions: every command against an evaluation of its own.

Usage: oracle.py MEGADIR SCRATCH SEED. Prints what differs and exits with 1.
"""

import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import time

MEGADIR, SCRATCH, SEED = sys.argv[1], os.fsencode(sys.argv[2]), int(sys.argv[3])
RNG = random.Random(SEED)
DAY = 86400
NAMES = [b"a", b"b", b"d0", b"d1", b"d2", b"x1", b"x22", b"n.tmp", b"o.tmp", "gr\u00fcn".encode(), b"sp ace",
         b".hid", b"\xff.tmp", b"dot."]
NAME_GLOBS = ["*.tmp", "d?", "x*", "gr??n", "gr{ü,ö}n", "[a-c]", "*", ".hid", "dot.", "?.tmp", "[!a-m]*"]
PATH_GLOBS = ["a/*", "**/*.tmp", "d*/**", "*/*/x*", "**/d[01]/**", "/b/{a,b,x1}", "d1", "**"]
EXCLUDED = ["*.tmp", "d1", "x?", "a/d0", "*/d1", "**/d2/x*", "/b"]
AGES = [1, 10, 40, 400]
LIMITS = [5, 30, 365]
KINDS = {"file": stat.S_ISREG, "directory": stat.S_ISDIR, "symlink": stat.S_ISLNK, "fifo": stat.S_ISFIFO}
USERS = [0, 1000, 65534] if os.geteuid() == 0 else [os.geteuid()]


# Globs, by a translation to regular expressions.

def translate(glob):
    out, at, depth = "", 0, 0
    while at < len(glob):
        rest = glob[at:]
        if rest.startswith("**/") and at == 0:
            out, at = out + "(?:.*/)?", at + 3
        elif rest.startswith("/**/"):
            out, at = out + "/(?:.*/)?", at + 4
        elif rest == "/**":
            out, at = out + "/.*", at + 3
        elif rest == "**":
            out, at = out + ".*", at + 2
        elif rest[0] == "*":
            out, at = out + "[^/]*", at + 1
        elif rest[0] == "?":
            out, at = out + "[^/]", at + 1
        elif rest[0] == "[":
            end = glob.index("]", at)
            out, at = out + "[" + glob[at + 1:end].replace("!", "^") + "]", end + 1
        elif rest[0] == "{":
            out, at, depth = out + "(?:", at + 1, depth + 1
        elif rest[0] == "}":
            out, at, depth = out + ")", at + 1, depth - 1
        elif rest[0] == "," and depth:
            out, at = out + "|", at + 1
        else:
            # The bytes of a letter, one character each.
            out += "".join(re.escape(chr(byte)) for byte in rest[0].encode())
            at += 1
    return re.compile("(?s:" + out + ")\\Z")


def matches(glob, text):
    return translate(glob).match(text.decode("latin-1")) is not None


# Trees.

def build(top):
    def fill(directory, depth):
        os.mkdir(directory)
        for name in RNG.sample(NAMES, RNG.randint(1, 8)):
            path = directory + b"/" + name
            kind = RNG.random()
            if kind < 0.35 and depth < 4:
                fill(path, depth + 1)
            elif kind < 0.8:
                with open(path, "wb") as file:
                    file.write(b"x" * RNG.choice([0, 1, 100, 5000]))
            elif kind < 0.92:
                os.symlink(b"nowhere", path)
            else:
                os.mkfifo(path)
            dress(path)
    fill(top, 0)


def dress(path):
    os.chown(path, RNG.choice(USERS), -1, follow_symlinks=False)
    now = int(time.time())
    times = [now - RNG.choice(AGES) * DAY for _ in range(2)]
    os.utime(path, tuple(times), follow_symlinks=False)


def snapshot(top):
    """Relative path -> status."""
    found = {}

    def look(directory, relative):
        for entry in os.scandir(directory):
            path = relative + entry.name
            found[path] = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                look(entry.path, path + b"/")
    look(top, b"")
    return found


# Conditions.

class Conditions:
    def __init__(self, times=("mtime",), attributes=True):
        some = lambda: RNG.random() < 0.3
        self.exclude = RNG.sample(EXCLUDED, RNG.randint(1, 2)) if some() else []
        self.names = RNG.sample(NAME_GLOBS, RNG.randint(1, 3)) if some() else []
        self.paths = RNG.sample(PATH_GLOBS, RNG.randint(1, 2)) if some() else []
        self.depth = RNG.randint(1, 3) if some() else None
        self.types = RNG.sample(sorted(KINDS), RNG.randint(1, 2)) if some() else []
        self.older = RNG.choice(LIMITS) if attributes and some() else None
        self.newer = RNG.choice(LIMITS) if attributes and some() else None
        # Between these there is nothing, which is refused.
        if self.older and self.newer and self.older >= self.newer:
            self.newer = None
        self.by = RNG.choice(times) if self.older or self.newer else "mtime"
        self.larger = RNG.choice([0, 1, 99]) if attributes and some() else None
        self.smaller = RNG.choice([1, 101, 5000]) if attributes and some() else None
        if self.larger is not None and self.smaller is not None and self.smaller <= self.larger + 1:
            self.larger = None
        self.owner = RNG.choice(USERS) if attributes and some() else None
        if self.by != "mtime":
            # Reading a directory is an access.
            self.types = [kind for kind in self.types if kind != "directory"] or ["file", "symlink"]
        if not self.options():
            self.names = ["*.tmp"]

    def options(self):
        given = [("--exclude", self.exclude), ("--match", self.names), ("--path-match", self.paths)]
        options = [f"{option}={glob}" for option, globs in given for glob in globs]
        if self.types:
            options.append("--type=" + ",".join(self.types))
        values = [("--max-depth", self.depth), ("--larger-than", self.larger), ("--smaller-than", self.smaller),
                  ("--owner", self.owner), ("--older-than", self.older and f"{self.older}d"),
                  ("--newer-than", self.newer and f"{self.newer}d")]
        options += [f"{option}={value}" for option, value in values if value is not None]
        if self.by != "mtime":
            options.append("--by=" + self.by)
        return options

    def sees(self, path):
        names = path.split(b"/")
        if self.depth is not None and len(names) > self.depth:
            return False
        for count in range(1, len(names) + 1):
            above = b"/".join(names[:count])
            for glob in self.exclude:
                text = above if "/" in glob else names[count - 1]
                if matches(glob.removeprefix("/") if "/" in glob else glob, text):
                    return False
        return True

    def accepts(self, path, status):
        name = path.split(b"/")[-1]
        times = {"mtime": status.st_mtime, "atime": status.st_atime, "use": max(status.st_atime, status.st_mtime)}
        age = time.time() - times[self.by]
        return (self.sees(path)
                and (not self.names or any(matches(glob, name) for glob in self.names))
                and (not self.paths or any(matches(glob.removeprefix("/"), path) for glob in self.paths))
                and (not self.types or any(KINDS[kind](status.st_mode) for kind in self.types))
                and (self.older is None or age > self.older * DAY)
                and (self.newer is None or age <= self.newer * DAY)
                and (self.larger is None or status.st_size > self.larger)
                and (self.smaller is None or status.st_size < self.smaller)
                and (self.owner is None or status.st_uid == self.owner))


# Commands.

def run(*arguments, codes=(0,)):
    ran = subprocess.run([MEGADIR, *arguments], cwd=SCRATCH, capture_output=True)
    if ran.returncode not in codes:
        fail(arguments, f"exit code {ran.returncode}: {ran.stderr.decode()}")
    return ran.stdout


def fail(arguments, what):
    sys.exit(f"seed {SEED}: megadir {' '.join(map(str, arguments))}\n{what}")


def same(arguments, found, expected):
    if len(found) != len(set(found)):
        fail(arguments, "something is there twice")
    if set(found) != set(expected):
        lacking, extra = sorted(set(expected) - set(found)), sorted(set(found) - set(expected))
        fail(arguments, f"lacking {lacking}\nextra {extra}")


def member(row, key):
    return bytes.fromhex(row[key + "_hex"]) if key + "_hex" in row else row[key].encode()


def check_list(conditions, threads):
    arguments = ["list", "-r", "-0", "-j", threads, *conditions.options(), "t"]
    found = [path[2:] for path in run(*arguments).split(b"\0")[:-1]]
    tree = snapshot(SCRATCH + b"/t")
    same(arguments, found, [path for path, status in tree.items() if conditions.accepts(path, status)])
    arguments = ["list", "-r", "--count", "-j", threads, *conditions.options(), "t"]
    if int(run(*arguments).split()[0]) != len(found):
        fail(arguments, f"not {len(found)}")


def check_scan(conditions, threads):
    arguments = ["scan", "--jsonl", "-j", threads, *conditions.options(), "t"]
    rows = [json.loads(line) for line in run(*arguments).splitlines()]
    root = os.path.join(os.path.realpath(SCRATCH), b"t")
    found = []
    for row in rows:
        parent, name = member(row, "parent"), member(row, "name")
        if name:
            found.append((parent + b"/" + name) if parent else name)
    assert root
    tree = snapshot(SCRATCH + b"/t")
    goes = lambda path, status: (conditions.sees(path) if stat.S_ISDIR(status.st_mode)
                                 else conditions.accepts(path, status))
    same(arguments, found, [path for path, status in tree.items() if goes(path, status)])


def check_usage(conditions, threads):
    """Live, and from an inventory of everything: the entries below each directory that has some."""
    tree = snapshot(SCRATCH + b"/t")
    chosen = [path for path, status in tree.items() if conditions.accepts(path, status)]
    expected, files = {}, {}
    for path in chosen:
        names = path.split(b"/")
        for length in range(len(names)):
            above = b"/".join(names[:length])
            expected[above] = expected.get(above, 0) + 1
    read = [path for path, status in tree.items() if stat.S_ISDIR(status.st_mode) and conditions.sees(path)
            and (conditions.depth is None or path.count(b"/") + 1 < conditions.depth)]
    for path in [b""] + read:
        held = sum(not stat.S_ISDIR(tree[one].st_mode) for one in chosen if os.path.dirname(one) == path)
        files[held] = files.get(held, 0) + 1
    size = sum(tree[path].st_size for path in chosen)
    run("scan", "--output", "usage.parquet", "t")
    for source in ["t", "usage.parquet"]:
        rank = RNG.choice(["--by=entries", "--sort=entries", "--by=newest", "--sort=allocated"])
        threaded = ["-j", threads] if source == "t" else []
        arguments = ["usage", "--json", *threaded, rank, *conditions.options(), source]
        report = json.loads(run(*arguments))
        if report["by"] != rank.split("=")[1]:
            fail(arguments, report["by"])
        found = {}
        for row in report["directories"]:
            path = member(row, "dir").rpartition(b"/t/")[2]
            found[path.removeprefix(b"t/")] = row["entries"]
        if found != {path: entries for path, entries in expected.items() if path}:
            fail(arguments, f"{found}\nexpected {expected}")
        if (report["entries"], report["apparent"]) != (len(chosen), size):
            fail(arguments, f"{report['entries']} entries, {report['apparent']} bytes\nexpected {len(chosen)}, {size}")
        # Counts below 10 have a row for none and a row for the others.
        held = {row["from"]: row["directories"] for row in report["files_per_directory"] if row["directories"]}
        few = {0: files.get(0, 0), 1: sum(count for held, count in files.items() if held)}
        if held != {start: count for start, count in few.items() if count}:
            fail(arguments, f"files per directory {held}\nexpected {few}")


def check_remove(conditions, threads):
    build(SCRATCH + b"/r")
    before = snapshot(SCRATCH + b"/r")
    gone = set()

    def goes(path):
        """Deepest first; a directory must be empty by then."""
        below = [other for other in before if other.startswith(path + b"/")]
        return conditions.accepts(path, before[path]) and all(other in gone for other in below)
    for path in sorted(before, key=lambda path: -path.count(b"/")):
        if goes(path):
            gone.add(path)
    arguments = ["remove", "--yes", "--json", "-j", threads, *conditions.options(), "r"]
    dry = json.loads(run(*arguments, "--dry-run"))
    same(arguments, list(snapshot(SCRATCH + b"/r")), list(before))
    real = json.loads(run(*arguments))
    same(arguments, list(snapshot(SCRATCH + b"/r")), set(before) - gone)
    if dry["removed"] != real["removed"]:
        fail(arguments, f"a dry run predicts {dry}, and {real} is true")
    shutil.rmtree(SCRATCH + b"/r")


def mutate(top):
    """Returns the paths that were modified. New entries come first, so that no inode number is used again."""
    before, modified = snapshot(top), set()
    directories = [b""] + [path + b"/" for path, status in before.items() if stat.S_ISDIR(status.st_mode)]
    for directory in directories:
        for name in RNG.sample(NAMES, 2):
            path = top + b"/" + directory + name
            if RNG.random() < 0.4 and not os.path.lexists(path):
                with open(path, "wb") as file:
                    file.write(b"y" * RNG.choice([0, 1, 100, 5000]))
                dress(path)
    for path, status in before.items():
        if stat.S_ISREG(status.st_mode) and RNG.random() < 0.3:
            with open(top + b"/" + path, "ab") as file:
                file.write(b"z" * 50)
            dress(top + b"/" + path)
            modified.add(path)
    for path, status in before.items():
        if RNG.random() < 0.15 and os.path.lexists(top + b"/" + path):
            remove = shutil.rmtree if stat.S_ISDIR(status.st_mode) else os.unlink
            remove(top + b"/" + path)
    return modified


def check_changes(threads):
    recorded = Conditions(attributes=False)
    run("scan", "--output", "all.parquet", "t")
    run("scan", "--output", "some.parquet", *recorded.options(), "t")
    before = snapshot(SCRATCH + b"/t")
    modified = mutate(SCRATCH + b"/t")
    after = snapshot(SCRATCH + b"/t")

    def expected(accepts):
        for path in before.keys() | after.keys():
            kind = "removed" if path not in after else "added" if path not in before else "modified"
            if kind == "modified" and path not in modified:
                continue
            if any(path in side and accepts(path, side[path]) for side in (before, after)):
                yield kind, path

    def has_row(path, status):
        return recorded.sees(path) if stat.S_ISDIR(status.st_mode) else recorded.accepts(path, status)

    def compare(inventory, conditions, accepts):
        arguments = ["changes", "--json", "-j", threads, inventory, *(conditions.options() if conditions else [])]
        found = []
        for line in run(*arguments).splitlines():
            change = json.loads(line)
            path = member(change, "path").split(b"/t/", 1)[-1]
            if change["change"] != "suspect":
                found.append((change["change"], path))
        same(arguments, found, list(expected(accepts)))
    for _ in range(4):
        conditions = Conditions(times=("mtime", "atime", "use"))
        compare("all.parquet", conditions, conditions.accepts)
        compare("some.parquet", conditions, lambda *of: conditions.accepts(*of) and has_row(*of))
    compare("some.parquet", None, has_row)


build(SCRATCH + b"/t")
for _ in range(6):
    THREADS = RNG.choice(["1", "2", "3"])
    check_list(Conditions(times=("mtime", "atime", "use")), THREADS)
    check_scan(Conditions(times=("mtime", "atime", "use")), THREADS)
    check_usage(Conditions(times=("mtime", "atime", "use")), THREADS)
    check_remove(Conditions(times=("mtime", "atime", "use")), THREADS)
check_changes(RNG.choice(["1", "2"]))
