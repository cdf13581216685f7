#!/bin/bash
# Wrong guess: Linux follows 40 symbolic links in a path, always. Links of 21 to 40 are followed unless something is mounted or unmounted anywhere meanwhile: the
# kernel then resolves the path once more and goes on counting, so that a valid path fails with ELOOP. Met as a folder of images with a link to itself, of which
# torchvision returned 41 copies in one run and 22 in another. Who is hurt: whoever walks paths through many links (pnpm's node_modules, generations of a
# profile, `tar -h`, os.walk with followlinks) beside containers or automounts: entries are missing now and then, and os.walk has no message. Paths of up
# to 20 links never fail, nor does a walk relative to descriptors. Root only, for the mounts; the kernel is the one that runs.
set -eu
uname -r; python3 --version; [[ $(uname -r) = 6.18.* ]]
t=$(mktemp -d) mounts=; trap '[ -z "$mounts" ] || { kill "$mounts"; wait "$mounts" || true; }; umount "$t/m" 2>/dev/null || true; rm -rf "$t"' EXIT; cd "$t"
mkdir d m; ln -s . d/loop
failed() { timeout 60 python3 -c 'import errno, os, sys, time
path, failed, end = "d" + "/loop" * int(sys.argv[1]), 0, time.monotonic() + 5
while time.monotonic() < end:
    for _ in range(100):
        try: os.stat(path)
        except OSError as error:
            assert error.errno == errno.ELOOP
            failed += 1
print(failed)' "$1"; }
alone=$(failed 40); echo "40 links, nothing is mounted: $alone lookups fail"
(trap 'exit 0' TERM; while :; do mount -t tmpfs none m; umount m; done) & mounts=$!
few=$(failed 20) many=$(failed 21) most=$(failed 40); echo "beside mounts: 20 links: $few fail; 21 links: $many; 40 links: $most"
[ "$alone" = 0 ] && [ "$few" = 0 ] && [ "$many" -gt 0 ] && [ "$most" -gt 0 ]
