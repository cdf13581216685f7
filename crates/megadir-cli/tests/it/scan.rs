//! `megadir scan`: files written, state after an early end, and refusals.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use megadir_inventory::{Inventory, OwnedRow, Rows};
use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::network::NetworkMount;
use megadir_testkit::require;
use megadir_testkit::require::{full, have};
use megadir_testkit::tree::names;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{megadir, output_of, program};

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Creates a directory that all users may enter, with a tree in it.
fn scratch(directories: usize, files: usize) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for directory in 0..directories {
        let directory = scratch.path().join(format!("tree/{directory}"));
        fs::create_dir_all(&directory).unwrap();
        (0..files).for_each(|file| fs::write(directory.join(file.to_string()), "text").unwrap());
    }
    scratch
}

/// Reads a whole inventory.
fn rows(path: &Path) -> Vec<OwnedRow> {
    let mut inventory = Inventory::open(path).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = inventory.next_row().unwrap() {
        rows.push(OwnedRow::from(row));
    }
    rows
}

/// The names in a directory, sorted.
#[test]
fn every_form_has_the_same_rows() {
    let scratch = scratch(3, 5);
    let tree = scratch.path().join("tree");
    fs::write(tree.join("q\"u,o\nte"), "").unwrap();
    let output = output_of(scratch.path(), &["scan", "tree", "-o", "inventory"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(
        err(&output).starts_with("megadir: 20 entries in ") && output.stdout.is_empty(),
        "{}",
        err(&output)
    );
    let rows = rows(&scratch.path().join("inventory"));
    assert_eq!(rows.len(), 1 + 3 + 15 + 1);
    let json = output_of(scratch.path(), &["scan", "tree", "--jsonl"]).stdout;
    let json: Vec<serde_json::Value> =
        json.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(json.len(), rows.len());
    for (json, row) in json.iter().zip(&rows) {
        assert_eq!(json["v"], 1);
        assert_eq!(json["parent"].as_str().unwrap().as_bytes(), row.parent);
        assert_eq!(json["name"].as_str().unwrap().as_bytes(), row.name);
        assert_eq!(json["inode"].as_u64(), row.facts.inode);
        assert_eq!(json["mtime_ns"].as_i64(), row.facts.modified_ns);
        assert_eq!(json["type"].as_str().unwrap(), row.facts.kind.name());
        assert!(Path::new(json["path"].as_str().unwrap()).starts_with(&tree));
        assert!(json["error"].is_null());
    }
    let output = output_of(scratch.path(), &["scan", "tree", "--csv", "--output", "inventory.csv", "-j1"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let csv = fs::read_to_string(scratch.path().join("inventory.csv")).unwrap();
    assert_eq!(csv.matches("\r\n").count(), rows.len() + 1);
    let columns = csv.lines().next().unwrap().split(',').count();
    assert_eq!(columns, json[0].as_object().unwrap().len() - 1, "all but the version");
    assert!(csv.contains("\"q\"\"u,o\nte\""), "{csv}");
    let whole = |line: &str| line.split(',').count() == columns;
    assert!(csv.split("\r\n").filter(|line| !line.is_empty() && !line.contains('"')).all(whole));
}

#[test]
fn inventory_omits_its_own_file_and_keeps_links_to_it() {
    let scratch = scratch(1, 1);
    let tree = scratch.path().join("tree");
    symlink("tree/inventory", scratch.path().join("link")).unwrap();
    fs::write(tree.join("inventory"), megadir_inventory::CSV_HEADER).unwrap();
    fs::set_permissions(tree.join("inventory"), fs::Permissions::from_mode(0o600)).unwrap();
    for _ in 0..2 {
        let output = output_of(scratch.path(), &["scan", "tree", "-o", "link"]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert_eq!(rows(&tree.join("inventory")).len(), 3, "the root, a directory, a file");
        assert!(scratch.path().join("link").is_symlink());
        assert_eq!(names(&tree), ["0", "inventory"]);
        let mode = fs::metadata(tree.join("inventory")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "who could not read the old one cannot read the new one");
    }
}

#[test]
fn killed_at_any_moment_the_old_inventory_is_whole() {
    require!(have("strace"));
    let scratch = scratch(3, 5);
    let inventory = scratch.path().join("inventory");
    let arguments = ["scan", "tree", "-o", "inventory"];
    assert!(output_of(scratch.path(), &arguments).status.success());
    let count = rows(&inventory).len();
    assert_eq!(count, 1 + 3 * 6);
    fs::write(scratch.path().join("tree/0/new"), "").unwrap();
    let before = fs::read(&inventory).unwrap();
    let command = || {
        fs::write(&inventory, &before).unwrap();
        megadir(scratch.path(), &arguments)
    };
    let (mut old, mut new) = (0, 0);
    let look = |call: &str| {
        let now = rows(&inventory).len();
        assert!(now == count || now == count + 1, "before {call}: {now} of {count} rows");
        if now == count {
            old += 1;
        } else {
            new += 1;
        }
        for name in names(scratch.path()) {
            assert!(["inventory", ".inventory.megadir-partial", "tree"].contains(&name.as_str()), "{name}");
        }
    };
    before_each_call(CHANGING_CALLS, 1, command, look);
    assert!(old >= 4 && new >= 1, "{old} times the old one was left, {new} times the new one");
    assert!(output_of(scratch.path(), &arguments).status.success());
    assert_eq!(names(scratch.path()), ["inventory", "tree"], "the killed scan left no file");
}

#[test]
fn an_interrupted_scan_leaves_the_old_inventory_and_nothing_else() {
    let scratch = scratch(1, 3);
    // Named as one of the trees below, whose inventory it could be.
    fs::create_dir(scratch.path().join("tree/proc")).unwrap();
    assert!(output_of(scratch.path(), &["scan", "tree/proc", "-o", "inventory"]).status.success());
    let before = fs::read(scratch.path().join("inventory")).unwrap();
    // Large enough to interrupt: all processes and devices of this machine.
    let mut interrupted = 0;
    for round in 1..=200u32 {
        let arguments = ["scan", "/proc", "/sys", "-o", "inventory", "-j2"];
        let mut child = megadir(scratch.path(), &arguments).stderr(Stdio::piped()).spawn().unwrap();
        // The program handles interrupts by the time it writes.
        let partial = scratch.path().join(".inventory.megadir-partial");
        while !partial.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(15) * (round % 8));
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        let output = child.wait_with_output().unwrap();
        if output.status.code() != Some(130) {
            // It had finished before the interrupt.
            assert!(matches!(output.status.code(), Some(0 | 1)), "{}", err(&output));
            fs::write(scratch.path().join("inventory"), &before).unwrap();
            continue;
        }
        if err(&output).contains("gave up waiting") {
            // On a busy machine nothing happened for a second; the next scan removes the partial file.
            assert!(fs::read(scratch.path().join("inventory")).unwrap() == before);
            continue;
        }
        interrupted += 1;
        if interrupted > 5 {
            break;
        }
        assert!(err(&output).ends_with("interrupted; 'inventory' is unchanged\n"), "{}", err(&output));
        assert!(fs::read(scratch.path().join("inventory")).unwrap() == before);
        assert_eq!(names(scratch.path()), ["inventory", "tree"]);
    }
    assert!(interrupted > 0, "none of two hundred was interrupted in time");
}

#[test]
fn unreadable_directories_are_reported_and_the_inventory_is_marked_incomplete() {
    require!(match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err("only root can make files of others".to_owned()),
    });
    let scratch = scratch(3, 2);
    fs::set_permissions(scratch.path().join("tree/1"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(scratch.path().join("tree/2"), fs::Permissions::from_mode(0o744)).unwrap();
    fs::create_dir(scratch.path().join("out")).unwrap();
    fs::set_permissions(scratch.path().join("out"), fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = megadir(scratch.path(), &["scan", "tree", "-o", "out/inventory"]);
    let output = command.uid(65534).gid(65534).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let stderr = err(&output);
    let mut lines: Vec<&str> = stderr.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 4, "{stderr}");
    assert!(lines[0].starts_with("megadir: 8 entries in "), "{stderr}");
    assert!(lines[1].starts_with("megadir: examine 'tree/2/"), "{stderr}");
    assert!(lines[1].ends_with("and 1 more there: Permission denied"), "{stderr}");
    let incomplete = "megadir: incomplete: 1 directory could not be read, 2 entries could not be examined";
    assert_eq!(lines[2], incomplete);
    assert_eq!(lines[3], "megadir: open 'tree/1': Permission denied");
    let path = scratch.path().join("out/inventory");
    let metadata = Inventory::open(&path).unwrap().metadata().clone();
    assert!(!metadata.is_complete());
    assert_eq!((metadata.unread_directories, metadata.failed), (1, 3));
    let errors: Vec<_> = rows(&path).into_iter().filter_map(|row| row.error).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn of_many_similar_errors_ten_are_printed_and_the_rest_counted() {
    require!(match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err("only root can make files of others".to_owned()),
    });
    let scratch = scratch(25, 0);
    for directory in 0..25 {
        let directory = scratch.path().join(format!("tree/{directory}"));
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let complaints = |arguments: &[&str]| {
        let output = megadir(scratch.path(), arguments).uid(65534).gid(65534).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?} {}", err(&output));
        let errors = err(&output);
        let denied = errors.lines().filter(|line| line.starts_with("megadir: open 'tree/")).count();
        (denied, errors.matches("and 15 more: open: Permission denied (--all-errors prints each)\n").count())
    };
    let inventory = scratch.path().join("inventory");
    let made = output_of(scratch.path(), &["scan", "tree", "-o", "inventory"]);
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    fs::set_permissions(&inventory, fs::Permissions::from_mode(0o644)).unwrap();
    for command in [
        &["list", "-r", "tree"][..],
        &["scan", "--dry-run", "tree"],
        &["changes", "--list-all", "inventory", "tree"],
    ] {
        assert_eq!(complaints(command), (10, 1), "{command:?}");
        assert_eq!(complaints(&[command, &["--all-errors"]].concat()), (25, 0), "{command:?}");
    }
}

#[test]
fn a_path_that_is_not_there_leaves_the_old_inventory() {
    let scratch = scratch(1, 2);
    assert_eq!(output_of(scratch.path(), &["scan", "tree", "-o", "inventory"]).status.code(), Some(0));
    let old = fs::read(scratch.path().join("inventory")).unwrap();
    for paths in [["tree", "gone"], ["gone", "tree"]] {
        let output = output_of(scratch.path(), &["scan", paths[0], paths[1], "-o", "inventory"]);
        assert_eq!(output.status.code(), Some(3), "{}", err(&output));
        assert_eq!(err(&output), "megadir: open 'gone': No such file or directory\n");
        assert_eq!(fs::read(scratch.path().join("inventory")).unwrap(), old);
        assert_eq!(names(scratch.path()), ["inventory", "tree"]);
    }
}

#[test]
fn trees_that_contain_each_other_are_refused() {
    let scratch = scratch(1, 2);
    for paths in [["tree", "tree"], ["tree", "tree/0"], ["./tree", "tree"]] {
        fs::create_dir_all(scratch.path().join("tree/0")).unwrap();
        let output = output_of(scratch.path(), &["scan", paths[0], paths[1], "-o", "inventory"]);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains("name each tree once"), "{}", err(&output));
    }
    assert_eq!(names(scratch.path()), ["tree"]);
}

#[test]
fn a_file_that_is_no_inventory_is_not_replaced() {
    let scratch = scratch(1, 1);
    let letter = scratch.path().join("letter");
    fs::write(&letter, "Dear reader").unwrap();
    for form in [&[][..], &["--jsonl"], &["--csv"]] {
        let output = output_of(scratch.path(), &[&["scan", "tree", "-o", "letter"], form].concat());
        let message =
            "megadir: write 'letter': this file is not an inventory and would be lost: name another file\n";
        assert_eq!((output.status.code(), err(&output).as_str()), (Some(2), message));
        assert_eq!(fs::read(&letter).unwrap(), b"Dear reader");
        // A file written by megadir may be replaced in any other format.
        for replaced in [&[][..], &["--jsonl"], &["--csv"]] {
            let output =
                output_of(scratch.path(), &[&["scan", "tree", "-o", "inventory"], replaced].concat());
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        }
    }
    assert_eq!(names(scratch.path()), ["inventory", "letter", "tree"]);
}

#[test]
fn names_of_other_formats_are_refused_and_unknown_endings_are_free() {
    let scratch = scratch(1, 1);
    for (name, form, hint) in [
        ("x.txt", None, "add --csv or --jsonl"),
        ("x.TSV", None, "does not write this format"),
        ("x.tsv", Some("--csv"), "does not write this format"),
        ("x.csv.gz", None, "compresses Parquet only"),
        ("x.csv.gz", Some("--csv"), "compresses Parquet only"),
        ("x.json", None, "name it .jsonl"),
        ("x.xlsx", None, "name it .parquet, .csv or .jsonl"),
    ] {
        let output = output_of(scratch.path(), &[&["scan", "tree", "-o", name], form.as_slice()].concat());
        assert_eq!(output.status.code(), Some(2), "{name}: {}", err(&output));
        assert_eq!(err(&output).lines().count(), 1, "{name}: {}", err(&output));
        assert!(err(&output).contains(hint), "{name}: {}", err(&output));
        assert_eq!(names(scratch.path()), ["tree"], "{name}");
    }
    let parquet = |name: &str| fs::read(scratch.path().join(name)).unwrap().starts_with(b"PAR1");
    for (name, form, is_parquet) in [
        ("x", None, true),
        ("x.inventory", None, true),
        ("x.2026-01-01", None, true),
        ("x.txt", Some("--csv"), false),
        ("x.log", Some("--jsonl"), false),
    ] {
        let output = output_of(scratch.path(), &[&["scan", "tree", "-o", name], form.as_slice()].concat());
        assert_eq!(output.status.code(), Some(0), "{name}: {}", err(&output));
        assert_eq!(parquet(name), is_parquet, "{name}");
    }
}

#[test]
fn impossible_scans_are_refused_in_one_line() {
    let scratch = scratch(1, 1);
    fs::write(scratch.path().join(".taken.megadir-partial"), "my notes").unwrap();
    fs::write(scratch.path().join("file"), "").unwrap();
    for (arguments, code, words) in [
        (&["scan"][..], 2, "megadir scan DIR --output"),
        (&["scan", "tree"], 2, "megadir scan tree --output"),
        (&["scan", "tree", "--csv", "--jsonl"], 2, "cannot be used with"),
        (&["scan", "", "-o", "x"], 2, "the path is empty"),
        (&["scan", "tree", "-o", "x", "-j0"], 2, "from 1 to 256"),
        (&["scan", "tree", "-o", "x", "--memory", "1k"], 2, "too small"),
        (&["scan", "tree", "-o", "x", "--stat-backend", "statix"], 2, "statx"),
        (&["scan", "gone", "-o", "x"], 3, "open 'gone': No such file or directory"),
        (&["scan", "file", "-o", "x"], 3, "expected a directory"),
        (&["scan", "tree", "-o", "tree"], 2, "this is a directory"),
        (&["scan", "tree", "-o", "gone/x"], 3, "write 'gone/x': No such file or directory"),
        (&["scan", "tree", "-o", "taken"], 3, "the name of its temporary file is taken"),
        (&["scan", "tree", "-o", "/dev/full"], 3, "write '/dev/full': No space left on device"),
        (&["scan", "tree", "--jsonl", "-o", "/dev/full"], 3, "write '/dev/full': No space left on device"),
    ] {
        let output = output_of(scratch.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", err(&output));
        assert_eq!(err(&output).lines().count(), 1, "{arguments:?}: {}", err(&output));
        assert!(err(&output).contains(words), "{arguments:?}: {}", err(&output));
        assert_eq!(names(scratch.path()), [".taken.megadir-partial", "file", "tree"], "{arguments:?}");
    }
}

#[test]
fn a_closed_pipe_is_quiet_and_a_rehearsal_writes_nothing() {
    let scratch = scratch(50, 100);
    let line = r#""$M" scan tree --jsonl | head -n1 >/dev/null; echo ${PIPESTATUS[0]}"#;
    let mut bash = Command::new("bash");
    bash.args(["-c", line]).env("M", program()).current_dir(scratch.path());
    let output = bash.output().unwrap();
    assert_eq!((String::from_utf8_lossy(&output.stdout).trim(), err(&output).as_str()), ("0", ""));
    let output = output_of(scratch.path(), &["scan", "tree", "--dry-run"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(err(&output).starts_with("megadir: 5051 entries in "), "{}", err(&output));
    assert_eq!(names(scratch.path()), ["tree"]);
}

/// In the long tier only (`MEGADIR_FULL=1`).
#[test]
fn more_threads_than_processors_wait_for_a_server() {
    if !full() {
        return;
    }
    let mount = require!(NetworkMount::moosefs());
    let tree = mount.path().join("tree");
    for directory in 0..40 {
        let directory = tree.join(format!("{directory}"));
        fs::create_dir_all(&directory).unwrap();
        (0..20).for_each(|file| fs::write(directory.join(format!("{file}")), "").unwrap());
    }
    let here = scratch(3, 5);
    let path = here.path().join("i.parquet");
    let scan = |options: &[&str]| {
        let arguments = ["scan", "--quiet", "tree", tree.to_str().unwrap(), "-o", "i.parquet"];
        let output = output_of(here.path(), &[&arguments[..], options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        let metadata = Inventory::open(&path).unwrap().metadata().clone();
        (metadata.scanned.threads, metadata.rows)
    };
    let rows = 1 + 3 + 3 * 5 + 1 + 40 + 40 * 20;
    assert_eq!(scan(&[]), (32, rows));
    assert_eq!(scan(&["-j", "3"]), (3, rows));
}
