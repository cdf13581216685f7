//! The first screen of every command that answers a question: at most 25 lines of 80 columns, word by word.
//! `MEGADIR_BLESS=1` rewrites the golden.
//!
//! The screens are those of a terminal of 80 x 25. The file system is seeded and files are old, so that every figure
//! is the same on any machine; device names are replaced.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::path::Path;
use std::time::{Duration, SystemTime};

use megadir_testkit::mount::{EXT4, HASH_SEED, Mount, Recipe};
use megadir_testkit::output::golden;
use megadir_testkit::require;
use tempfile::TempDir;

use crate::support::{have, shell};

const LINES: usize = 25;
const COLUMNS: usize = 80;

/// ext4 with blocks of 4 KiB and room for ten million files.
const SEEDED: Recipe = Recipe {
    name: "ext4 with 12 million inodes and a fixed hash",
    mkfs: &["mkfs.ext4", "-q", "-F", "-m", "0", "-N", "12000000", "-E", HASH_SEED, "-O", "^has_journal"],
    image_bytes: 64 << 30,
    ..EXT4
};

/// Output on a terminal without control sequences. Messages of a run in progress are on standard error, and not
/// part of the screen.
fn screen(directory: &Path, command: &str) -> String {
    checked(command, on_terminal(directory, command, COLUMNS))
}

/// Messages of a command on its work, from standard error.
fn messages(directory: &Path, command: &str) -> String {
    checked(command, on_terminal_as(directory, &format!("$M {command} 2>&1 >/dev/null"), COLUMNS))
}

fn checked(command: &str, text: String) -> String {
    let lines = text.lines().count();
    assert!(lines > 0 && lines <= LINES, "{command}: {lines} lines:\n{text}");
    text
}

fn on_terminal(directory: &Path, command: &str, columns: usize) -> String {
    on_terminal_as(directory, &format!("$M {command} 2>/dev/null"), columns)
}

fn on_terminal_as(directory: &Path, command: &str, columns: usize) -> String {
    let line = format!("script -qec \"stty cols {columns} rows {LINES}; {command}; true\" /dev/null");
    let ran = shell(directory, &format!("NO_COLOR=1 LC_ALL=C.UTF-8 TZ=UTC {line} < /dev/null"));
    assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
    let text = String::from_utf8(ran.out).unwrap().replace("\r\n", "\n");
    assert!(!text.contains('\x1b'), "{command}: NO_COLOR: {text:?}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    assert!(widest <= columns, "{command}: {widest} columns:\n{text}");
    text
}

/// All files below a directory are from the year 1990.
fn age(directory: &Path) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(20 * 366 * 86_400);
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path);
        }
        let times = std::fs::FileTimes::new().set_accessed(then).set_modified(then);
        std::fs::File::open(path).unwrap().set_times(times).unwrap();
    }
}

fn fill(directory: &Path) {
    let made = shell(
        directory,
        "set -e
         $M make spool --entries 2000 --quiet
         $M make project --entries 300 --layout per-directory:50 --quiet
         $M make flat --entries 200 --quiet
         mkdir files",
    );
    assert_eq!(made.code, Some(0), "{made:?}");
    age(directory);
    let scanned = shell(
        directory,
        "$M scan project -o project.parquet --quiet && mv project/d000001 project/moved && cd project/d000002 \
         && rm $(ls | head -n 1) && cd ../.. && touch -d 1990-01-16 project/new && cd project/d000003 && name=$(ls | head -n 1) && truncate -s 20 $name \
         && touch -d 1990-01-16 $name",
    );
    assert_eq!(scanned.code, Some(0), "{scanned:?}");
}

#[test]
fn first_screen_of_every_command_fits_and_matches() {
    require!(have("script"));
    let mount = require!(Mount::make(&SEEDED));
    let directory = &mount.path();
    fill(directory);
    let record =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records/2026-11-21-listing-ext4/record.jsonl");
    std::fs::copy(record, directory.join("run.jsonl")).unwrap();
    std::fs::copy(directory.join("run.jsonl"), directory.join("new.jsonl")).unwrap();
    let mut text = String::new();
    for command in [
        "-h",
        "advise files --files 10M --churn --time 0s",
        "limits spool",
        "usage project",
        "layout flat",
        "bench list",
        "list --summary --top 1 spool",
        "changes project.parquet project --only added,removed,renamed,modified",
        "remove --dry-run spool",
        "reshard --dry-run --to digest:2 spool",
        "bench report run.jsonl",
        "bench compare run.jsonl new.jsonl",
    ] {
        text.push_str(&format!("$ megadir {command}\n{}\n", screen(directory, command)));
    }
    for command in ["make more --entries 300", "scan project -o again.parquet"] {
        text.push_str(&format!("$ megadir {command}\n{}\n", untimed(&messages(directory, command))));
    }
    // Machines differ in the rest of each line.
    let version = screen(directory, "version");
    let names: Vec<&str> = version.lines().filter_map(|line| line.split("  ").next()).collect();
    text.push_str(&format!("$ megadir version\n{}\n\n", names.join("\n")));
    golden(env!("CARGO_MANIFEST_DIR"), "tests/golden/first-screens.txt", &text);
    // An inventory has the absolute path of its tree, which differs in each run.
    assert!(screen(directory, "usage project.parquet").contains(" d000005\n"));
    for command in ["version", "bench -h", "make -h", "generate -h"] {
        screen(directory, command);
    }
    assert!(on_terminal(directory, "backends flat", COLUMNS).contains("'megadir list' reads 'flat' with"));
}

/// Numbers with a fraction, rates and sizes differ in each run.
fn untimed(text: &str) -> String {
    let masked = |word: &str, next: Option<&&str>| {
        match word.trim_end_matches('K').parse::<f64>() {
            Ok(_) if word.contains('.') || word.len() > 4 || word.ends_with('K') || next == Some(&"per") => {
                "N"
            }
            _ => word,
        }
        .to_owned()
    };
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let masked = words.iter().enumerate().map(|(at, word)| masked(word, words.get(at + 1)));
        masked.collect::<Vec<_>>().join(" ") + "\n"
    };
    text.lines().map(line).collect()
}

/// ext4 without a free inode, where a directory has several hazards.
const FULL: Recipe = Recipe {
    name: "ext4 with 1 KiB blocks and 2000 inodes",
    mkfs: &["mkfs.ext4", "-q", "-F", "-b", "1024", "-N", "2000", "-E", HASH_SEED],
    image_bytes: 64 << 20,
    ..SEEDED
};

#[test]
fn limits_begin_with_the_hazard_that_has_come_true_and_end_with_the_way_to_the_rest() {
    require!(have("script"));
    let mount = require!(Mount::make(&FULL));
    let directory = &mount.path();
    let spool = directory.join("spool");
    std::fs::create_dir(&spool).unwrap();
    (0..).find(|index| std::fs::File::create(spool.join(format!("job-{index}"))).is_err());
    let text = screen(directory, "limits spool");
    assert!(
        text.starts_with("'spool' is full: creates fail; the reason is that inodes have run out.\n"),
        "{text}"
    );
    let (pressing, other) = (text.find("\n  inodes: "), text.find("\n  small-blocks: "));
    assert!(pressing.is_some() && pressing < other, "{text}");
    let more = "More (all evidence, hazards and remedies): megadir limits --verbose\n";
    assert!(text.ends_with(more) && !text.contains("tune2fs"), "{text}");
    let text = on_terminal(directory, "limits --verbose spool", COLUMNS);
    assert!(text.lines().count() > LINES && !text.contains(more), "{text}");
    assert!(text.contains("      $ tune2fs -O large_dir ") && text.contains("\n  file system "), "{text}");
}

#[test]
fn estimates_are_wrapped_on_a_terminal() {
    require!(have("script"));
    let mount = require!(Mount::make(&SEEDED));
    let made = shell(&mount.path(), "$M make spool --entries 30k --quiet");
    assert_eq!(made.code, Some(0), "{made:?}");
    let text = screen(&mount.path(), "list --estimate spool");
    assert!(text.contains(" entries [") && text.contains("\n  ") && text.ends_with(" ext4\n"), "{text}");
}

#[test]
fn output_fits_a_narrow_terminal() {
    require!(have("script"));
    let mount = require!(Mount::make(&SEEDED));
    fill(&mount.path());
    for command in ["advise files --files 10M --churn --time 0s", "limits spool"] {
        let text = on_terminal(&mount.path(), command, 40);
        assert!(!text.contains("10.0\n") && text.contains("[8.5, 11.5]"), "{command}:\n{text}");
    }
}

/// The figures differ in each run; the question comes first, or a warning of a noisy machine, and the prompt still fits.
#[test]
fn a_run_ends_with_one_screen() {
    require!(have("script"));
    let scratch = TempDir::new().unwrap();
    let text = screen(scratch.path(), "bench run listing --quick --entries 50 --rounds 7 -o run.jsonl");
    let begins = ["Why is ls slow", "WARNING: ", "! "];
    assert!(begins.iter().any(|begin| text.starts_with(begin)), "{text}");
    assert!(text.contains("megadir bench report RECORD --verbose"), "{text}");
}

#[test]
fn colours_follow_the_environment_and_only_add_to_the_text() {
    require!(have("script"));
    let scratch = TempDir::new().unwrap();
    let record =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records/2026-11-21-listing-ext4/record.jsonl");
    std::fs::copy(record, scratch.path().join("run.jsonl")).unwrap();
    let piped = |environment: &str| {
        let ran = shell(scratch.path(), &format!("env -u NO_COLOR {environment} $M bench report run.jsonl"));
        String::from_utf8(ran.out).unwrap()
    };
    let on_terminal = |environment: &str| {
        let line = format!("env -u NO_COLOR TERM=xterm {environment} $M bench report run.jsonl");
        let ran =
            shell(scratch.path(), &format!("script -qec \"stty cols 80; {line}\" /dev/null < /dev/null"));
        String::from_utf8(ran.out).unwrap()
    };
    let is_coloured = |text: &str| text.contains('\x1b');
    assert!(is_coloured(&on_terminal("CLICOLOR=1")) && is_coloured(&on_terminal("NO_COLOR=")));
    for never in ["NO_COLOR=1", "CLICOLOR=0", "TERM=dumb", "NO_COLOR=1 CLICOLOR_FORCE=1"] {
        assert!(!is_coloured(&on_terminal(never)), "{never}");
    }
    let (plain, forced) = (piped("CLICOLOR_FORCE=0"), piped("CLICOLOR_FORCE=1"));
    assert!(!is_coloured(&plain) && is_coloured(&forced) && !is_coloured(&piped("CLICOLOR=1")));
    let mut parts = forced.split('\x1b');
    let mut without = parts.next().unwrap().to_owned();
    parts.for_each(|part| without.push_str(part.split_once('m').unwrap().1));
    assert_eq!(without, plain);
}
