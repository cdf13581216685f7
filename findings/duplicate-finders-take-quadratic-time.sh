#!/bin/bash
# Wrong guess: finding duplicates among small files, or checking them against a list of sums, is linear with all finders. jdupes puts files of one content in a chain that it goes through for each of them,
# hashdeep and md5deep the sums of their list; duff does so with files of one size. 10 000 files took 0.7, 0.5 and 0.2 s of processor time in user mode, 40 000 took 11, 7 and 3 s, so a million takes hours. rdfind took 0.2 s.
# Who is hurt: whoever has many equal small files (empty labels, masks, markers) or files of one size in a data set. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' duff hashdeep jdupes rdfind | tee /dev/stderr | tr '\n' ' ' |
    grep -q '^duff 0\.5\.2-1[^ ]* hashdeep 4\.4-7[^ ]* jdupes 1\.21\.3-1[^ ]* rdfind 1\.5\.0-1[^ ]* $'
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"
processor() { TIMEFORMAT=%U; { time "$@" >output; } 2>&1 | tail -1 | tr -d . | sed 's/^0*//;s/^$/0/'; } # Milliseconds in user mode.
for run in 'content jdupes -q -r data' 'size jdupes -q -r data' 'content md5deep -r -m sums data' 'size md5deep -r -m sums data' 'content hashdeep -r -a -k hashes data' 'size duff -r data' 'content duff -r data' \
    'content rdfind -makeresultsfile false data' 'size rdfind -makeresultsfile false data'; do
    for files in 8000 32000; do
        rm -rf data; mkdir data
        python3 -c 'import sys
for i in range(int(sys.argv[1])): open(f"data/{i:06}", "w").write("x" * 100 if sys.argv[2] == "content" else f"{i:100}")' $files "${run%% *}"
        md5deep -r data >sums; hashdeep -r data >hashes
        took=$(processor ${run#* }); echo "${run#* } of $files files of one ${run%% *}: $took ms"
        name=${run%% *}_${run#* }; name=${name%% *}; declare "t_${name}_$files=$took"
    done
done
times() { [ $(($1)) -ge $(($2 * 9)) ]; }
times t_content_jdupes_32000 t_content_jdupes_8000 && times t_content_md5deep_32000 t_content_md5deep_8000 && times t_content_hashdeep_32000 t_content_hashdeep_8000 &&
    times t_size_duff_32000 t_size_duff_8000 && [ $t_size_jdupes_32000 -lt $((t_content_jdupes_32000 / 10)) ] && [ $t_size_md5deep_32000 -lt $((t_content_md5deep_32000 / 4)) ] &&
    [ $t_content_rdfind_32000 -lt $((t_content_jdupes_32000 / 10)) ] && [ $t_size_rdfind_32000 -lt $((t_size_duff_32000 / 4)) ]
