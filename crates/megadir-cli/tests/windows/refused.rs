//! Errors for features that are not supported yet, and for common mistakes on Windows.

use crate::support::{megadir, tree};

#[test]
fn unimplemented_options_are_refused_in_one_line() {
    let scratch = tree();
    let (code, text, complaint) = megadir(scratch.path(), &["list", "--estimate", "tree"]);
    assert_eq!((code, text.as_str()), (Some(3), ""), "{complaint}");
    assert!(complaint.contains("unavailable on Windows"), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "{complaint}");
}

#[test]
fn suggested_alternatives_exist_on_this_system() {
    let scratch = tree();
    for (words, expected) in [
        (&["--raw", "--backend", "by-handle"][..], "no backend of this system does"),
        (&["--threads", "4", "--backend", "by-handle"], "no backend of this system uses several"),
        (&["--buffer", "64KiB", "--backend", "std"], "by-handle"),
        (&["--owner", "0"], "unavailable on Windows"),
    ] {
        let (code, text, complaint) = megadir(scratch.path(), &[&["list", "tree"], words].concat());
        assert_eq!((code, text.as_str(), complaint.lines().count()), (Some(2), "", 1), "{complaint}");
        assert!(complaint.contains(expected) && !complaint.contains("getdents"), "{complaint}");
    }
}

#[test]
fn path_mangled_by_cmd_is_explained() {
    let scratch = tree();
    for (path, expected) in
        [(r#"tree\" --count"#, "closing quote"), (r"tree\file*", "--match"), ("NUL", "device")]
    {
        for words in [&["list"][..], &["scan", "--csv"], &["limits"], &["remove", "--yes"]] {
            let (code, text, complaint) = megadir(scratch.path(), &[words, &[path]].concat());
            assert_eq!((code, text.as_str(), complaint.lines().count()), (Some(3), "", 1), "{complaint}");
            assert!(complaint.contains(expected), "{words:?}: {complaint}");
        }
    }
    assert_eq!(std::fs::read_dir(scratch.path().join("tree")).unwrap().count(), 51);
}
