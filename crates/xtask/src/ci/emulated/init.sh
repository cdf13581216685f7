#!/bin/sh
# First process of the emulated machine: disks, the command, and its results as an archive on the second disk.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin:/busybox HOME=/lab TMPDIR=/lab/tmp TERM=dumb COLUMNS=120
umask 022
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/shm /lab /run /tmp
for folder in /dev/shm /run /tmp; do mount -t tmpfs -o mode=1777,size=75% none $folder; done
# Drivers that are built in have no modules, which is no error.
for module in virtio_pci virtio_blk loop ext4; do /usr/sbin/modprobe -q $module; done
/usr/sbin/mke2fs -q -F -t ext4 -m 0 -N 262144 -O ^has_journal /dev/vda && mount -t ext4 -o noatime /dev/vda /lab || poweroff -f
mkdir -p /lab/out /lab/tmp && chmod 1777 /lab/tmp
echo "booted Linux $(uname -r) in $(cut -d' ' -f1 /proc/uptime) s, clock $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
cd /lab/out
sh /command 2>&1
echo $? > /lab/out/status
tar -c -f /dev/vdb -C /lab/out .
sync
poweroff -f
