//! Errors for features that are not supported yet, and for common mistakes on Windows.

use crate::support::{megadir, tree};

#[test]
fn what_is_not_there_yet_is_refused_in_one_line() {
    let scratch = tree();
    let (code, text, complaint) = megadir(scratch.path(), &["list", "--estimate", "tree"]);
    assert_eq!((code, text.as_str()), (Some(3), ""), "{complaint}");
    assert!(complaint.contains("unavailable on Windows"), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
}

#[test]
fn other_ways_that_are_named_are_those_of_this_system() {
    let scratch = tree();
    for (words, told) in [
        (&["--raw", "--backend", "by-handle"][..], "no backend of this system does"),
        (&["--threads", "4", "--backend", "by-handle"], "no backend of this system uses several"),
        (&["--buffer", "64KiB", "--backend", "std"], "by-handle"),
        (&["--owner", "0"], "unavailable on Windows"),
    ] {
        let (code, text, complaint) = megadir(scratch.path(), &[&["list", "tree"], words].concat());
        assert_eq!((code, text.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
        assert!(complaint.contains(told) && !complaint.contains("getdents"), "{complaint}");
    }
}

#[test]
fn what_cmd_makes_of_a_path_is_told() {
    let scratch = tree();
    for (path, told) in
        [(r#"tree\" --count"#, "closing quote"), (r"tree\file*", "--match"), ("NUL", "device")]
    {
        for words in [&["list"][..], &["scan", "--csv"], &["limits"], &["remove", "--yes"]] {
            let (code, text, complaint) = megadir(scratch.path(), &[words, &[path]].concat());
            assert_eq!((code, text.as_str(), complaint.lines().count()), (Some(3), "", 1), "{complaint}");
            assert!(complaint.contains(told), "{words:?}: {complaint}");
        }
    }
    assert_eq!(std::fs::read_dir(scratch.path().join("tree")).unwrap().count(), 51);
}
