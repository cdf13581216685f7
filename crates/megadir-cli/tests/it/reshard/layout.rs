//! `megadir layout`: the layout of a tree, and the files that do not fit it.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use megadir_testkit::require;

use super::support::make;
use crate::remove::witness::scratch_in_memory;
use crate::support::{fill, megadir, run, run_as_nobody, scratch, shell, unprivileged};

#[test]
fn every_layout_is_found_again() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    for (made, found) in [
        ("flat", "flat"),
        ("prefix:2/2", "prefix:2/2"),
        ("suffix:1/2", "suffix:1/2"),
        ("next-to-last:2", "next-to-last:2"),
        ("digest:2", "digest:2"),
        ("digest:1/2", "digest:1/2"),
        ("git", "git"),
        ("npm-cacache", "npm-cacache"),
        ("paperclip", "decimal:3/3/3"),
        ("squid", "sequence:16/256"),
        ("ccache", "ccache"),
        ("ipfs-flatfs", "ipfs-flatfs"),
        ("suffix:2+ending=.jpeg", "suffix:2+ending=.jpeg"),
    ] {
        let _ = std::fs::remove_dir_all(at.join("t"));
        make(at, 600, made);
        let line = String::from_utf8(run(at, &["layout", "t"]).quiet()).unwrap();
        let is_found = line.starts_with(&format!("{found}: "));
        // With this few files ccache's own depth is the plain layout's.
        assert!(is_found || made == "ccache" && line.starts_with("prefix:1/1+rest: "), "{made}: {line}");
        assert_eq!(
            line.contains("any names would fit"),
            line.contains("git") || line.contains("npm") || made == "ccache" || made == "paperclip",
            "{line}"
        );
        let all = String::from_utf8(run(at, &["layout", "--verify", "--layout", made, "t"]).quiet()).unwrap();
        assert_eq!(all, format!("{made}: 600 of 600 files fit\n"));
    }
}

#[test]
fn files_that_do_not_fit_are_named() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 300, "digest:2");
    fill(at, &["t/00/", "t/00/misplaced", "t/stray", "t/other/", "t/other/deep/", "t/other/deep/lost"]);
    std::os::unix::fs::symlink("stray", at.join("t/link")).unwrap();
    let ran = run(at, &["layout", "--verify", "t"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.out, b"digest:2: 300 of 303 files fit; 2 directories are not of the layout\n");
    for line in [
        "'t/00/misplaced': does not fit",
        "'t/stray': does not fit",
        "'t/other/deep/lost': does not fit",
        "'t/other': a directory",
    ] {
        assert!(ran.err.contains(line), "{ran:?}");
    }
    let report = run(at, &["layout", "--verify", "--json", "t"]);
    let report: serde_json::Value = serde_json::from_slice(&report.out).unwrap();
    let counts = ["fit", "misfits", "foreign_directories"].map(|key| report[key].as_u64().unwrap());
    assert_eq!((report["layout"].as_str(), counts), (Some("digest:2"), [300, 3, 2]), "{report}");
}

#[test]
fn a_tree_without_a_layout_has_none() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    for index in 0..30 {
        fill(at, &[&format!("t/some-{index}/"), &format!("t/some-{index}/a"), &format!("t/some-{index}/b")]);
    }
    let ran = run(at, &["layout", "t"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.out.starts_with(b"no known layout fits half of "), "{ran:?}");
    fill(at, &["empty/"]);
    assert_eq!(run(at, &["layout", "empty"]).quiet(), b"no files\n");
    run(at, &["layout", "none"]).complains(3, &["none"]);
}

/// `squid -z` makes all directories, and fills them in order.
#[test]
fn files_in_few_of_many_directories_are_found() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    for name in (0..16).flat_map(|top| (0..256).map(move |below| format!("t/{top:02X}/{below:02X}"))) {
        std::fs::create_dir_all(at.join(name)).unwrap();
    }
    assert_eq!(run(at, &["layout", "t"]).quiet(), b"no files\n");
    for number in 0..30 {
        std::fs::write(at.join(format!("t/00/00/{number:08X}")), "").unwrap();
    }
    let found = String::from_utf8(run(at, &["layout", "t"]).quiet()).unwrap();
    assert!(found.starts_with("sequence:16/256: "), "{found}");
    run(at, &["reshard", "--yes", "--quiet", "--to", "digest:2", "t"]).quiet();
    assert_eq!(run(at, &["layout", "--verify", "t"]).quiet(), b"digest:2: 30 of 30 files fit\n");
}

#[test]
fn files_at_the_top_do_not_hide_files_below() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 10_000, "digest:2");
    (0..900).for_each(|number| std::fs::write(at.join(format!("t/top-{number}")), "").unwrap());
    let found = String::from_utf8(run(at, &["layout", "t"]).quiet()).unwrap();
    assert!(found.starts_with("digest:2: "), "{found}");
}

#[test]
fn directories_that_cannot_be_read_are_failures_of_the_check() {
    let scratch = scratch();
    let megadir = require!(unprivileged(&scratch));
    let at = scratch.path();
    fill(at, &["t/", "t/ab/", "t/ab/abcd", "t/cd/", "t/cd/cdef"]);
    std::fs::set_permissions(at.join("t/ab"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let words = ["layout", "--verify", "--layout", "prefix:2"];
    let ran = run_as_nobody(&megadir, at, &[&words[..], &["t"]].concat());
    ran.complains(1, &["open 't/ab': Permission denied"]);
    assert_eq!(ran.out, b"prefix:2: 1 of 1 file fit; 1 directory or entry could not be read\n");
    let ran = run_as_nobody(&megadir, at, &[&words[..], &["--json", "t"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    let counts =
        ["fit", "misfits", "foreign_directories", "failures"].map(|key| report[key].as_u64().unwrap());
    assert_eq!((ran.code, counts), (Some(1), [1, 0, 0, 1]), "{report}");
}

#[test]
fn a_check_ends_with_an_interrupt() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 20_000, "flat");
    let words = ["layout", "--verify", "--layout", "digest:2", "--all-errors", "t"];
    let mut child = megadir(at, &words).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let (mut first, mut rest) = (String::new(), String::new());
    messages.read_line(&mut first).unwrap();
    assert!(first.ends_with(": does not fit\n"), "{first}");
    // The pipe is full by now, or soon: the check waits until the rest is read.
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    messages.read_to_string(&mut rest).unwrap();
    let (code, lines) = (child.wait().unwrap().code(), rest.lines().count());
    assert!(code == Some(130) && lines < 19_000, "{code:?}, {lines} lines");
}

/// More levels than any layout has, and more than are entered.
#[test]
fn a_deep_tree_is_checked_down_to_64_levels() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let below = |levels: usize| format!("t/{}", "d/".repeat(levels));
    fill(at, &[&below(70), &format!("{}met", below(60)), &format!("{}unmet", below(70))]);
    let ran = run(at, &["layout", "--verify", "--all-errors", "--layout", "prefix:1", "t"]);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 65), "{ran:?}");
    // 't/d' is a directory of the layout.
    assert_eq!(ran.out, b"prefix:1: 0 of 1 file fit; 64 directories are not of the layout\n");
    assert!(ran.err.contains("d/met': does not fit\n") && !ran.err.contains("unmet"), "{ran:?}");
}

/// A program, the path of its file with a number, and how the line of `layout` begins and ends.
type Case<'a> = (&'a str, &'a dyn Fn(u32) -> String, &'a str, &'a str);

/// Trees as these programs make them, by their sources (go-ds-flatfs, nginx, squid, ccache, cacache, git, Docker). `hash` has hex digits.
#[test]
fn trees_of_known_programs_are_taken_for_nothing_else() {
    let hash = |index: u32, digits: usize| -> String {
        let mut state = u64::from(index) + 1;
        let digit = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from_digit((state >> 60) as u32, 16).unwrap()
        };
        (0..digits).map(digit).collect()
    };
    let git = |index| {
        let name = hash(index, 40);
        format!("{}/{}", &name[..2], &name[2..])
    };
    let kubo = |index| {
        let name = format!("CIQ{}", hash(index, 52).to_uppercase());
        format!("{}/{name}.data", &name[52..54])
    };
    let nginx = |index| {
        let name = hash(index, 32);
        format!("{}/{}/{name}", &name[31..], &name[29..31])
    };
    let squid = |index: u32| format!("00/{:02X}/{index:08X}", index / 256);
    let npm = |index| {
        let name = hash(index, 128);
        format!("{}/{}/{}", &name[..2], &name[2..4], &name[4..])
    };
    let ccache = |index| {
        let name = hash(index, 38);
        format!("{}/{}/{}R", &name[..1], &name[1..2], &name[2..])
    };
    let registry = |index| {
        let name = hash(index, 64);
        format!("{}/{name}/data", &name[..2])
    };
    let overlay2 = |index| format!("{}/diff/etc/hostname", hash(index, 64));
    let guess = "sampled files fit; any names would fit, because the layout shortens them\n";
    let whole = "sampled files fit\n";
    let cases: [Case<'_>; 8] = [
        ("git", &git, "git: ", guess),
        ("kubo", &kubo, "ipfs-flatfs: ", whole),
        ("nginx", &nginx, "suffix:1/2: ", whole),
        ("squid", &squid, "sequence:16/256: ", whole),
        ("npm", &npm, "npm-cacache: ", guess),
        ("ccache", &ccache, "prefix:1/1+rest: ", guess),
        ("registry", &registry, "no known layout fits half of ", "sampled files\n"),
        ("overlay2", &overlay2, "no known layout fits half of ", "sampled files\n"),
    ];
    for (program, path, starts, ends) in cases {
        let scratch = scratch_in_memory();
        for index in 0..300 {
            let path = scratch.path().join("t").join(path(index));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let ran = run(scratch.path(), &["layout", "t"]);
        let out = String::from_utf8(ran.out).unwrap();
        let numbers = out.strip_prefix(starts).and_then(|rest| rest.strip_suffix(ends));
        let numbers = numbers.unwrap_or_else(|| panic!("{program}: {out}"));
        let all_fit = numbers.split_once(" of ").is_none_or(|(fit, sampled)| fit == sampled.trim_end());
        assert!(all_fit && ran.err.is_empty(), "{program}: {out}");
        assert_eq!(ran.code, Some(i32::from(out.starts_with("no known"))), "{program}");
        if program != "kubo" {
            continue;
        }
        for from in ["git", "prefix:2+rest"] {
            let ran = run(scratch.path(), &["reshard", "--yes", "--to", "flat", "t", "--from", from]);
            ran.complains(
                2,
                &["which would give the files wrong names", "fit ipfs-flatfs, in which names are whole"],
            );
        }
        // There and back: every block keeps its name.
        let before = shell(scratch.path(), "find t -type f | sort").quiet();
        for to in ["flat", "ipfs-flatfs"] {
            run(scratch.path(), &["reshard", "--quiet", "--yes", "--to", to, "t"]).quiet();
        }
        assert_eq!(shell(scratch.path(), "find t -type f | sort").quiet(), before);
        run(scratch.path(), &["reshard", "--quiet", "--yes", "--to", "flat", "t"]).quiet();
        assert_eq!(shell(scratch.path(), "ls t/*.data | wc -l").quiet(), b"300\n");
    }
}

/// A digest of the name without its ending cannot be computed from the name.
#[test]
fn files_that_fit_only_without_their_ending_are_not_moved() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    let layout: megadir::layout::Layout = "digest:2".parse().unwrap();
    for index in 0..300 {
        let path = at.join("t").join(layout.path_for(format!("name {index}").as_bytes()).unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path.with_extension("jpeg"), "").unwrap();
    }
    let ran = run(at, &["layout", "t"]);
    let out = String::from_utf8(ran.out).unwrap();
    let reason =
        "fit digest:2, if their ending .jpeg is no part of the names, which that layout cannot leave out";
    assert!(out.starts_with("no known layout fits: ") && out.contains(reason), "{out}");
    for from in [&["--from", "git"][..], &[]] {
        let words = [&["reshard", "--yes", "--to", "flat", "t"][..], from].concat();
        run(at, &words).complains(2, &[reason]);
    }
}

/// If names are whole in both layouts, files move to the same places from either.
#[test]
fn a_tie_is_named_and_must_be_decided_if_names_differ() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    fill(at, &["t/aa/"]);
    for index in 0..40 {
        fill(at, &[&format!("t/aa/aa{index:02}aa")]);
    }
    let ran = run(at, &["layout", "t"]);
    assert_eq!(ran.out, b"prefix:2: 40 of 40 sampled files fit; as many fit suffix:2\n", "{ran:?}");
    make_ids(at);
    let ran = run(at, &["reshard", "--yes", "--to", "flat", "ids"]);
    let named = "fit decimal:3/3/3, and as many prefix:3/3+rest, which may be chance; confirm with --from decimal:3/3/3 or --from";
    ran.complains(2, &[named]);
}

/// Any nested tree fits a layout that shortens names. Taken for one, its files would get other names.
#[test]
fn files_that_get_other_names_are_announced_with_an_example() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    for directory in 0..3 {
        fill(at, &[&format!("t/a0{directory}/b003/")]);
        for file in 0..20 {
            fill(at, &[&format!("t/a0{directory}/b003/f{file:03}.txt")]);
        }
    }
    let example = "file names change, e.g. from 'a0";
    let ran = run(at, &["reshard", "--to", "flat", "t", "--yes"]);
    ran.complains(2, &["as any names would", example, ".txt' to 'a0"]);
    let dry = run(at, &["reshard", "--from", "prefix:3/4+rest", "--to", "flat", "t", "--dry-run"]);
    assert!(dry.code == Some(0) && dry.err.contains(example), "{dry:?}");
}

fn make_ids(at: &std::path::Path) {
    run(at, &["make", "ids", "--quiet", "--size", "0", "--entries", "300", "--layout", "paperclip"]).quiet();
}

#[test]
fn whole_names_are_not_taken_for_shortened_ones() {
    let scratch = scratch_in_memory();
    let at = scratch.path();
    make(at, 300, "digest:2");
    let ran = run(at, &["reshard", "--yes", "--from", "git", "--to", "flat", "t"]);
    ran.complains(
        2,
        &[
            "not --from git, which would give the files wrong names: ",
            " sampled files fit digest:2, in which",
        ],
    );
}
