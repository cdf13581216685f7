//! GNU tar and Python read the shards, and have the same entries.

use std::fs;
use std::path::Path;
use std::process::Command;

use megadir_testkit::require;
use tempfile::TempDir;

use crate::described::{described, hostile_tree};
use crate::packed;

fn shards(pack: &Path) -> Vec<std::path::PathBuf> {
    let paths = fs::read_dir(pack).unwrap().map(|entry| entry.unwrap().path());
    let mut shards: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "tar")).collect();
    shards.sort();
    shards
}

#[test]
fn gnu_tar_extracts_the_tree() {
    require!(require::have("tar"));
    let directory = TempDir::new().unwrap();
    let (source, pack, copy) =
        (directory.path().join("source"), directory.path().join("pack"), directory.path().join("copy"));
    hostile_tree(&source);
    for shard_bytes in [1 << 30, 64 << 10] {
        packed(&source, &pack, shard_bytes);
        fs::create_dir(&copy).unwrap();
        for shard in shards(&pack) {
            // Without it, tar makes links with ".." last, and so after it has set the times of their directories.
            let mut tar = Command::new("tar");
            tar.arg("--absolute-names");
            tar.args(["--same-permissions", "--same-owner", "--xattrs", "--xattrs-include=*", "-xf"]);
            let output = tar.arg(&shard).arg("-C").arg(&copy).output().unwrap();
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            // Times before 1970 and in its first second are kept, with a warning.
            // It does not know that names are bytes in the record, and takes them as such.
            let known =
                ["implausibly old time stamp", "Ignoring unknown extended header keyword 'hdrcharset'"];
            let is_odd = |line: &&str| !known.iter().any(|known| line.contains(known));
            let odd: Vec<_> = words.lines().filter(is_odd).collect();
            assert!(output.status.success() && odd.is_empty(), "{words}");
        }
        assert_eq!(described(&copy), described(&source));
        fs::remove_dir_all(&copy).unwrap();
        fs::remove_dir_all(&pack).unwrap();
    }
}

#[test]
fn python_reads_members_and_their_contents() {
    require!(require::have("python3"));
    let directory = TempDir::new().unwrap();
    let (source, pack) = (directory.path().join("source"), directory.path().join("pack"));
    hostile_tree(&source);
    packed(&source, &pack, 64 << 10);
    let script = r#"
import os, sys, tarfile
source, shards = sys.argv[1], sys.argv[2:]
seen = 0
for shard in shards:
    with tarfile.open(shard, errors="surrogateescape", encoding="utf-8") as tar:
        for member in tar:
            path = os.path.join(source, member.name)
            status = os.lstat(path)
            assert member.mode == status.st_mode & 0o7777, path
            assert abs(member.mtime - status.st_mtime) < 1e-5, (path, member.mtime, status.st_mtime)
            if member.isreg():
                assert tar.extractfile(member).read() == open(path, "rb").read(), path
            if member.issym():
                assert member.linkname == os.readlink(path), path
            if member.islnk():
                assert os.path.samefile(os.path.join(source, member.linkname), path), path
            seen += 1
print(seen)
"#;
    let output =
        Command::new("python3").args(["-c", script]).arg(&source).args(shards(&pack)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: usize = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
    assert_eq!(seen, described(&source).len());
}

#[test]
fn bsdtar_extracts_each_name() {
    require!(require::have("bsdtar"));
    let directory = TempDir::new().unwrap();
    let (source, pack, copy) =
        (directory.path().join("source"), directory.path().join("pack"), directory.path().join("copy"));
    hostile_tree(&source);
    packed(&source, &pack, 1 << 30);
    fs::create_dir(&copy).unwrap();
    let mut tar = Command::new("bsdtar");
    tar.env("LC_ALL", "C.UTF-8").args(["-xpf"]).arg(&shards(&pack)[0]).arg("-C").arg(&copy);
    let output = tar.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Contents, links and modes; its times before 1970 and names of attributes differ.
    let names = |top: &Path| described(top).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&copy), names(&source));
}
