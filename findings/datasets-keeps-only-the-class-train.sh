#!/bin/sh
# Wrong guess: load_dataset("imagefolder") on folders bus, car and train has three classes. A folder whose name is that of a split (train, test, val, dev, eval and
# others) makes it the only one: the other images are left out without a message, and there is no label. Who is hurt: who trains on folders of classes
# one of which has such a name. A name below the folders does the same, and a file below train/train-1 is in the dataset twice.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install datasets==5.2.0 pillow==13.0.0
HF_HUB_OFFLINE=1 HF_HOME="$t/home" v/bin/python - <<'P'
import os, datasets
from PIL import Image
print("datasets", datasets.__version__)
def load(top, names):
    for name in names:
        os.makedirs(os.path.dirname(f"{top}/{name}"), exist_ok=True)
        Image.new("L", (1, 1)).save(f"{top}/{name}")
    loaded = datasets.load_dataset("imagefolder", data_dir=top)
    return {split: (len(rows), sorted(rows.features)) for split, rows in loaded.items()}
plain = load("plain", ["bus/1.png", "car/2.png", "tram/3.png"])
named = load("named", ["bus/1.png", "car/2.png", "train/3.png"])
twice = load("twice", ["train/train-1/1.png"])
print("bus, car, tram:", plain, "\nbus, car, train:", named, "\none file below train/train-1:", twice)
assert plain == {"train": (3, ["image", "label"])}
assert named == {"train": (1, ["image"])} and twice["train"][0] == 2
P
