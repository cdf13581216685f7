#!/bin/sh
# Wrong guess: a zip library that cannot write zip64 refuses the member number 65 536. fflate and JSZip write the count modulo 65 536 and end with success; fflate, yauzl and
# adm-zip trust that count: of 65 536 members they return none, of 70 000 they return 4464, without an error. So fflate loses its own archive, and what JSZip packs in a
# page is lost in a server with yauzl. Python's zipfile and JSZip return every member of the same archive. Who is hurt: whoever packs folders of many small files
# with these libraries and removes the folder. Archives of adm-zip hold the true count (zip64). Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
npm install --silent --no-audit --no-fund fflate@0.8.3 jszip@3.10.2 adm-zip@0.6.1 yauzl@3.4.0 >/dev/null
cat >counts.mjs <<'P'
import * as fflate from "fflate"; import JSZip from "jszip"; import AdmZip from "adm-zip"; import yauzl from "yauzl"; import fs from "fs";
const count = {
  fflate: (zip) => Object.keys(fflate.unzipSync(new Uint8Array(zip))).length,
  yauzl: (zip) => new Promise((done, fail) => yauzl.fromBuffer(zip, {}, (error, file) => {
    if (error) return fail(error);
    let n = 0; file.on("entry", () => n++); file.on("end", () => done(n)); file.on("error", fail);
  })),
  "adm-zip": (zip) => new AdmZip(zip).getEntries().length,
  jszip: async (zip) => Object.keys((await JSZip.loadAsync(zip)).files).length,
};
for (const members of [65534, 65536, 70000]) {
  const one = new Uint8Array([65]), tree = {}, box = new JSZip();
  for (let i = 0; i < members; i++) { tree["f" + i] = one; box.file("f" + i, one); }
  for (const [writer, zip] of [["fflate", Buffer.from(fflate.zipSync(tree, { level: 0 }))], ["jszip", await box.generateAsync({ type: "nodebuffer" })]]) {
    fs.writeFileSync("z.zip", zip);
    const found = [];
    for (const reader in count) found.push(reader + " " + await count[reader](zip));
    fs.writeFileSync(writer + members + ".zip", zip);
    console.log(writer + " wrote " + members + ": " + found.join(", "));
  }
}
P
echo "fflate 0.8.3, jszip 3.10.2, adm-zip 0.6.1, yauzl 3.4.0, node $(node --version)"
node counts.mjs | tee seen
for f in fflate70000 jszip70000; do echo "zipfile of Python, $f: $(python3 -c 'import sys, zipfile; print(len(zipfile.ZipFile(sys.argv[1]).namelist()))' $f.zip)"; done | tee python
for w in fflate jszip; do
    echo "$w wrote 65534: fflate 65534, yauzl 65534, adm-zip 65534, jszip 65534"
    echo "$w wrote 65536: fflate 0, yauzl 0, adm-zip 0, jszip 65536"
    echo "$w wrote 70000: fflate 4464, yauzl 4464, adm-zip 4464, jszip 70000"
done | sort >expected
sort seen | cmp - expected
[ "$(grep -c ': 70000$' python)" = 2 ]
