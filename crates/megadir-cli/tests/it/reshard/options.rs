//! Layouts found and given, the question, limits of the rate, output, and memory.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use megadir_testkit::mount::{EXT4, Mount};
use megadir_testkit::require;
use megadir_testkit::require::full;

use super::support::{at_top, directories, files, interrupted, make};
use crate::remove::witness::scratch_in_memory;
use crate::support::{fill, have, peak_of, run, run_as_nobody, scratch, shell, unprivileged};

fn json(at: &Path, words: &[&str]) -> serde_json::Value {
    let ran = run(at, &[&["reshard", "--json"], words].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_slice(&ran.out).unwrap()
}

#[test]
fn idle_holds_for_a_dry_run_too() {
    require!(have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    make(at, 3, "flat");
    for way in ["--dry-run", "--yes"] {
        let words = format!("$M reshard --from flat --to digest:1 --idle {way} t");
        let ran = shell(at, &format!("strace -f -qq -e trace=ioprio_set -o log {words}"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let log = std::fs::read_to_string(at.join("log")).unwrap();
        assert!(log.contains("IOPRIO_CLASS_IDLE") && log.contains("= 0\n"), "{way}: {log}");
    }
}

#[test]
fn the_old_layout_is_found_and_the_tree_comes_back() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 400, "flat");
    let before = files(&at.join("t"));
    for (from, to) in
        [("flat", "digest:2"), ("digest:2", "nginx"), ("suffix:1/2", "digest:1/1"), ("digest:1/1", "flat")]
    {
        let ran = run(at, &["reshard", "--to", to, "t"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(
            ran.err.starts_with(&format!("megadir: moved 400 files from {from} to {to}, in ")),
            "{ran:?}"
        );
    }
    assert_eq!(files(&at.join("t")), before);
    assert_eq!(directories(&at.join("t")), 0);
    // Names of git's layout are shortened, which any name could be.
    run(at, &["reshard", "--quiet", "--to", "git", "t"]).quiet();
    run(at, &["reshard", "--to", "flat", "t"]).complains(2, &["fit git", "--from git"]);
    run(at, &["reshard", "--from", "git", "--quiet", "--to", "flat", "t"]).quiet();
    assert_eq!(files(&at.join("t")), before);
}

#[test]
fn a_dry_run_counts_and_changes_nothing() {
    let scratch = scratch();
    let at = scratch.path();
    make(at, 300, "flat");
    fill(at, &["t/x.tmp", "t/other/"]);
    let before = files(&at.join("t"));
    let words = ["--dry-run", "--to", "prefix:2", "--exclude", "*.tmp", "--rate", "10", "t"];
    let counted = json(at, &words);
    assert_eq!((&counted["to_move"], &counted["excluded"]), (&300.into(), &1.into()), "{counted}");
    assert_eq!((&counted["foreign_directories"], &counted["conflicts"]), (&1.into(), &0.into()));
    let text = String::from_utf8(run(at, &[&["reshard"], &words[..]].concat()).quiet()).unwrap();
    let begins = "would move 300 files from flat to prefix:2\n  into    ";
    assert!(text.starts_with(begins) && text.contains("  time    at least 30 s, by --rate\n"), "{text}");
    assert!(text.contains("  stay    1 file stays because of --exclude\n"), "{text}");
    assert!(text.contains("  limits  't': ") && counted["expected_s"] == 30.0, "{text}");
    assert_eq!((files(&at.join("t")), directories(&at.join("t"))), (before, 1));
}

#[test]
fn a_finished_tree_is_called_so() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 600, "digest:2");
    fill(at, &["new/", "t/other/"]);
    let sentence = " sampled files is where digest:2 puts it";
    for words in [&["--to", "digest:2", "t"][..], &["--from", "flat", "--to", "digest:2", "t"]] {
        let ran = run(at, &[&["reshard"], words].concat());
        ran.complains(0, &["megadir: nothing to move: each of ", sentence]);
        let ran = run(at, &[&["reshard", "--dry-run"], words].concat());
        let text = String::from_utf8(ran.quiet()).unwrap();
        assert!(text.starts_with("nothing to move: each of ") && text.contains(sentence), "{text}");
    }
    // Another target says nothing about these files, and another layout has them elsewhere.
    let ran = run(at, &["reshard", "--from", "flat", "--to", "digest:2", "--into", "new", "t"]);
    assert!(ran.code == Some(0) && ran.err.contains("moved 0 files from flat to digest:2"), "{ran:?}");
    let ran = run(at, &["reshard", "--from", "flat", "--to", "digest:1", "t"]);
    assert!(ran.code == Some(0) && ran.err.contains("moved 0 files from flat to digest:1"), "{ran:?}");
}

#[test]
fn the_old_layout_is_found_by_one_sample() {
    require!(have("strace"));
    let scratch = scratch();
    let at = scratch.path();
    make(at, 300, "digest:2");
    let opened = |words: &str| {
        let ran = shell(at, &format!("strace -f -qq -e trace=openat2 -o log $M {words} t"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        std::fs::read_to_string(at.join("log")).unwrap().matches("openat2(").count()
    };
    // Both sample once, and neither has files to move.
    assert_eq!(opened("reshard --to digest:2"), opened("reshard --from flat --to digest:2"));
}

#[test]
fn dry_run_predicts_files_that_stay() {
    let scratch = scratch();
    let at = scratch.path();
    // 'ab' is in its own way, 'cd' is taken below, and 'ef' leads elsewhere.
    fill(at, &["t/", "t/ab", "t/abcdef", "t/cdefgh", "t/cdijkl", "t/efgh", "t/ghij", "t/cd/", "t/cd/cdefgh"]);
    std::os::unix::fs::symlink("cd", at.join("t/ef")).unwrap();
    let before = files(&at.join("t"));
    let words = ["--json", "--from", "flat", "--to", "prefix:2", "t"];
    let ran = run(at, &[&["reshard", "--dry-run"], &words[..]].concat());
    let foreseen: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    let counts = |report: &serde_json::Value, of: &str| {
        [of, "conflicts", "failures", "others"].map(|key| report[key].as_u64().unwrap())
    };
    assert_eq!((ran.code, counts(&foreseen, "to_move")), (Some(1), [2, 1, 3, 1]), "{foreseen}");
    for line in [
        "megadir: rename 't/cdefgh': another entry has its new path\n",
        "megadir: rename 't/ab': its new directory would have the same path, ",
        "megadir: create 't/ab': an entry with this name is no directory and does not move: ",
        "megadir: create 't/ef': an entry with this name is no directory and does not move: ",
    ] {
        assert!(ran.err.contains(line), "{ran:?}");
    }
    assert_eq!(files(&at.join("t")), before);
    let text = run(at, &[&["reshard", "--dry-run"], &words[1..]].concat());
    let text = String::from_utf8(text.out).unwrap();
    assert!(text.contains("1 file stays because another entry has the new path\n"), "{text}");
    // The run says the same.
    let ran = run(at, &[&["reshard"], &words[..]].concat());
    let report: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!((ran.code, counts(&report, "moved")), (Some(1), [2, 1, 3, 1]), "{report}");
}

#[test]
fn a_dry_run_foresees_directories_that_cannot_be_written() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    fill(at, &["t/", "t/ab/", "t/abc1", "t/abc2", "t/cdef"]);
    let words = ["reshard", "--dry-run", "--from", "flat", "--to", "prefix:2", "t"];
    let owned = |path: &str| std::os::unix::fs::chown(at.join(path), Some(65534), Some(65534)).unwrap();
    owned("t");
    let ran = run_as_nobody(&megadir, at, &words);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1), "{ran:?}");
    assert!(ran.err.contains("megadir: rename into 't/ab': Permission denied; 2 files stay\n"), "{ran:?}");
    assert!(ran.out.starts_with(b"would move 1 file from flat to prefix:2\n"), "{ran:?}");
    owned("t/ab");
    run_as_nobody(&megadir, at, &words).quiet();
    // The files' own directory, and then directories that would have another owner.
    for (mode, reason) in
        [(0o755, "rename in 't': Permission denied; 3 files"), (0o777, "must belong to user 0: ")]
    {
        std::os::unix::fs::chown(at.join("t"), Some(0), Some(0)).unwrap();
        std::fs::set_permissions(at.join("t"), std::fs::Permissions::from_mode(mode)).unwrap();
        let ran = run_as_nobody(&megadir, at, &words);
        assert!(ran.code == Some(1) && ran.err.contains(reason), "{ran:?}");
    }
}

#[test]
fn many_files_are_moved_only_after_a_yes() {
    require!(have("script"));
    let scratch = scratch();
    let at = scratch.path();
    make(at, 1001, "flat");
    run(at, &["reshard", "--to", "digest:1", "t"])
        .complains(2, &["more than 1000 files", "--yes", "--dry-run"]);
    run(at, &["reshard", "--renew", "--to", "digest:1", "t"])
        .complains(2, &["from flat to digest:1, and replace 't' with a small copy: there is no terminal"]);
    let on_terminal = |typed: &str| {
        let line =
            format!("(printf '{typed}'; sleep 1) | script -qec \"$M reshard --to digest:1 t\" /dev/null");
        let ran = shell(at, &line);
        (ran.code, String::from_utf8(ran.out).unwrap().replace("\r\n", "\n"))
    };
    let (code, shown) = on_terminal("n\\n");
    assert_eq!(code, Some(130), "{shown}");
    assert!(
        shown.contains("megadir: move more than 1000 files of 't' from flat to digest:1? [y/N] ")
            && shown.contains("megadir: nothing was moved\n"),
        "{shown}"
    );
    assert_eq!(directories(&at.join("t")), 0);
    let (code, shown) = on_terminal("y\\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("moved 1 001 files from flat to digest:1"), "{shown}");
    assert_eq!(directories(&at.join("t")), 16);
}

#[test]
fn the_rate_is_kept_and_an_interrupt_leaves_every_file_at_one_of_its_paths() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 400, "flat");
    let started = std::time::Instant::now();
    let words = ["reshard", "--yes", "--rate", "100", "--to", "digest:1", "t"];
    let ran = interrupted(at, &words, || at_top(at) <= 380);
    let most = started.elapsed().as_secs_f64() * 100.0 + 2.0;
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(
        ran.err.contains("megadir: interrupted; run the same command with --from flat to continue"),
        "{ran:?}"
    );
    let moved = 400 - at_top(at);
    assert!(moved >= 20 && (moved as f64) <= most && files(&at.join("t")).len() == 400, "{moved} of {most}");
    let rest = json(at, &["--yes", "--to", "digest:1", "t"]);
    assert_eq!(rest["moved"], 400 - moved);
}

#[test]
fn memory_is_bounded() {
    require!(have("python3"));
    // Memory has too few inodes for ten million files.
    let scratch = if full() { scratch() } else { scratch_in_memory() };
    let at = scratch.path();
    let (few, many) = if full() { (400_000, 10_000_000) } else { (1000, 120_000) };
    let peak = |files| {
        make(at, files, "flat");
        let peak = peak_of(at, &["reshard", "--yes", "--quiet", "--to", "digest:2", "t"], 0);
        std::fs::remove_dir_all(at.join("t")).unwrap();
        peak
    };
    let (least, most) = (peak(few), peak(many));
    println!("peak of {few} files: {} MiB, of {many}: {} MiB", least >> 20, most >> 20);
    assert!(most < 64 << 20, "{most} bytes for {many} files");
    // The window is 16 MiB, and full with the larger number only; in the long tier both fill it and what is moved meanwhile.
    assert!(most < least + (20 << 20), "{least} and {most} bytes");
}

#[test]
fn the_tree_equals_the_result_of_a_loop_of_rename() {
    require!(have("cc"));
    let scratch = scratch_in_memory();
    let at = scratch.path();
    std::fs::write(at.join("loop.c"), include_str!("../../../bench/rename-loop.c")).unwrap();
    assert_eq!(shell(at, "cc -O2 -Wall -Werror -o loop loop.c").code, Some(0));
    for (levels, layout) in [("1", "prefix:2"), ("2", "prefix:2/2")] {
        make(at, 2000, "flat");
        run(at, &["reshard", "--quiet", "--yes", "--to", layout, "t"]).quiet();
        let paths = || files(&at.join("t")).into_values().collect::<std::collections::BTreeSet<_>>();
        let by_program = paths();
        run(at, &["reshard", "--quiet", "--yes", "--from", layout, "--to", "flat", "t"]).quiet();
        assert_eq!(shell(at, &format!("./loop make {levels} t && ./loop move {levels} t")).code, Some(0));
        assert!(paths() == by_program);
        std::fs::remove_dir_all(at.join("t")).unwrap();
    }
}

#[test]
fn a_large_ext4_directory_is_named_and_replaced() {
    let mount = require!(Mount::make(&EXT4));
    let at = mount.path();
    make(&at, 20_000, "flat");
    let ran = run(&at, &["reshard", "--yes", "--to", "digest:1", "t"]);
    let line = ran.err.lines().nth(1).unwrap_or_default();
    let size = "megadir: 't' keeps its size of 1.";
    assert!(line.starts_with(size) && line.ends_with("; --renew replaces it"), "{ran:?}");
    let before = files(&at.join("t"));
    run(&at, &["reshard", "--quiet", "--yes", "--renew", "--to", "digest:1", "t"]).quiet();
    assert!(files(&at.join("t")) == before && at.join("t").metadata().unwrap().len() == 4096);
    fill(&at, &["new/"]);
    run(&at, &["reshard", "--quiet", "--yes", "--to", "flat", "--into", "new", "t"]).quiet();
    assert_eq!(files(&at.join("new")).len(), 20_000);
}

#[test]
fn another_directory_receives_the_files() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 200, "git");
    fill(at, &["new/"]);
    let before: Vec<u64> = files(&at.join("t")).into_keys().collect();
    let done = json(at, &["--from", "git", "--to", "digest:2", "--into", "new", "t"]);
    assert_eq!((&done["moved"], &done["from"]), (&200.into(), &"git".into()), "{done}");
    assert_eq!(files(&at.join("new")).into_keys().collect::<Vec<_>>(), before);
    assert_eq!(directories(&at.join("t")), 0);
}
