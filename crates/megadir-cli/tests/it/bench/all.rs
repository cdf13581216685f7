//! `megadir bench run all`: a folder of all studies that continues after an interruption, and is compared with others.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;
use megadir_testkit::output::assert_output;
use megadir_testkit::tree::names;

use crate::support::{megadir, output_of, scratch_in_memory, text};

const ALL: [&str; 9] =
    ["bench", "run", "all", "--quick", "--rounds=1", "--seed=7", "--share", "--output", "mine"];

fn wait_for(path: &Path) {
    let deadline = Instant::now() + 10 * PATIENCE;
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn all_studies_run_one_after_the_other_and_continue_after_an_interruption() {
    let directory = scratch_in_memory();
    let at = directory.path();
    let plan = output_of(at, &[&ALL[..], &["--dry-run"]].concat());
    assert_output(&plan, 0, "of space at a time");
    assert_eq!(names(at), Vec::<String>::new());

    let child = megadir(at, &ALL).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_for(&at.join("mine/lookup.jsonl"));
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs").success()
    );
    let ended = child.wait_with_output().expect("waitable");
    assert_eq!(ended.status.code(), Some(130));
    let message = text(&ended.stderr);
    assert!(message.contains("the same command with --output mine continues"), "{message}");
    let first = std::fs::read(at.join("mine/listing.jsonl")).expect("complete");

    let done = output_of(at, &ALL);
    assert_output(&done, 0, "records, pages and a README are in 'mine'");
    assert!(text(&done.stdout).contains("listing       complete"), "{}", text(&done.stdout));
    assert_eq!(std::fs::read(at.join("mine/listing.jsonl")).expect("still there"), first);
    let readme = std::fs::read_to_string(at.join("mine/README.md")).expect("written");
    let listed = ["listing", "lookup", "attributes", "stat-or-list", "fill", "layout", "smallfile", "remove"];
    for study in listed.into_iter().chain(["mdtest-easy", "mdtest-hard"]) {
        assert!(readme.contains(&format!("\n## {study}\n")), "{study}: {readme}");
        assert!(at.join(format!("mine/{study}.html")).exists(), "{study}");
    }
    assert!(!readme.contains("peers"), "{readme}");
    // The record has the command of its own study.
    let header = String::from_utf8_lossy(&first).lines().next().expect("a header").to_owned();
    assert!(
        header.contains(r#"["megadir","bench","run","listing","--quick","--rounds=1","--seed=7","--share"]"#)
    );

    refuses_unsuitable_options(at);
}

fn refuses_unsuitable_options(at: &Path) {
    let other_size = output_of(at, &["bench", "run", "all", "--output", "mine"]);
    assert_output(&other_size, 3, "the record is of a run with other options");
    assert_output(
        &output_of(at, &["bench", "run", "all", "--buffer", "4KiB"]),
        2,
        "--buffer suits not every study",
    );
    assert_output(&output_of(at, &["bench", "compare", "mine", "mine"]), 3, "are the same run");
    assert_output(
        &output_of(at, &["bench", "compare", "mine", "mine", "--fail-if", "slower"]),
        2,
        "--fail-if compares runs of one study",
    );
    std::fs::create_dir(at.join("theirs")).expect("makeable");
    std::fs::write(at.join("theirs/README.md"), "mine").expect("writable");
    assert_output(
        &output_of(at, &["bench", "run", "all", "--quick", "--output", "theirs"]),
        3,
        "the file is not from an earlier run",
    );
    assert_eq!(std::fs::read_to_string(at.join("theirs/README.md")).expect("kept"), "mine");
}
