//! Output of `list` with each backend.

use megadir_testkit::require;

use crate::support::{megadir, tree};

#[test]
fn every_backend_lists_the_same_with_sizes_and_times() {
    let scratch = tree();
    let sorted = |words: &[&str]| {
        let (code, text, complaint) = megadir(scratch.path(), words);
        assert_eq!((code, complaint.as_str()), (Some(0), ""), "{words:?}");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let names = sorted(&["list", "tree"]);
    assert_eq!(names.len(), 51);
    assert!(names.contains(&"below".to_owned()) && names.contains(&"file 49".to_owned()), "{names:?}");
    let long = sorted(&["list", "--fields=type,size,mtime,name", "tree"]);
    assert_eq!(sorted(&["list", "--long", "tree"]), long, "attributes that Windows lacks have no columns");
    assert!(
        long.iter().any(|line| line.starts_with("file\t49\t20") && line.ends_with("\tfile 49")),
        "{long:?}"
    );
    for backend in megadir::BACKENDS {
        let refused = backend.probe(&megadir::Dir::open(scratch.path()).unwrap());
        if let (Err(refusal), true) = (&refused, require::is_wine()) {
            require::unavailable(&format!("list --backend {}", backend.name()), &refusal.reason());
            continue;
        }
        refused.unwrap();
        assert_eq!(sorted(&["list", "--backend", backend.name(), "tree"]), names, "{}", backend.name());
        let words = ["list", "--fields=type,size,mtime,name", "--backend", backend.name(), "tree"];
        assert_eq!(sorted(&words), long, "{}", backend.name());
    }
    let json = sorted(&["list", "--recursive", "--json", "tree"]).concat();
    assert!(json.contains(r#""dir":"tree\\below","name":"empty""#), "{json}");
    let below = sorted(&["list", "--recursive", "-0", "tree"]).concat();
    assert!(below.contains("tree\\below\\é漢😀\0"), "{below:?}");
}

#[test]
fn closed_reader_is_no_error() {
    let scratch = tree();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_megadir"));
    let output = command.args(["list", "tree"]).current_dir(scratch.path()).stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}
