"""Strict reader of Prometheus's text format, as node_exporter's textfile collector takes it: checker.py FILE...

Prints [{"name", "labels", "value"}] of all files as JSON, or what is wrong, and exits with 1.
"""
import json
import math
import re
import sys

NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
SAMPLE = re.compile(r"([a-z][a-z0-9_]*)(?:\{(.*)\})? (\S+)\Z")
LABEL = re.compile(r'([a-z][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|\Z)')
UNITS = ("_bytes", "_seconds", "_ratio")
# Metrics without a unit count these, or are 0 or 1.
NOUNS = re.compile(r"_(entries(_until_full)?(_low|_high)?|directories|inodes|success|complete|warning)\Z")


def fail(path, number, what):
    sys.exit(f"{path}:{number}: {what}")


def labels(text, wrong):
    found, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        if not match or match[3] == "," and match.end() == len(text):
            wrong(f"labels {text!r} at {at}")
        if match[1] in found or not match[2]:
            wrong(f"label {match[1]} is twice there, or empty")
        found[match[1]] = re.sub(r'\\(.)', lambda one: "\n" if one[1] == "n" else one[1], match[2])
        at = match.end()
    return found


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        fail(path, 0, error)
    if not text.endswith("\n"):
        fail(path, 0, "the last line has no end")
    families, current, samples, seen = {}, None, [], set()
    # A label may have other line separators, which str.splitlines would split at.
    for number, line in enumerate(text[:-1].split("\n"), 1):
        wrong = lambda what: fail(path, number, what)
        if line.startswith("# HELP "):
            _, _, name, help_text = line.split(" ", 3)
            if name in families or not NAME.match(name) or not help_text.endswith("."):
                wrong(f"{name}: named again, or a bad name or help")
            if not name.startswith("megadir_") or name.endswith(("_total", "_count", "_sum", "_bucket", "_info")):
                wrong(f"{name}: not the name of a gauge of this program")
            if not name.endswith(UNITS) and not NOUNS.search(name):
                wrong(f"{name}: neither a base unit nor a noun")
            families[name], current = None, name
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if name != current or families[name] is not None or kind != "gauge":
                wrong(f"{line}: not after its HELP")
            families[name] = kind
        elif line.startswith("#"):
            if number != 1:
                wrong("a comment")
        else:
            match = SAMPLE.match(line)
            if not match or match[1] != current or families[current] is None:
                wrong(f"{line!r}: not a sample of {current}")
            value = float(match[3])
            if not math.isfinite(value) or not re.match(r"-?[0-9]+(\.[0-9]+)?\Z", match[3]):
                wrong(f"value {match[3]}")
            if match[1].endswith("_ratio") and not 0 <= value:
                wrong(f"ratio {value}")
            of = labels(match[2] or "", wrong)
            key = (match[1], tuple(sorted(of.items())))
            if key in seen:
                wrong(f"{key} is there twice")
            seen.add(key)
            samples.append({"name": match[1], "labels": of, "value": value})
    without = set(families) - {sample["name"] for sample in samples}
    if without:
        fail(path, 0, f"no sample of {without}")
    return samples


print(json.dumps([sample for path in sys.argv[1:] for sample in read(path)]))
