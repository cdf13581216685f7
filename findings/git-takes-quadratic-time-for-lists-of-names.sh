#!/bin/bash
# Wrong guess: git looks up each name of --pathspec-from-file in the sorted index, so four times as many names take four times as long. git add, rm and commit compare each file of the index with each
# name of the list, also with --literal-pathspecs: of 5000 changed files git add took 1 s of processor time, of 20 000 files 17 s (git rm: 3 and 41 s), so 200 000 take half an hour. It is the same
# for names on the command line. git update-index --stdin (or add without a list) is linear. Who is hurt: hooks, pipelines and data repositories that commit lists of many files. Without root.
set -eu
git --version | tee /dev/stderr | grep -q '^git version 2\.39\.'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"; export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x
processor() { TIMEFORMAT=%U; { time "$@" >"$t/output" 2>&1; } 2>&1 | tr -d . | sed 's/^0*//;s/^$/0/'; } # Milliseconds in user mode.
commands=('git add --pathspec-from-file=list' 'git --literal-pathspecs add --pathspec-from-file=list' 'git rm -q --cached --pathspec-from-file=list' 'git update-index --stdin')
for files in 2000 8000; do
    rm -rf r; git init -q r; cd r; mkdir d; seq -f d/%06.0f $files >list; xargs touch <list; git add d; git commit -q -m x
    for i in ${!commands[*]}; do
        git reset -q --hard; while read -r name; do echo $i >"$name"; done <list
        took[files+i]=$(processor ${commands[i]} <list); [ "$(git diff --cached --name-only | wc -l)" = $files ]
    done
    cd ..
done
failures=0
for i in ${!commands[*]}; do
    few=${took[2000+i]} many=${took[8000+i]}
    echo "${commands[i]}: $few ms for 2000 files, $many ms for 8000"
    if [ $i -lt 3 ]; then [ $many -ge $((few * 9)) ] || failures=1; else [ $many -lt $((took[8000] / 10)) ] || failures=1; fi
done
exit $failures
