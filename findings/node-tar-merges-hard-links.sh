#!/bin/sh
# Wrong guess: tar of npm finds hard links by device and inode number, as GNU tar does, so it links names of one file only. The numbers come from fs.stat, as doubles, which cannot tell apart
# numbers above 2^53. overlayfs with xino=on (or auto, where the lower file systems have room) puts the layer into the highest bits of inode numbers, so 2048 neighbours are one number for
# node: every file with two names becomes a link to the first one, with that one's contents; no error. npm pack does so with a package, and npm install leaves all links of that out. GNU tar is right.
# Who is hurt: whoever packs trees with hard links (stores of pnpm, snapshots of cp -al) in containers or live systems on such an overlay; other file systems have large numbers, too (Lustre,
# NTFS, several FUSE ones). Needs root, or user namespaces.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
npm install --silent --no-audit --no-fund tar@7.5.23 >/dev/null
echo "tar of npm 7.5.23, npm $(npm --version), node $(node --version), Linux $(uname -r), $(tar --version | head -1)"
echo 'import { create } from "tar"; process.chdir(process.argv[2]); await create({ file: process.argv[3] }, ["files"]);' >pack.mjs
user=; [ "$(id -u)" = 0 ] || user=-r
unshare $user -m sh -eu -c '
    mkdir upper lower mounted expected; mount -t tmpfs none upper; mount -t tmpfs none lower; mkdir -p upper/up upper/work lower/files
    echo "{\"name\": \"x\", \"version\": \"1.0.0\"}" >lower/package.json
    for i in 1 2 3 4 5; do echo "contents $i" >lower/files/$i; ln lower/files/$i lower/files/$i-linked; done
    cp -a lower/files expected
    mount -t overlay none -o lowerdir=lower,upperdir=upper/up,workdir=upper/work,xino=on mounted
    echo "inode numbers: $(stat -c %i mounted/files/1 mounted/files/2 | paste -sd" "), in node: $(node -p "[1, 2].map(i => fs.statSync(\"mounted/files/\" + i).ino).join(\" \")")"
    node pack.mjs mounted "$PWD/node.tar"
    tar cf gnu.tar -C mounted files
    npm pack --silent --cache "$PWD/cache" --pack-destination "$PWD" ./mounted >/dev/null'
for archive in node.tar gnu.tar x-1.0.0.tgz; do
    rm -rf out; mkdir out; tar xf $archive -C out; folder=out; [ ! -d out/package ] || folder=out/package
    wrong=$(diff -rq expected/files $folder/files | wc -l)
    echo "$archive: $wrong of 10 files with the contents of others or missing; file 2 has: $(cat $folder/files/2)"
    echo "$wrong" >>seen
done
mkdir use; cd use; echo '{}' >package.json; npm install --silent --no-audit --no-fund --cache "$t/cache" ../x-1.0.0.tgz >/dev/null
echo "npm install of it: files $(ls node_modules/x/files | paste -sd' ') of 10"
[ "$(paste -sd' ' ../seen)" = '8 0 8' ] && [ "$(ls node_modules/x/files)" = 1 ]
