#!/bin/sh
# Wrong guess: exiftool that names photos by their date with a copy number for equal dates (%c, as its manual shows) counts on from the last number. For each photo it tries the numbers from the
# first one again until a name is free: 500 photos of one second take 2 s, 2000 take 25 s, 4000 take 94 s; with the old name (%f), or the sequence %C, in place of the number 2000 take 3 s. Who is hurt: whoever renames bursts, frames of a camera trap
# or of a video, scans or crops, which have one date, or names photos by day. Counted as CPU time. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' libimage-exiftool-perl | tee /dev/stderr | grep -q '12\.57+dfsg-1$'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install pillow==13.0.0
v/bin/python - <<'P'
import io, os, resource, subprocess
from PIL import Image
image, photo = Image.new("RGB", (8, 8)), io.BytesIO()
exif = image.getexif(); exif[306] = "2024:01:01 10:00:00"
image.save(photo, "JPEG", exif=exif)
def seconds(count, name):
    folder = f"{count}-{name[-1]}"
    os.mkdir(folder)
    for i in range(count):
        with open(f"{folder}/{i:06}.jpg", "wb") as file: file.write(photo.getvalue())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["exiftool", "-q", "-q", "-FileName<ModifyDate", "-d", f"%Y%m%d-%H%M%S{name}.%%e", folder], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    names = os.listdir(folder)
    assert len(names) == count and all(name.startswith("20240101-100000") for name in names)
    print(f"{count} photos of one second, named by the date and {name[1:]}: {spent:.1f} s of CPU time", flush=True)
    return spent
few, many = seconds(500, "%%-c"), seconds(2000, "%%-c")
assert many > 7 * few and many > 5 * seconds(2000, "%%-f")
P
