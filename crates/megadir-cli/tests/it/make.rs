//! `megadir make --layout` and `--dry-run`: output, files written, refusals.

use std::path::{Path, PathBuf};

use megadir::layout::{Layout, NameBuffer, PRESETS};
use megadir_testkit::killed::{CHANGING_CALLS, before_each_call};
use megadir_testkit::require;
use megadir_testkit::require::have;

use crate::support::{megadir, output_of, run, scratch, text};

// The numbers of directories and files per digit follow from md5sum over `1:0`, `1:1` and so on.

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn run_make(directory: &Path, arguments: &[&str]) -> Ran {
    let output = output_of(directory, &[&["make"], arguments].concat());
    Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Without the free amounts of this machine, which other programs change.
fn without_free(mut ran: Ran) -> Ran {
    let line = |line: &str| -> String {
        match line.strip_prefix("all files take about ") {
            Some(amounts) => {
                let taken: Vec<&str> =
                    amounts.split(", ").map(|amount| amount.split(" of ").next().unwrap_or(amount)).collect();
                format!("all files take about {}", taken.join(", "))
            }
            None => line.to_owned(),
        }
    };
    ran.out = ran.out.lines().map(|text| format!("{}\n", line(text))).collect();
    ran
}

/// Asserts the exit code, the output and the messages.
#[track_caller]
fn gives(ran: &Ran, code: i32, out: &str, err: &str) {
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(code), out, err));
}

/// Paths of all files below a directory, relative to it.
fn files(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(top.join(&directory)).expect("readable") {
            let entry = entry.expect("readable");
            let path = directory.join(entry.file_name());
            if entry.file_type().expect("known").is_dir() {
                directories.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn files_are_placed_by_the_layout_and_counted() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    let make = ["d", "-n", "200", "--layout", "prefix:1/1"];
    gives(&run_make(at, &make), 0, "", "megadir: 'd': created 200 files and 160 directories\n");
    let layout: Layout = "prefix:1/1".parse().expect("a layout");
    let found = files(&at.join("d"));
    assert_eq!(found.len(), 200);
    for path in found {
        let path = path.to_str().expect("UTF-8");
        let mut buffer = NameBuffer::new();
        let name = layout.name_of(path.as_bytes(), &mut buffer).expect(path);
        assert_eq!((name.len(), path.len()), (32, 36));
    }
    gives(
        &run_make(at, &make),
        0,
        "",
        "megadir: 'd': created 0 files and 0 directories, 200 existed already\n",
    );
}

#[test]
fn killed_at_any_moment_it_is_completed_by_the_same_command() {
    require!(have("strace"));
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    let words = ["d", "-n", "12", "--size", "300KiB", "--layout", "prefix:1"];
    let contents = |at: &Path| {
        let mut all: Vec<_> =
            files(at).into_iter().map(|file| (std::fs::read(at.join(&file)), file)).collect();
        all.sort_by(|a, b| a.1.cmp(&b.1));
        all.into_iter().map(|(text, file)| (file, text.expect("readable"))).collect::<Vec<_>>()
    };
    assert_eq!(run_make(at, &words).code, Some(0));
    let whole = contents(&at.join("d"));
    let begin = || {
        std::fs::remove_dir_all(at.join("d")).expect("removed");
        megadir(at, &[&["make"], &words[..]].concat())
    };
    let mut fewer = 0;
    let look = |call: &str| {
        if at.join("d").is_dir() && files(&at.join("d")).len() < whole.len() {
            fewer += 1;
        }
        let again = run_make(at, &words);
        assert_eq!(again.code, Some(0), "before {call}: {}", again.err);
        assert!(contents(&at.join("d")) == whole, "before {call}: {}", again.err);
    };
    let killed = before_each_call(CHANGING_CALLS, 3, begin, look);
    assert!(fewer > 5, "of {killed} kills {fewer} left a part");
}

#[test]
fn dry_run_of_make_prints_the_plan_and_writes_nothing() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    let dry = |arguments: &[&str]| without_free(run_make(at, &[arguments, &["--dry-run"]].concat()));
    let make = ["d", "-n", "200", "--size", "4KiB", "--layout", "prefix:1/1"];
    let first = "layout prefix:1/1: the first file is 8/1/81b206a89f89d5b1123b87606075c6a8\n";
    let plan = format!(
        "would create in 'd': 200 files, 160 directories, 819200 bytes of content\nall files take about 800K on disk, 354 inodes\n{first}"
    );
    gives(&dry(&make), 0, &plan, "");
    assert!(files(at).is_empty() && !at.join("d").exists());
    gives(&run_make(at, &make), 0, "", "megadir: 'd': created 200 files and 160 directories\n");
    let more = ["d", "-n", "210", "--size", "4KiB", "--layout", "prefix:1/1"];
    let plan = "would create in 'd': 10 files, 4 directories, 40960 bytes of content\nall files take about 840K on disk, 369 inodes\n200 files present already\n";
    gives(&dry(&more), 0, &format!("{plan}{first}"), "");
    assert_eq!(files(at).len(), 200);
    gives(
        &run_make(at, &more),
        0,
        "",
        "megadir: 'd': created 10 files and 4 directories, 200 existed already\n",
    );
    gives(
        &dry(&["flat", "-n", "1M"]),
        0,
        "would create in 'flat': 1000000 files, 10000000 bytes of content\nall files take about 3.9G on disk, 1.00 M inodes\n",
        "",
    );
}

#[test]
fn obstacles_are_named_and_stay() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    let outside = at.join("outside");
    std::fs::create_dir(&outside).expect("made");
    std::fs::create_dir(at.join("d")).expect("made");
    std::os::unix::fs::symlink(&outside, at.join("d/8")).expect("made");
    let make = ["d", "-n", "100", "--layout", "prefix:1"];
    let dry = without_free(run_make(at, &[&make[..], &["--dry-run"]].concat()));
    let left = "megadir: left alone: '8' is not a file of this data set\n";
    let first = "layout prefix:1: the first file is 8/81b206a89f89d5b1123b87606075c6a8\n";
    let plan = "would create in 'd': 97 files, 15 directories, 970 bytes of content\nall files take about 400K on disk, 115 inodes\n3 files cannot be created: the name is taken\n";
    gives(&dry, 1, &format!("{plan}{first}"), left);
    let summary = "megadir: 'd': created 97 files and 15 directories, 3 left alone\n";
    gives(&run_make(at, &make), 1, "", &format!("{summary}{left}"));
    assert!(files(&outside).is_empty());
}

#[test]
fn layouts_of_numbers_get_numbers_for_names() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    for (layout, summary, first, last) in [
        ("squid", "created 300 files and 3 directories", "00/00/00000000", "00/01/0000012B"),
        ("paperclip", "created 300 files and 2 directories", "000/000/000", "000/000/299"),
    ] {
        let ran = run_make(at, &[layout, "-n", "300", "--layout", layout]);
        gives(&ran, 0, "", &format!("megadir: '{layout}': {summary}\n"));
        let mut found = files(&at.join(layout));
        found.sort();
        assert_eq!((found[0].to_str(), found[299].to_str()), (Some(first), Some(last)));
    }
}

#[test]
fn layouts_without_room_are_refused_before_writing() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    for (arguments, message) in [
        (
            &["--layout", "prefix:2/0"][..],
            "invalid value 'prefix:2/0' for '--layout <LAYOUT>': at character 10, '0': 1 to 255 characters per level",
        ),
        (
            &["--layout", "gti:2"],
            "invalid value 'gti:2' for '--layout <LAYOUT>': at character 1, 'gti': levels go with prefix, suffix, \
             next-to-last, digest, decimal, sequence",
        ),
        (
            &["--layout", "prefix:9/9", "--names", "hex"],
            "layout prefix:9/9 does not accept the name '910a2dec89025cc1': it has 16 bytes, and the layout needs at least 18",
        ),
        (
            &["--layout", "squid", "--names", "md5"],
            "layout sequence:16/256 does not accept the name '81b206a89f89d5b1123b87606075c6a8': it is not a number of 8 \
             upper-case hex digits (use --names upper-hex)",
        ),
        (
            &["--layout", "paperclip", "--names", "sequence", "--dry-run"],
            "layout decimal:3/3/3 does not accept the name 'file000000000000': it is not a decimal number of at most 9 \
             digits without leading zeros (use --names decimal)",
        ),
    ] {
        let ran = run_make(at, &[&["d", "-n", "10"], arguments].concat());
        gives(&ran, 2, "", &format!("megadir: {message}\n"));
        assert!(!at.join("d").exists());
    }
    let missing = run_make(at, &["no/such", "-n", "1", "--dry-run"]);
    let message = "No such file or directory (its parent directory, or the target of the link, must exist)";
    gives(&missing, 3, "", &format!("megadir: cannot open 'no/such': {message}\n"));
    let missing = run_make(at, &["no/such", "-n", "1"]);
    gives(&missing, 3, "", &format!("megadir: cannot create the directory 'no/such': {message}\n"));
    std::fs::write(at.join("file"), "").unwrap();
    let message = "cannot open 'file': Not a directory (expected a directory)";
    gives(&run_make(at, &["file", "-n", "1"]), 3, "", &format!("megadir: {message}\n"));
}

#[test]
fn help_lists_every_preset() {
    let help = run_make(Path::new("/"), &["--help"]).out;
    for preset in PRESETS {
        let line = format!("{:<15} {}: ", preset.name, preset.layout);
        assert!(help.contains(&line), "nothing about {line}");
    }
}

#[test]
fn a_file_that_cannot_be_created_is_named_with_its_directory() {
    let scratch = tempfile::tempdir().expect("a directory");
    let copy = require!(crate::support::unprivileged(&scratch));
    std::fs::create_dir(scratch.path().join("closed")).expect("made");
    let ran = crate::support::run_as_nobody(&copy, scratch.path(), &["make", "closed", "-n", "3"]);
    ran.complains(3, &["cannot create 'closed/", "(after 0 of 3): Permission denied"]);
}

#[test]
fn files_that_cannot_fit_are_refused_also_with_yes() {
    let scratch = scratch();
    let ran = run(scratch.path(), &["make", "new", "--entries", "10G", "--size", "1MB", "--yes"]);
    ran.complains(3, &["10 000 000 000 files in 'new'", "do not fit", "--entries", "--size"]);
    assert!(!scratch.path().join("new").exists());
}
