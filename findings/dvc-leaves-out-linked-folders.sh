#!/bin/sh
# Wrong guess: `dvc add` of a folder stores what is below it, or names what it cannot store. It leaves out each link to a folder (a link to a file becomes a file with its contents, a link without a target is an error),
# each subfolder that is a DVC repository of its own, without .git too, and .git and .hg: no message, exit code 0, and `dvc status` reports that all is up to date; checkout elsewhere lacks them. Who is hurt: whoever keeps
# shared images or other data sets by a link, or a clone of a published DVC data set, below a folder that is added: training elsewhere runs on the rest. Without root.
set -eu
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install dvc==3.67.1
v/bin/pip freeze | grep '^dvc=='
export PATH="$t/v/bin:$PATH" HOME="$t"
mkdir -p r/shared r/data/own r/data/cloned; cd r
dvc init -q --no-scm; dvc config core.analytics false
echo 1 >data/own/1.txt; echo 2 >shared/2.txt; echo 3 >data/cloned/3.txt
ln -s ../shared data/linked; ln -s ../shared/2.txt data/linked-file.txt
(cd data/cloned; dvc init -q --no-scm)
code=0; dvc add data >../messages 2>&1 || code=$?
grep -i -e warn -e skip -e ignor -e link ../messages && exit 1
files() { (cd data; find -L . -name '*.txt' | sort | tr '\n' ' '); }
{
    echo "exit code $code"; dvc status
    echo "before: $(files)"; mv data ../aside; dvc checkout -q; echo "after checkout: $(files)"
} | tee ../seen
mkdir other; ln -s nowhere other/link-without-target
dvc add other >../messages 2>&1 && exit 1
grep -o 'No such file.*/link-without-target' ../messages | sed 's,[^ ]*/,,'
diff - ../seen <<'E'
exit code 0
Data and pipelines are up to date.
before: ./cloned/3.txt ./linked-file.txt ./linked/2.txt ./own/1.txt 
after checkout: ./linked-file.txt ./own/1.txt 
E
