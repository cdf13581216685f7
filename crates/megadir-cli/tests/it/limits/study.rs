//! The study `limits` fills directories until a file is refused, on a small file system.

use megadir_testkit::mount::{EXT4, Mount, XFS};
use megadir_testkit::require;

use super::refused::FULL_SOON;
use crate::support::{run, scratch};

#[test]
fn directories_are_filled_held_against_the_prediction_and_removed() {
    let mount = require!(Mount::make(&FULL_SOON));
    let scratch = scratch();
    let point = mount.path();
    let arguments =
        ["bench", "run", "limits", "-v", "--quick", "--rounds", "1", "--seed", "1", "--output", "record"];
    let all: Vec<&str> = arguments.into_iter().chain(["--dir", point.to_str().unwrap()]).collect();
    let ran = run(scratch.path(), &all);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let out = String::from_utf8(ran.out).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("The first file was refused after 1"), "{out}");
    assert!(out.contains("160 293 were predicted"), "{out}");
    assert!(out.contains("formula of the index, ext4, blocks of 1024 bytes, names of 32 bytes"), "{out}");
    assert!(!out.contains("Only 1 round"), "{out}");
    assert_eq!(std::fs::read_dir(&point).unwrap().count(), 1, "nothing but lost+found");
    let record = std::fs::read_to_string(scratch.path().join("record")).unwrap();
    assert!(record.contains(
        "\"do\":\"fill-until-refused\",\"entries_about\":160000,\"predicted\":{\"entries\":160293"
    ));
    assert_eq!(record.matches("\"phase\":\"measure\"").count(), 1);
}

#[test]
fn unsuitable_file_system_is_refused_with_a_suitable_one() {
    let scratch = scratch();
    let ext4 = require!(Mount::make(&EXT4));
    let xfs = require!(Mount::make(&XFS));
    for (mount, arguments, words) in [
        (&ext4, &["--quick"][..], &["with blocks of 4096 bytes", "--published", "another file system"][..]),
        (&ext4, &["--published"], &["inodes may run out before the index is full", " needed"]),
        (&xfs, &[], &["directories of xfs have no index that fills up"]),
    ] {
        let point = mount.path();
        let all = ["bench", "run", "limits", "--dir", point.to_str().unwrap()];
        let all: Vec<&str> = all.into_iter().chain(arguments.iter().copied()).collect();
        let ran = run(scratch.path(), &all);
        assert_eq!((ran.code, ran.err.lines().count()), (Some(3), 1), "{}", ran.err);
        for word in words {
            assert!(ran.err.contains(word), "{}", ran.err);
        }
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "no record of nothing");
    for (arguments, word) in [
        (["--backend", "std"], "study `limits` lists no directory"),
        (["--entries", "10k,20k"], "expected one number"),
    ] {
        let all: Vec<&str> = ["bench", "run", "limits"].into_iter().chain(arguments).collect();
        run(scratch.path(), &all).complains(2, &[word]);
    }
}
