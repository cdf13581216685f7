#!/bin/sh
# Wrong guess: mlcroissant extracts an archive again when its sha256 in the metadata changed; it has verified the hash of the new archive, after all. The folder with extracted files (in ~/.cache/croissant/extract)
# is found by the path of the archive alone: of a new release at the same path, with new metadata and another hash, it returns the records of the release before, removed files included and without
# the new ones, in later processes, too, without a message. Without the folder it returns the new ones. Who is hurt: whoever updates a local data set that is packed
# in a tar or zip: training and statistics go on with the old release. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install mlcroissant==1.1.1
cat >read.py <<'P'
import hashlib, json, logging, sys, warnings; warnings.simplefilter("ignore")
import mlcroissant as mlc
content = lambda name, **what: mlc.Field(id="r/" + name, name=name, data_types=mlc.DataType.TEXT, source=mlc.Source(file_set="files", extract=mlc.Extract(**what)))
archive = sys.argv[1]
metadata = mlc.Metadata(name="data", url="https://example.com", license="CC0-1.0", version=sys.argv[2], distribution=[
    mlc.FileObject(id="archive", name="archive", content_url=archive, encoding_formats=["application/x-tar" if archive.endswith("tar") else "application/zip"],
                   sha256=hashlib.sha256(open(archive, "rb").read()).hexdigest()),
    mlc.FileSet(id="files", name="files", contained_in=["archive"], includes=["*.txt"], encoding_formats=["text/plain"])],
    record_sets=[mlc.RecordSet(id="r", name="r", fields=[content("name", file_property="filename"), content("text", file_property="content")])])
json.dump(metadata.to_json(), open("metadata.json", "w"), default=str)
print(", ".join(sorted(r["r/name"].decode() + " " + r["r/text"].decode().strip() for r in mlc.Dataset("metadata.json").records("r"))))
P
release() { mkdir d; for f in $2; do echo "$1" >d/$f.txt; done; rm -f a.tar a.zip; tar -cf a.tar -C d .; (cd d; python3 -m zipfile -c ../a.zip *.txt); rm -r d; }
export HOME="$t"
v/bin/pip freeze 2>/dev/null | grep '^mlcroissant=='
{
    release old 'kept removed'; for a in a.tar a.zip; do echo "$a, old release: $(v/bin/python read.py $a 1.0.0 2>messages)"; done
    release new 'added kept'; for a in a.tar a.zip; do echo "$a, new release: $(v/bin/python read.py $a 2.0.0 2>messages)"; done
    rm -r .cache/croissant; for a in a.tar a.zip; do echo "$a, new release, no cache: $(v/bin/python read.py $a 2.0.0 2>messages)"; done
} | tee seen
for r in 'old release: kept.txt old, removed.txt old' 'new release: kept.txt old, removed.txt old' 'new release, no cache: added.txt new, kept.txt new'; do printf 'a.tar, %s\na.zip, %s\n' "$r" "$r"; done | diff - seen
