//! `megadir changes` with forged inventories that point outside the tree.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::path::Path;
use std::process::Output;

use megadir::FileType;
use megadir_inventory::{
    ContentHash, FORMAT_VERSION, Facts, Metadata, OwnedRow, Root, Scanned, Sink, WriteOptions, Writer,
};
use sha2::{Digest, Sha256};

use crate::support::megadir;

/// Writes an inventory of a tree with a symbolic link, and a row that guesses the contents of a secret file.
fn write(path: &Path, tree: &Path, parent: &str, name: &str, guess: &[u8]) {
    let row = |parent: &str, name: &str, kind| OwnedRow {
        root: 0,
        parent: parent.as_bytes().to_vec(),
        name: name.as_bytes().to_vec(),
        facts: Facts { kind, ..Facts::NOTHING },
        error: None,
    };
    let mut secret = row(parent, name, FileType::File);
    secret.facts.hash = Some(ContentHash::Sha256(Sha256::digest(guess).into()));
    let mut rows = [row("", "", FileType::Directory), row("", "link", FileType::Symlink), secret];
    rows.sort_by(|a, b| a.row().key.cmp(&b.row().key));
    let root = Root {
        path: tree.as_os_str().as_encoded_bytes().to_vec(),
        file_system: "ext4".into(),
        driver: None,
        lasting_inodes: None,
        granule_ns: None,
        newest_ns: None,
    };
    let scanned = Scanned {
        cross_mounts: false,
        stat_backend: "statx".into(),
        threads: 1,
        mounts_not_entered: 0,
        selected: None,
    };
    let metadata = Metadata {
        version: FORMAT_VERSION,
        program: "test".into(),
        roots: vec![root.clone()],
        started_ns: i64::MAX,
        ended_ns: i64::MAX,
        scanned,
        rows: 3,
        failed: 0,
        unread_directories: 0,
        volumes: None,
    };
    let options = WriteOptions { threads: 0, level: 1, group_rows: 100 };
    let mut writer = Writer::create(path, vec![root.path], options).unwrap();
    rows.iter().for_each(|row| writer.add(&row.row()).unwrap());
    writer.finish(&metadata).unwrap();
}

fn changes(inventory: &Path, options: &[&str]) -> Output {
    megadir(".", &["changes", "--any-root"]).arg(inventory).args(options).output().unwrap()
}

#[test]
fn inventory_reveals_no_contents_outside_the_tree() {
    let scratch = tempfile::tempdir().unwrap();
    let (tree, outside) = (scratch.path().join("tree"), scratch.path().join("outside"));
    for path in [&tree, &outside] {
        fs::create_dir(path).unwrap();
    }
    fs::write(outside.join("secret"), "the secret").unwrap();
    std::os::unix::fs::symlink("../outside", tree.join("link")).unwrap();
    let absolute = outside.join("secret").into_os_string().into_string().unwrap();
    let inventory = scratch.path().join("inventory");
    for (parent, name) in
        [("", "../outside/secret"), ("", "link/secret"), ("link", "secret"), ("..", "x"), ("", &absolute)]
    {
        for options in [&[][..], &["--verify"], &["--list-all"], &["--verify", "--threads", "1"]] {
            let answers = [&b"the secret"[..], b"another"].map(|guess| {
                write(&inventory, &tree, parent, name, guess);
                changes(&inventory, options)
            });
            for answer in &answers {
                let stderr = String::from_utf8_lossy(&answer.stderr);
                assert!(
                    answer.stdout.is_empty(),
                    "{parent} {name}: {}",
                    String::from_utf8_lossy(&answer.stdout)
                );
                assert!(stderr.contains("not written by a scan"), "{stderr}");
                assert_eq!(stderr.lines().filter(|line| line.contains("not written")).count(), 1, "{stderr}");
            }
            assert_eq!(answers[0].stderr, answers[1].stderr, "the right guess is answered as a wrong one");
            assert_eq!(answers[0].status.code(), answers[1].status.code());
        }
    }
}
