#!/bin/sh
# Wrong guess: fs.opendir with recursive: true returns the same entries as fs.readdir with it, only one by one and with bounded memory. In node 20 it returns no more than bufferSize entries (32 by default)
# of each folder below the first one, with opendirSync and readSync, too; no error, no message. Of 50 folders with 50 files it returns 1600 files of 2500. The first folder is read as a whole, so a flat
# folder or small ones look right. fs.readdir returns all. Who is hurt: whoever walks trees with larger folders by the interface that is meant for them: copies, counts, sums and indexes miss
# files, and what removes all that was not listed removes them. Node 22.23 returns all. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
for version in 20.20.2 22.23.3; do mkdir $version; (cd $version; echo '{}' >package.json; npm install --silent --no-audit --no-fund node@$version >/dev/null); done
for folder in $(seq 50); do mkdir -p d/$folder; (cd d/$folder; seq 50 | xargs touch); done
mkdir flat; (cd flat; seq 2500 | xargs touch)
cat >count.mjs <<'N'
import fs from "fs";
async function opendir(folder, options) {
    let files = 0;
    for await (const entry of await fs.promises.opendir(folder, { recursive: true, ...options })) if (entry.isFile()) files++;
    return files;
}
function opendirSync(folder) {
    const handle = fs.opendirSync(folder, { recursive: true });
    let files = 0, entry;
    while ((entry = handle.readSync())) if (entry.isFile()) files++;
    handle.closeSync();
    return files;
}
const readdir = folder => fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).length;
console.log("files", 2500, "readdir", readdir("d"), "opendir", await opendir("d"), "opendirSync", opendirSync("d"),
    "opendir with forty as bufferSize", await opendir("d", { bufferSize: 40 }), "opendir of a flat folder", await opendir("flat"));
N
for version in 20.20.2 22.23.3; do
    node=$version/node_modules/.bin/node; [ "$($node --version)" = v$version ]
    echo "node $version: $($node count.mjs 2>messages)" | tee -a seen; cat messages >&2
done
[ "$(grep -o ' [0-9]*\( \|$\)' seen | tr -d ' ' | paste -sd' ')" = '2500 2500 1600 1600 2000 2500 2500 2500 2500 2500 2500 2500' ]
