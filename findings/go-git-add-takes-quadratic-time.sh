#!/bin/sh
# Wrong guess: Worktree.Add of go-git with one path costs what that file costs. Each call finds out the state of all files of the work tree first: 250 new files, added one by one, take 1 s, 1000 take 15 s, 2000 take
# 63 s; AddWithOptions with SkipStatus, or All for the folder, takes less than a second for 1000. Who is hurt: whoever commits generated files, records or labels from a Go program (GitOps, content stores, bots) in the
# way that the examples show, a file at a time. Without root.
set -eu
t=$(mktemp -d); trap 'chmod -R u+w "$t"; rm -rf "$t"' EXIT; cd "$t"
export GOPATH="$t/go" GOCACHE="$t/cache" GOFLAGS=-mod=mod; mkdir p; cd p
cat >go.mod <<'G'
module p

go 1.23

require github.com/go-git/go-git/v5 v5.16.2
G
cat >main.go <<'G'
package main

import (
	"fmt"
	"os"
	"syscall"

	"github.com/go-git/go-git/v5"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func spent() float64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func seconds(how string, count int) float64 {
	folder := fmt.Sprintf("%s-%d", how, count)
	check(os.Mkdir(folder, 0o755))
	for i := range count {
		check(os.WriteFile(fmt.Sprintf("%s/%06d", folder, i), []byte(fmt.Sprint(i)), 0o644))
	}
	repository, err := git.PlainInit(folder, false)
	check(err)
	tree, err := repository.Worktree()
	check(err)
	start := spent()
	if how == "All" {
		check(tree.AddWithOptions(&git.AddOptions{All: true}))
	}
	for i := range count {
		name := fmt.Sprintf("%06d", i)
		switch how {
		case "Add":
			_, err = tree.Add(name)
		case "SkipStatus":
			err = tree.AddWithOptions(&git.AddOptions{Path: name, SkipStatus: true})
		}
		check(err)
	}
	took := spent() - start
	index, err := repository.Storer.Index()
	check(err)
	fmt.Printf("%s, %d files: %.1f s of CPU time, %d in the index\n", how, count, took, len(index.Entries))
	if len(index.Entries) != count {
		panic("files are missing")
	}
	return took
}

func main() {
	few, many := seconds("Add", 250), seconds("Add", 1000)
	if many < 7*few || many < 3*seconds("SkipStatus", 1000) || many < 10*seconds("All", 1000) {
		panic("the behaviour changed")
	}
}
G
go version; go mod tidy >/dev/null 2>&1; go list -m github.com/go-git/go-git/v5
go build -o add .; ./add
