#!/bin/sh
# Wrong guess: what makes the tar archives of containers (docker cp, docker commit and build contexts; Podman and Buildah) finds hard links by device and inode number, as tar does. go-archive of
# Moby and pkg/archive of containers/storage go by the inode number alone: of two mounts in one tree, a file with a second name becomes a link to an unrelated file of the other mount with the
# same number, and has that one's contents in the archive; no error. Fresh file systems number alike, so the same set of files on two tmpfs or two ext4 loses the second one as a whole.
# Who is hurt: whoever archives a tree with volumes in it that has hard links (snapshots of cp -al, stores of pnpm, Git's local clones). GNU tar is right. Root, or user namespaces.
set -eu
t=$(mktemp -d); trap 'chmod -R u+w "$t"; rm -rf "$t"' EXIT; cd "$t"
echo "$(go version), moby/go-archive 0.3.3, containers/storage 1.59.1, $(tar --version | head -1)"
export GOPATH="$t/go" GOFLAGS=-mod=mod CGO_ENABLED=0
for module in github.com/moby/go-archive@v0.3.3 github.com/containers/storage@v1.59.1; do
    name=$(echo "$module" | cut -d/ -f2); mkdir "$name"
    package=${module%@*}; [ "$name" = moby ] || package=$package/pkg/archive
    cat >"$name/main.go" <<G
package main
import ("io"; "os"; archive "$package")
func main() {
	tree, err := archive.TarWithOptions(os.Args[1], &archive.TarOptions{})
	if err == nil { _, err = io.Copy(os.Stdout, tree) }
	if err != nil { panic(err) }
}
G
    (cd "$name"; go mod init x 2>messages; go get "$module" 2>>messages; go build -o archive . 2>>messages || { cat messages >&2; exit 1; })
done
user=; [ "$(id -u)" = 0 ] || user=-r
unshare $user -m sh -eu -c '
    mkdir -p s/one s/two
    for d in one two; do
        mount -t tmpfs none s/$d; for i in 1 2 3; do echo "contents $i of $d" >s/$d/$i; ln s/$d/$i s/$d/$i-linked; done
    done
    [ "$(stat -c %i s/one/1)" = "$(stat -c %i s/two/1)" ] && [ "$(stat -c %d s/one/1)" != "$(stat -c %d s/two/1)" ]
    moby/archive s >moby.tar; containers/archive s >containers.tar; tar cf gnu.tar -C s .
    cp -a s expected'
for writer in moby containers gnu; do
    mkdir "$writer-out"; tar xf "$writer.tar" -C "$writer-out"
    wrong=$(diff -rq expected "$writer-out" | wc -l); echo "$writer: $wrong of 12 files with the contents of others; two/1 has: $(cat "$writer-out/two/1")"
    echo "$writer:$wrong" >>seen
done
[ "$(paste -sd' ' seen)" = 'moby:6 containers:6 gnu:0' ]
