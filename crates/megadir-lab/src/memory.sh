number=$(cat /sys/class/zram-control/hot_add) || exit 1
device=/dev/zram$number
number_of_disk() { cat "/sys/block/zram$number/diskseq" 2>/dev/null; }
sequence=$(number_of_disk)
remove() {
    exec 4<&-
    tries=0
    while [ "$(number_of_disk)" = "$sequence" ] && [ $tries -lt 600 ]; do
        umount "$device" 2>/dev/null
        { echo "$number" >/sys/class/zram-control/hot_remove; } 2>/dev/null && break
        tries=$((tries + 1))
        sleep 0.1
    done
}
mark=$1/zram-$2-$sequence
if exec 4<"$device" && mkdir -p "$1" && echo $$ >"$mark"; then
    echo "$number"
    read -r _
fi
remove
[ "$(number_of_disk)" = "$sequence" ] || rm -f "$mark"
