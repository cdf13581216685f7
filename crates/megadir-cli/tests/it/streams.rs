//! Closed or full standard output and closed standard input: an error before anything is changed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{BRIEF_RUN, output_of, program};

/// Every way in which a subcommand prints to standard output, on the paths created by [`prepare`].
const PRINTS: &[&[&str]] = &[
    &["list", "tree"],
    &["list", "tree", "--long", "--sort", "size"],
    &["list", "tree", "--sort", "name"],
    &["list", "tree", "--recursive", "--summary"],
    &["list", "tree", "--count"],
    &["make", "new", "-n", "5", "--dry-run"],
    &["remove", "tree/b", "--yes", "--json"],
    &["remove", "tree", "--dry-run"],
    &["remove", "--packed", "packed", "--dry-run"],
    &["layout", "tree"],
    &["layout", "tree", "--verify", "--layout", "flat", "--json"],
    &["reshard", "tree", "--dry-run", "--from", "flat", "--to", "digest:1"],
    &["reshard", "tree", "--yes", "--json", "--from", "flat", "--to", "digest:1"],
    &["scan", "tree", "--jsonl"],
    &["scan", "tree", "--csv"],
    &["changes", "inventory"],
    &["changes", "inventory", "--json"],
    &["changes", "inventory", "--update"],
    &["compare", "inventory", "tree"],
    &["compare", "inventory", "tree", "--json"],
    &["limits", "tree"],
    &["limits", "tree", "--json"],
    &["limits", "tree", "--watch=1s", "--warn-at=100%"],
    &["advise", "tree", "--files", "1000", "--time", "0s"],
    &["advise", "--layout", "digest:2", "--code", "python"],
    &["bench", "list"],
    &["bench", "run", "listing", "--quick", "--entries=50", "--rounds=7", "--warm-up=1", "--dry-run"],
    &BRIEF_RUN,
    &["bench", "commands", "ls -U {dir}", "--entries=50", "--rounds=7", "--warm-up=1"],
    &["bench", "report", "record.jsonl"],
    &["bench", "report", "record.jsonl", "--format", "html"],
    &["bench", "compare", "record.jsonl", "record.jsonl"],
    &["bench", "filesystems", "tmpfs"],
    &["backends"],
    &["pack", "cat", "packed", "a"],
    &["usage", "tree"],
    &["usage", "tree", "--json"],
    &["generate", "bash"],
    &["generate", "man"],
    &["doctor"],
    &["version"],
    &["--help"],
    &["--version"],
];

/// Runs a shell command in which `"$0" "$@"` is the program with its arguments.
fn shell(directory: &Path, line: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).arg(program()).args(arguments).current_dir(directory);
    command.output().expect("a shell")
}

/// Creates a record, and a tree that has changed since its inventory.
fn prepare(directory: &Path) {
    let run = |arguments: &[&str]| {
        let output = shell(directory, r#""$0" "$@""#, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    std::fs::create_dir(directory.join("tree")).expect("makeable");
    std::fs::write(directory.join("tree/a"), "a").expect("writable");
    run(&["scan", "tree", "-o", "inventory"]);
    run(&["pack", "create", "--quiet", "tree", "packed"]);
    std::fs::write(directory.join("tree/b"), "b").expect("writable");
    run(&[&BRIEF_RUN[..], &["-o", "record.jsonl"]].concat());
}

/// Names and contents of the files in a directory.
fn state(directory: &Path) -> BTreeSet<(String, Vec<u8>)> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(directory).expect("readable") {
        let path = entry.expect("readable").path();
        let name = path.to_string_lossy().into_owned();
        match path.is_dir() {
            true => found.extend(state(&path)),
            false => drop(found.insert((name, std::fs::read(&path).expect("readable")))),
        }
    }
    found
}

/// Error lines on standard error, without a run's progress messages.
fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn a_closed_standard_output_is_an_error_before_anything_is_changed() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    prepare(at);
    let before = state(at);
    for arguments in PRINTS {
        let output = shell(at, r#"exec "$0" "$@" >&-"#, arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {output:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            text.starts_with("megadir: standard output is closed") && text.lines().count() == 1,
            "{arguments:?}: {text}"
        );
        assert!(state(at) == before, "{arguments:?} changed something");
    }
}

#[test]
fn a_full_standard_output_is_an_error_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    prepare(at);
    let inventory = std::fs::read(at.join("inventory")).expect("readable");
    for arguments in PRINTS {
        let output = shell(at, r#"exec "$0" "$@" >/dev/full"#, arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        let errors = text.lines().filter(|line| line.contains("No space left on device")).count();
        assert!(errors == 1 && last_line(&output).contains("standard output"), "{arguments:?}: {text}");
        // Removed by the command of the list that removes.
        std::fs::write(at.join("tree/b"), "b").expect("writable");
    }
    assert!(std::fs::read(at.join("inventory")).expect("readable") == inventory, "the changes are lost");
}

#[test]
fn closed_reader_is_no_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    prepare(at);
    let inventory = std::fs::read(at.join("inventory")).expect("readable");
    for arguments in PRINTS.iter().filter(|arguments| !arguments.contains(&"--watch=1s")) {
        // The reader ends before the program starts.
        let line = r#"{ sleep 0.1; "$0" "$@"; echo "$?" >code; } | true"#;
        let output = shell(at, line, arguments);
        let code = std::fs::read_to_string(at.join("code")).expect("written");
        assert_eq!(code.trim(), "0", "{arguments:?}: {output:?}");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("standard output"), "{arguments:?}: {text}");
        std::fs::write(at.join("tree/b"), "b").expect("writable");
    }
    assert!(std::fs::read(at.join("inventory")).expect("readable") == inventory, "the changes are lost");
}

#[test]
fn every_subcommand_that_prints_is_in_the_list() {
    let help = |arguments: &[&str]| {
        let output = output_of(".", &[arguments, &["--help"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (_, commands) = text.split_once("Commands:\n").expect("subcommands");
        let names = commands.lines().take_while(|line| !line.is_empty());
        let names = names.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
        let names = names.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
        names.filter(|name| name != "help").collect::<Vec<_>>()
    };
    let top = help(&[]);
    assert!(top.len() >= 9, "{top:?}");
    for name in &top {
        assert!(PRINTS.iter().any(|arguments| arguments[0] == name), "{name}");
    }
    for name in help(&["bench"]) {
        // `bench clean` prints only the leftovers of a killed run.
        let is_there = PRINTS.iter().any(|arguments| arguments[0] == "bench" && arguments[1] == name);
        assert!(is_there || name == "clean", "bench {name}");
    }
}

#[test]
fn commands_without_output_run_without_standard_output() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    prepare(at);
    for (arguments, code) in [
        (&["make", "new", "-n", "5"][..], 0),
        (&["scan", "tree", "-o", "again"], 0),
        (&["changes", "inventory", "--quiet"], 10),
        (&["remove", "tree/b", "--yes"], 0),
    ] {
        let output = shell(at, r#"exec "$0" "$@" >&-"#, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    }
}

#[test]
fn a_closed_standard_input_is_no_empty_list() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    prepare(at);
    for arguments in
        [&["remove", "--yes", "--files0-from", "-"][..], &["changes", "inventory", "--files0-from", "-"]]
    {
        let output = shell(at, r#"exec "$0" "$@" <&-"#, arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {output:?}");
        assert!(last_line(&output).starts_with("megadir: standard input is closed"), "{output:?}");
    }
}

/// For cron: prints nothing on success, so that no mail is sent.
#[test]
fn quiet_commands_print_nothing_when_all_is_well() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    prepare(at);
    for arguments in [
        &["make", "new", "-n", "5", "--quiet"][..],
        &["scan", "tree", "-o", "again", "--quiet"],
        &["scan", "tree", "-o", "again", "-q", "--hash-suspects"],
        &["bench", "clean", "--quiet"],
        &["limits", "tree", "--quiet", "--warn-at", "100%"],
        &["remove", "tree", "--quiet"],
    ] {
        let output = shell(at, r#"exec "$0" "$@" </dev/null"#, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
    let output = shell(at, r#"exec "$0" "$@""#, &["scan", "none", "-o", "again", "-q"]);
    assert!(output.status.code() == Some(3) && !output.stderr.is_empty(), "{output:?}");
}
