#!/bin/sh
# Wrong guess: a file system over an archive lists every member, as zip.Reader of Go (an fs.FS) does: folders that have no member of their own follow from the paths. Walk, ReadDir and Glob of zipfs and tarfs
# in afero know only folders with a member: of an archive without them (zip -D, zipfile of Python, tar -T with a list of files) they list the files of the top folder, without
# an error; to open a left-out file by its path works. Who is hurt: whoever copies or counts what is in an archive of files in folders with afero, a widely used file system for Go. Without root.
set -eu
t=$(mktemp -d); trap 'chmod -R u+w "$t"; rm -rf "$t"' EXIT; cd "$t"
export GOPATH="$t/go" GOCACHE="$t/cache" GOFLAGS=-mod=mod
mkdir p s s/a s/a/b s/c; for n in root a/1 a/b/2 a/b/3 c/4; do echo "contents of $n" >"s/$n"; done
(cd s
    find . -type f -printf '%P\n' | sort >../names
    zip -qr ../with.zip .; zip -qrD ../without.zip .; tar -cf ../with.tar .; tar -cf ../without.tar -T ../names)
cd p
cat >go.mod <<'G'
module p

go 1.23

require github.com/spf13/afero v1.15.0
G
cat >main.go <<'G'
package main

import (
	"archive/tar"
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/afero/tarfs"
	"github.com/spf13/afero/zipfs"
)

func main() {
	for _, name := range os.Args[1:] {
		file, err := os.Open(name)
		if err != nil {
			panic(err)
		}
		var system afero.Fs
		if strings.HasSuffix(name, ".tar") {
			system = tarfs.New(tar.NewReader(file))
		} else {
			info, _ := file.Stat()
			archive, err := zip.NewReader(file, info.Size())
			if err != nil {
				panic(err)
			}
			files := 0
			fs.WalkDir(archive, ".", func(path string, entry fs.DirEntry, err error) error {
				if !entry.IsDir() {
					files++
				}
				return err
			})
			fmt.Println("zip.Reader", name, files)
			system = zipfs.New(archive)
		}
		files := 0
		err = afero.Walk(system, "/", func(path string, info fs.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				files++
			}
			return err
		})
		contents, opened := afero.ReadFile(system, "/a/b/2")
		fmt.Printf("afero %s %d error %v, a/b/2: %s %v\n", name, files, err, strings.TrimSpace(string(contents)), opened)
	}
}
G
go version; go mod tidy >/dev/null 2>&1; go list -m github.com/spf13/afero
(cd ..; (cd p && go build -o ../list .); ./list with.zip without.zip with.tar without.tar) | tee ../seen
printf '%s\n' 'zip.Reader with.zip 5' 'afero with.zip 5 error <nil>, a/b/2: contents of a/b/2 <nil>' 'zip.Reader without.zip 5' 'afero without.zip 1 error <nil>, a/b/2: contents of a/b/2 <nil>' \
    'afero with.tar 5 error <nil>, a/b/2: contents of a/b/2 <nil>' 'afero without.tar 1 error <nil>, a/b/2: contents of a/b/2 <nil>' | diff - ../seen
