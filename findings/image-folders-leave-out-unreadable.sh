#!/bin/sh
# Wrong guess: a search of training images fails at a folder that may not be read; and find(on_error="raise") of fsspec raises there. torchvision's make_dataset,
# datasets' load_dataset and fsspec's find return the other files, without error or warning: fsspec passes on_error to the first folder only. Who is
# hurt: who trains or copies after one folder came with other permissions: the set is smaller, and no message reports it. As root, the script becomes nobody.
set -eu
t=$(mktemp -d); chmod 755 "$t"; trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install datasets==5.2.0 pillow==13.0.0 fsspec==2026.9.0; v/bin/pip -q install --no-deps torchvision==0.29.2
mkdir -p a/sub b home; touch a/1.png a/sub/2.png b/3.png; chmod 0 a/sub; chmod 777 home
HF_HUB_OFFLINE=1 HF_HOME="$t/home" v/bin/python - <<'P'
import os, sys, types, pathlib, fsspec, importlib.util as util, datasets
from datasets.data_files import DataFilesDict, get_data_patterns
# torch takes gigabytes, and is needed only by a base class.
vision = types.ModuleType("alone.vision"); vision.VisionDataset = object
sys.modules.update({"alone": types.ModuleType("alone"), "alone.vision": vision})
place = pathlib.Path(util.find_spec("torchvision").submodule_search_locations[0]) / "datasets/folder.py"
spec = util.spec_from_file_location("alone.folder", place); folder = util.module_from_spec(spec); spec.loader.exec_module(folder)
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
here = os.getcwd()
counts = {
    "torchvision": len(folder.make_dataset(here, {"a": 0, "b": 1}, (".png",))),
    "datasets": sum(map(len, DataFilesDict.from_patterns(get_data_patterns(here + "/a"), base_path=here + "/a").values())),
    "fsspec": len(fsspec.filesystem("file").find(here + "/a", on_error="raise")),
}
print("datasets", datasets.__version__, "fsspec", fsspec.__version__, counts, "of 3, 2 and 2")
assert counts == {"torchvision": 2, "datasets": 1, "fsspec": 1}
P
