//! End-to-end tests of the studies `attributes` and `stat-or-list`, on generated files and on an existing
//! directory.

use std::path::Path;

use megadir_testkit::tree::names;

use crate::support::{output_of, scratch_in_memory};

#[track_caller]
fn printed(directory: &Path, arguments: &[&str]) -> String {
    let output = output_of(directory, arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = text(&output.stdout) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{all}");
    all
}

/// Contents of the only record in a directory, which otherwise holds only its page.
fn record(directory: &Path) -> String {
    let names = names(directory);
    assert!(names.len() == 2 && names[1].ends_with(".jsonl"), "{names:?}");
    assert_eq!(names[0], names[1].replace(".jsonl", ".html"));
    std::fs::read_to_string(directory.join(&names[1])).expect("readable")
}

#[test]
fn methods_are_compared_on_files_of_their_own() {
    let here = tempfile::tempdir().expect("a directory");
    let all = printed(
        here.path(),
        &["bench", "run", "attributes", "-v", "--quick", "--entries=300,1200", "--rounds=6", "--warm-up=1"],
    );
    for phrase in
        ["of all 1 200 files read?", "of all 300 files read?", "speed-up", "getdents-statx-inode    1 200"]
    {
        assert!(all.contains(phrase), "nothing about '{phrase}' in:\n{all}");
    }
    let judged = all.contains("The claim of the article (wholetomato.com) that std::filesystem");
    // No claim is judged while other work runs.
    assert!(
        judged || all.contains("The claims of the article (wholetomato.com) are not judged here"),
        "{all}"
    );
    let record = record(here.path());
    assert!(record.contains("\"expected\":{\"files\":1200,"), "what must be found stands in the record");
    assert!(!record.contains("unequal-work"));
}

#[test]
fn first_runs_use_files_never_read_before() {
    // In memory, no block has to wait for writeback.
    let here = scratch_in_memory();
    let all = printed(
        here.path(),
        &["bench", "run", "attributes", "-v", "--quick", "--entries", "20", "--cache", "warm,unseen"],
    );
    for phrase in
        ["The source's table, measured here", " first, unseen ", " second ", "of all 20 files read? (unseen)"]
    {
        assert!(all.contains(phrase), "nothing about '{phrase}' in:\n{all}");
    }
    let record = record(here.path());
    assert!(record.contains("\"cache\":\"unseen\"") && !record.contains("unequal-work"));
}

#[test]
fn a_directory_that_is_named_is_only_read_and_its_directories_are_passed_over() {
    let here = tempfile::tempdir().expect("a directory");
    let there = tempfile::tempdir().expect("a directory");
    for index in 0..1100 {
        std::fs::write(there.path().join(format!("file {index}")), vec![b'x'; index % 50]).expect("writable");
    }
    for index in 0..20 {
        std::fs::create_dir(there.path().join(format!("directory {index}"))).expect("writable");
    }
    std::os::unix::fs::symlink("file 1", there.path().join("link")).expect("writable");
    let before = names(there.path());
    let directory = there.path().to_str().expect("UTF-8");
    for study in ["attributes", "stat-or-list"] {
        let own = here.path().join(study);
        std::fs::create_dir(&own).expect("writable");
        let brief = ["--quick", "--rounds=6", "--warm-up=1"];
        let all = printed(&own, &[&["bench", "run", study, "--dir", directory][..], &brief].concat());
        assert!(all.contains("read-only"), "{all}");
        let record = record(&own);
        assert!(record.contains("\"expected\":{\"files\":1100,"), "directories and links are passed over");
        assert!(!record.contains("unequal-work"));
        if study == "stat-or-list" {
            assert!(record.contains("\"files\":1121}") && all.contains("listing 1 121 files"), "{all}");
        }
    }
    assert_eq!(names(there.path()), before);
}

#[test]
fn list_of_studies_names_methods_and_requirements() {
    let here = tempfile::tempdir().expect("a directory");
    let all = printed(here.path(), &["bench", "list", "--verbose"]);
    assert!(all.contains("method readdir-lstat: readdir, then lstat of each entry by path\n"), "{all}");
    assert!(all.contains("hundreds per call (needs root, and XFS)\n"), "{all}");
}
