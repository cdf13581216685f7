#!/bin/sh
# Wrong guess: tinyglobby (the globs of Vite, Vitest and many tools of npm), which follows links to folders by default, stops at loops only. Its walker, fdir, takes a link below a linked folder for a loop as soon as
# the path of one target BEGINS with that of the other, as text: run1 and run10 are no loop. The files behind it are left out, without an error; named run1 and other, all are there. fast-glob, glob with follow: true,
# and readdirp return them. Who is hurt: whoever puts a data set together from links to stores with numbered names, or links of packages (lib, lib-extra) in a workspace. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
npm install --silent --no-audit --no-fund tinyglobby@0.2.17 fdir@6.5.0 fast-glob@3.3.3 glob@13.0.0 readdirp@5.1.1 >/dev/null
echo "node $(node --version)"; npm ls --depth=0 | grep -oE '[a-z-]+@[0-9][0-9.]*'
cat >walk.mjs <<'J'
import { fdir } from 'fdir'; import fastGlob from 'fast-glob'; import { glob as follow } from 'glob'; import { readdirpPromise } from 'readdirp'; import { glob } from 'tinyglobby'
const cwd = process.argv[2]
const walkers = {
    tinyglobby: () => glob('**', { cwd }),
    fdir: () => new fdir().withSymlinks({ resolvePaths: false }).crawl(cwd).withPromise(),
    'fast-glob': () => fastGlob('**', { cwd }),
    glob: () => follow('**', { cwd, follow: true, nodir: true }),
    readdirp: () => readdirpPromise(cwd),
}
for (const [name, walk] of Object.entries(walkers)) console.log(`${process.argv[3]}: ${name} returns ${(await walk()).length} files`)
J
for second in run10 other; do
    rm -rf store set; mkdir -p store/run1 "store/$second" set
    for i in 1 2 3; do echo "$i" >"store/run1/$i"; echo "$i" >"store/$second/$i"; done
    ln -s ../store/run1 set/first; ln -s "../$second" store/run1/next
    echo "a link to run1, in it one to $second: find -L returns $(find -L set -type f | wc -l) files"
    node walk.mjs set "run1, $second"
done | tee seen
diff - seen <<'E'
a link to run1, in it one to run10: find -L returns 6 files
run1, run10: tinyglobby returns 3 files
run1, run10: fdir returns 3 files
run1, run10: fast-glob returns 6 files
run1, run10: glob returns 6 files
run1, run10: readdirp returns 6 files
a link to run1, in it one to other: find -L returns 6 files
run1, other: tinyglobby returns 6 files
run1, other: fdir returns 6 files
run1, other: fast-glob returns 6 files
run1, other: glob returns 6 files
run1, other: readdirp returns 6 files
E
