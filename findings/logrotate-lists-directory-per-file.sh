#!/bin/bash
# Wrong guess: logrotate with a wildcard renames each log once, so four times as many logs take four times as long. With dateext it lists the whole directory for each log, to look for its old
# logs: for 200 logs the kernel returns 2 MB of listings and for 800 logs 33 MB; 2000 logs took 20 s (2 s without dateext) and 4000 took 76 s. With numbers (nodateext) it lists the directory
# once. Who is hurt: whoever rotates a log per user, job or device in one directory every night (Fedora and SUSE have dateext in /etc/logrotate.conf). Counted by strace, so that the speed of the
# machine does not matter. Without root.
set -eu
dpkg-query -W -f '${Package} ${Version}\n' logrotate strace | tee /dev/stderr | tr '\n' ' ' | grep -q '^logrotate 3\.21\.0-1[^ ]* strace 6\.1-[^ ]* $'
export PATH="$PATH:/usr/sbin:/sbin"
t=$(mktemp -d -p /dev/shm); trap 'rm -rf "$t"' EXIT; cd "$t"; chmod 755 .
listed() { # LOGS SETTING: bytes of listings
    rm -rf d state; mkdir d; for i in $(seq "$1"); do echo x >d/$i.log; done
    printf '%s/d/*.log {\n su %s %s\n %s\n rotate 5\n nocompress\n create\n}\n' "$t" "$(id -un)" "$(id -gn)" "$2" >conf; chmod 644 conf
    strace -f -qq -e trace=getdents64 -o calls logrotate -f -s "$t/state" conf
    [ "$(ls d | wc -l)" = $(($1 * 2)) ]
    awk '{ bytes += $NF } END { print bytes }' calls
}
failures=0
check() { # RANGE SETTING
    few=$(listed 200 "$2") many=$(listed 800 "$2")
    echo "$2: $few bytes of listings for 200 logs, $many for 800"
    [ "$1" = linear ] && [ $((many / few)) -le 4 ] || { [ "$1" = quadratic ] && [ $((many / few)) -ge 14 ]; } || failures=1
}
check quadratic dateext
check linear nodateext
exit $failures
