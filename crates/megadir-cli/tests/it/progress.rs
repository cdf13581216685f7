//! Commands that take long show their progress on a terminal, on standard error, and leave nothing of it.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::path::Path;
use std::process::{Command, Stdio};

use megadir_testkit::require;

use crate::support::{have, program, scratch, shell};

/// Directories `d`, `e` and `f` of 300 files, an inventory of `d`, and a tree `t` of a few directories.
fn tree(directory: &Path) {
    let made = shell(
        directory,
        "$M make d --entries 300 --quiet && cp -r d e && cp -r d f && $M scan d --quiet -o d.parquet && mkdir -p t/1 t/2 t/3 t/4 t/5",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
}

/// A command, the system call that is slow, its delay in milliseconds, and what the line of progress says.
type Case = (&'static str, Option<(&'static str, u32)>, &'static [&'static str]);

const COMMANDS: &[Case] = &[
    ("list --count d", Some(("getdents64", 1500)), &["of about 300 entries read, ", "/s, ", " left"]),
    ("list --summary d", Some(("statx", 15)), &["of about 300 entries read, ", " left"]),
    ("list --sort size -l d", Some(("statx", 15)), &["of about 300 entries read, "]),
    ("list --sort name d", Some(("getdents64", 1500)), &["of about 300 entries read, "]),
    ("list --summary -r t", Some(("getdents64", 300)), &[" entries read, ", "/s, "]),
    ("usage t", Some(("getdents64", 300)), &[" entries read, ", "/s, "]),
    ("scan t --dry-run", Some(("getdents64", 300)), &[" entries read, ", "/s, "]),
    (
        "changes d.parquet --list-all",
        Some(("getdents64", 1500)),
        &["of about 301 entries compared, ", " left"],
    ),
    ("make new --entries 300", Some(("openat", 15)), &[" of 300 files, ", "/s, ", " left"]),
    ("remove e --yes --rate 150", None, &["of about 300 entries removed, ", "/s, ", " left"]),
    ("reshard f --yes --rate 150 --to digest:1", None, &["of about 300 files moved, ", "/s, ", " left"]),
    ("advise t --files 20k --pattern write --time 3s", None, &["trial: "]),
    ("bench run listing --quick --entries 50 --rounds 7 -o r.jsonl", None, &[" s left, round 7 of 7: "]),
];

/// On any machine the command takes longer than a second.
fn slowed((command, slow, _): &Case) -> String {
    match slow {
        None => format!("$M {command}"),
        Some((call, delay_ms)) => delayed(command, call, &format!("delay_enter={}", delay_ms * 1000)),
    }
}

fn delayed(command: &str, call: &str, delay: &str) -> String {
    format!("strace -f -qq -o /dev/null -e trace={call} -e inject={call}:{delay} -- $M {command}")
}

/// Everything that was written to the terminal.
fn on_terminal(directory: &Path, line: &str) -> String {
    let ran = shell(directory, &format!("script -qec \"stty cols 100; {line}\" /dev/null < /dev/null"));
    assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
    String::from_utf8(ran.out).unwrap()
}

/// Runs the commands on a terminal, each as the line that `line` makes of it, and hands what was shown to `check`.
fn each(line: impl Fn(&Case) -> String + Sync, check: impl Fn(&Case, &str) + Sync) {
    require!(have("script"));
    require!(have("strace"));
    let scratch = scratch();
    tree(scratch.path());
    std::thread::scope(|scope| {
        for case in COMMANDS {
            scope.spawn(|| check(case, &on_terminal(scratch.path(), &line(case))));
        }
    });
}

#[test]
fn a_command_that_takes_long_shows_its_progress_and_clears_it() {
    each(slowed, |(command, _, words), shown| {
        for words in *words {
            assert!(shown.contains(words), "{command}: nothing about '{words}': {shown:?}");
        }
        let left = shown.rsplit("\x1b[2K").next().unwrap();
        assert!(!left.contains(words[0]), "{command}: {shown:?}");
    });
}

#[test]
fn elsewhere_than_on_a_terminal_there_is_no_progress() {
    let piped = |case: &Case| format!("{} 2>&1 | cat", slowed(case));
    each(piped, |(command, _, words), shown| {
        assert!(!shown.contains('\x1b') && !shown.contains(words[0]), "{command}: {shown:?}");
    });
}

/// The first call that lists in each thread takes eleven seconds, of `advise` the first that asks for the file system: it lists in many threads.
/// The rate of a removal is slow by itself.
const LONG: &[&str] = &[
    "list --count d",
    "list --sort size -l d",
    "usage t",
    "scan d --dry-run",
    "changes d.parquet --list-all",
    "changes --quiet d.parquet --list-all",
    "remove e --dry-run",
    "remove e --yes --rate 20",
    "remove f --yes --rate 20 --quiet",
    "layout --verify --layout flat d",
    "reshard d --dry-run --from flat --to digest:1",
    "layout d",
    "limits d",
    "limits --quiet --warn-at 99 d",
    "list --estimate d",
    "advise d --files 20k --time 2s",
];

#[test]
fn a_command_that_takes_ten_seconds_in_a_pipe_has_a_line_unless_it_is_quiet() {
    require!(have("strace"));
    let scratch = scratch();
    tree(scratch.path());
    let check = |command: &'static str| {
        let call = if command.starts_with("advise") { "fstatfs" } else { "getdents64" };
        let line = match command.contains("--rate") {
            true => format!("$M {command}"),
            false => delayed(command, call, "delay_enter=11000000:when=1"),
        };
        // `shell` leaves such lines out.
        let mut shell = Command::new("bash");
        shell.args(["-c", &line]).env("M", program()).stdin(Stdio::null());
        let ran = shell.current_dir(scratch.path()).output().unwrap();
        let err = String::from_utf8(ran.stderr).unwrap();
        let lines = err.lines().filter(|line| line.starts_with("megadir: still working after 10 s"));
        assert_eq!(lines.count(), usize::from(!command.contains("--quiet")), "{command}: {err}");
        // Files written just before the scan may be suspects.
        let has_suspects = command.starts_with("changes --quiet") && ran.status.code() == Some(10);
        assert!(ran.status.success() || has_suspects, "{command}: {err}");
    };
    std::thread::scope(|scope| {
        for command in LONG {
            scope.spawn(|| check(command));
        }
    });
}
