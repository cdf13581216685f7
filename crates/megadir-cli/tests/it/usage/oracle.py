"""What `megadir usage --json` must say: oracle.py NOW_S BY TOP DEPTH DIRECTORY... Uses os.scandir and lstat only."""
import json, os, sys
from collections import defaultdict

now_s, by, top, depth_max = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
roots = [os.fsencode(root) for root in sys.argv[5:]]
LETTERS = set(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
DAY = 86400
AGES = [-1, 60, 3600, DAY, 7 * DAY, 30 * DAY, 90 * DAY, 365 * DAY, 730 * DAY, 1825 * DAY]


def fresh():
    return dict(entries=0, inodes=0, allocated=0, apparent=0, directory_entries=0, times=[])


def extension(name):
    before, dot, end = name.rpartition(b".")
    if not before or not end:
        return "(none)"
    if end.isdigit():
        return "(number)"
    return end.decode().lower() if len(end) <= 7 and set(end) <= LETTERS else "(other)"


def age(seconds):
    return sum(now_s - seconds > most for most in AGES)


def size(length):
    return 0 if length == 0 else 1 if length < 1024 else 2 + (length.bit_length() - 11) // 2


sums, links, seen_names = defaultdict(fresh), {}, 0
tables = {key: defaultdict(fresh) for key in ["owners", "extensions", "modified", "accessed", "sizes"]}
counts, unread, mounts = defaultdict(lambda: [0, 0]), 0, 0


def add(row, status):
    row["inodes"] += 1
    row["allocated"] += status.st_blocks * 512
    row["apparent"] += status.st_size


def of_tables(name, status, is_directory):
    yield tables["owners"][status.st_uid]
    if not is_directory:
        yield tables["modified"][age(status.st_mtime_ns // 10**9)]
        yield tables["accessed"][age(status.st_atime_ns // 10**9)]
        yield tables["sizes"][size(status.st_size)]


def read(root, relative):
    global unread, mounts, seen_names
    path = roots[root] + (b"/" + relative if relative else b"")
    names = relative.split(b"/") if relative else []
    above = [(root, b"/".join(names[:length])) for length in range(len(names) + 1)]
    try:
        entries = list(os.scandir(path))
    except PermissionError:
        unread += 1
        return
    files = 0
    for entry in entries:
        status = entry.stat(follow_symlinks=False)
        is_directory = entry.is_dir(follow_symlinks=False)
        files += not is_directory
        rows = [sums[one] for one in above]
        is_linked = status.st_nlink > 1 and not is_directory
        inode = (status.st_dev, status.st_ino)
        key = (root, relative, entry.name)
        for row in rows:
            row["entries"] += 1
            row["directory_entries"] += is_directory
            row["times"].append(status.st_mtime_ns)
        others = list(of_tables(entry.name, status, is_directory))
        for row in others:
            row["entries"] += 1
        if not is_directory:
            tables["extensions"][extension(entry.name)]["entries"] += 1
        if is_linked:
            seen_names += 1
            if inode not in links:
                for row in others:
                    add(row, status)
            links[inode] = min(links.get(inode, (key, status)), (key, status), key=lambda one: one[0])
        else:
            for row in rows + others:
                add(row, status)
            if not is_directory:
                add(tables["extensions"][extension(entry.name)], status)
        if is_directory:
            if status.st_dev != os.lstat(path).st_dev:
                mounts += 1
            else:
                read(root, relative + b"/" + entry.name if relative else entry.name)
    bucket = len(str(files)) if files else 0
    counts[bucket][0] += 1
    counts[bucket][1] += files


for root in range(len(roots)):
    sums[root, b""]
    read(root, b"")
for (root, relative, name), status in links.values():
    names = relative.split(b"/") if relative else []
    for length in range(len(names) + 1):
        add(sums[root, b"/".join(names[:length])], status)
    add(tables["extensions"][extension(name)], status)


def stamp(nanoseconds):
    import datetime
    whole = datetime.datetime.fromtimestamp(nanoseconds // 10**9, datetime.timezone.utc)
    return whole.strftime("%Y-%m-%dT%H:%M:%S.") + "%09dZ" % (nanoseconds % 10**9)


def figures(row):
    row = dict(row)
    times = row.pop("times")
    return dict(row, newest=stamp(max(times)) if times else None, oldest=stamp(min(times)) if times else None)


def rank(one):
    (root, path), row = one
    value = {
        "newest": lambda: -max(row["times"]),
        "oldest": lambda: min(row["times"]),
    }.get(by, lambda: -row[by])()
    return value, path.count(b"/"), root, path


def member(name):
    try:
        return {"dir": name.decode()}
    except UnicodeDecodeError:
        return {"dir_hex": name.hex()}


listed = [one for one in sums.items() if one[0][1] and one[0][1].count(b"/") < depth_max and one[1]["entries"]]
unlisted = max(len(listed) - top, 0)
listed = sorted(listed, key=rank)[:top]
total = fresh()
for (root, path), row in sums.items():
    if not path:
        for key in total:
            total[key] += row[key]


def plain(rows, label):
    rows = [(key, {k: v for k, v in row.items() if k not in ("times", "directory_entries")}) for key, row in rows.items()]
    return [dict(row, **label(key)) for key, row in rows]


def filled(rows, label):
    """With the empty rows between the first and the last."""
    used = [key for key in rows if rows[key]["entries"]]
    return plain({key: rows[key] for key in range(min(used), max(used) + 1)}, label) if used else []


def age_label(bucket):
    return dict(from_s=AGES[bucket - 1] + 1 if bucket else None, to_s=AGES[bucket] if bucket < len(AGES) else None)


def size_label(bucket):
    start = lambda at: at if at < 2 else 1024 * 4 ** (at - 2)
    return {"from": start(bucket), "to": start(bucket + 1) - 1}


span = range(min(counts, default=0), max(counts, default=-1) + 1)
print(json.dumps(dict(
    figures(total), v=1, by=by, now_s=now_s, linked=seen_names - len(links), unexamined=0, unread=unread, mounts_not_entered=mounts, unlisted_directories=unlisted,
    trees=[dict(figures(sums[root, b""]), **member(path)) for root, path in enumerate(roots)],
    directories=sorted((dict(figures(row), depth=path.count(b"/") + 1, **member(roots[root] + b"/" + path)) for (root, path), row in listed), key=str),
    owners=sorted(plain(tables["owners"], lambda user: dict(uid=user)), key=str),
    extensions=sorted(plain(tables["extensions"], lambda end: dict(extension=end)), key=str),
    modified=filled(tables["modified"], age_label), accessed=filled(tables["accessed"], age_label), sizes=filled(tables["sizes"], size_label),
    files_per_directory=[{"from": 10 ** (at - 1) if at else 0, "to": 10**at - 1 if at else 0, "directories": counts[at][0], "files": counts[at][1]} for at in span],
)))
