#!/bin/sh
# Wrong guess: mksquashfs finds duplicates by a table of hashes or checksums, so its time is linear in the number of files. It compares each small file with every other one of the same size: four times as many
# files of one size take some 14 times as long (25 000: 4 s, 100 000: 61 s); files of many sizes, and -no-duplicates, are linear. mkfs.erofs of the same folder takes 2 s for 100 000. Who is hurt: whoever packs
# records, tiles, sensor values or masks of a fixed size, all different: a million would take hours, with one thread. Counted as CPU time. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' squashfs-tools | tee /dev/stderr | grep -q '1:4\.5\.1-1$'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 - <<'P'
import os, resource, subprocess
def folder(name, count, size):
    os.mkdir(name)
    for i in range(count):
        with open(f"{name}/{i}", "w") as f: f.write(f"{i:{size(i)}}")
def seconds(name, *options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(["mksquashfs", name, "image", "-noappend", "-quiet", "-no-progress", "-noI", "-noD", "-noF", "-processors", "1", *options], check=True)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    print(f"{name} {' '.join(options)}: {spent:.2f} s of CPU time", flush=True)
    return spent
for count in (15000, 60000):
    folder(f"equal-{count}", count, lambda i: 100); folder(f"other-{count}", count, lambda i: 100 + i % 3000)
few, many = seconds("equal-15000"), seconds("equal-60000")
assert many / few > 9
assert many / seconds("equal-60000", "-no-duplicates") > 15 and many / seconds("other-60000") > 15
P
