#!/bin/bash
# Wrong guess: tar --exclude-vcs-ignores reads .gitignore as git does, as its manual tells ("much as the corresponding VCS would treat them"), so an archive of a work tree has what git has. tar
# takes ! and / at the beginning of a pattern as part of a name: of "*" and "!keep" only the first counts, so files that git tracks are left out, and "/build/" leaves out nothing. Exit code 0, no message.
# ripgrep and fd list the same files as git. Who is hurt: whoever archives or moves work trees in this way: "data/*" with "!data/kept" is how folders of many files are kept out of git but for a few.
# Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' fd-find git ripgrep tar | tee /dev/stderr | tr '\n' ' ' | grep -q '^fd-find 8\.6\.0-3[^ ]* git 1:2\.39\.5-0[^ ]* ripgrep 13\.0\.0-4[^ ]* tar 1\.34+dfsg-1\.2[^ ]* $'
t=$(mktemp -d); trap 'rm -rf "$t"' EXIT; cd "$t"; export HOME="$t" LC_ALL=C
git init -q -b main tree; cd tree; mkdir data build source
printf '%s\n' '*.log' '!kept.log' 'data/*' '!data/kept' '/build/' '/source/*.o' >.gitignore
touch a.log kept.log data/1 data/2 data/kept build/output source/main.c source/main.o
git add .; git -c user.name=n -c user.email=e commit -qm c
git ls-files | sort >../git
code=0; tar cf ../archive --exclude=./.git --exclude-vcs-ignores . 2>../messages || code=$?
tar tf ../archive | grep -v '/$' | sed 's/^\.\///' | sort >../tar
rg --files --hidden --glob '!.git' | sort >../ripgrep
fdfind --hidden --exclude .git --type f | sort >../fd
cd ..
echo "tar: exit code $code, $(wc -l <messages) lines of messages"
for program in tar ripgrep fd; do
    echo "$program: tracked but left out: $(comm -23 git $program | paste -sd' '); ignored but there: $(comm -13 git $program | paste -sd' ')" | tee -a seen
done
cat >expected <<'X'
tar: tracked but left out: data/kept kept.log; ignored but there: build/output source/main.o
ripgrep: tracked but left out: ; ignored but there: 
fd: tracked but left out: ; ignored but there: 
X
[ $code = 0 ] && [ ! -s messages ] && cmp seen expected
