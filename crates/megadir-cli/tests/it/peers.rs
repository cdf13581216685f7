//! The study `peers`: megadir and whatever comparable programs are installed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use megadir_bench::study::{Kind, built_in};
use megadir_record::jsonl::read;
use megadir_record::{Arm, Phase, Record, Role, Work};
use megadir_testkit::require;
use megadir_testkit::require::{full, have};

use crate::support::{megadir, notes};

const STUDY: &str = include_str!("../../../megadir-bench/studies/peers.toml");
/// Installed programs of the test; the study's other programs are missing.
const INSTALLED: [&str; 7] = ["ls", "find", "du", "rm", "mkdir", "wc", "cut"];

/// Makes a directory of programs: links to installed ones, a `fd` that lists like find, and a `megadir` that must
/// not be run.
fn programs(directory: &Path) {
    std::fs::create_dir(directory).expect("made");
    for name in INSTALLED {
        symlink(Path::new("/usr/bin").join(name), directory.join(name)).expect("linked");
    }
    let script = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
    };
    script("fd", "exec find \"$3\"");
    script("megadir", "echo ran >> /proc/self/cwd/other-megadir-ran; exit 9");
}

fn record(path: &Path) -> Record {
    read(BufReader::new(std::fs::File::open(path).expect("a record"))).expect("a record that can be read")
}

/// Names of the study's groups with the number of their arms.
fn declared() -> BTreeMap<String, usize> {
    let study = built_in("peers").expect("a built-in study");
    let Kind::Command(spec) = study.kind else { panic!("{:?}", study.kind) };
    spec.groups.iter().map(|group| (group.name.clone(), group.arms.len())).collect()
}

#[test]
fn installed_programs_are_measured_in_every_group_and_missing_ones_are_named() {
    let scratch = tempfile::tempdir().expect("a directory");
    programs(&scratch.path().join("bin"));
    // Warm-up takes seconds otherwise, and this test is about no times.
    let study = STUDY.replace("warm_up_s_max = 3", "warm_up_s_max = 0");
    assert_ne!(study, STUDY);
    std::fs::write(scratch.path().join("peers.toml"), study).expect("written");
    let words = ["bench", "run", "peers.toml", "--quick", "--entries", "60", "--rounds", "2", "-o", "record"];
    let output = megadir(scratch.path(), &words).env("PATH", scratch.path().join("bin")).output();
    let output = output.expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(!scratch.path().join("other-megadir-ran").exists(), "{errors}");

    let record = record(&scratch.path().join("record"));
    let measured = |planned: &Arm| {
        let of =
            |sample: &&megadir_record::Sample| sample.arm == planned.id && sample.phase == Phase::Measure;
        record.samples.iter().filter(of).count()
    };
    let (mut arms, mut programs) = (BTreeMap::<&str, usize>::new(), BTreeSet::new());
    for planned in &record.header.plan.arms {
        let Work::Command(work) = &planned.work else { panic!("{planned:?}") };
        assert_eq!(measured(planned), 2, "{}: {errors}", planned.name);
        assert!(planned.role != Role::Baseline || work.program() == "{megadir}", "{}", planned.name);
        if planned.role != Role::Control {
            *arms.entry(&work.task).or_default() += 1;
        }
        programs.insert(work.program());
        if work.program() == "{megadir}" {
            let version = work.version.as_deref().unwrap_or_default();
            assert!(version.ends_with("(the running executable)"), "{version}");
        }
    }
    assert_eq!(programs, BTreeSet::from(["{megadir}", "du", "fd", "find", "ls", "rm"]));
    // An arm of the study is in the plan or in a note.
    let declared = declared();
    assert_eq!(
        arms.keys().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
        declared.keys().cloned().collect::<Vec<_>>()
    );
    let left_out = notes(&record, "arm-left-out");
    assert_eq!(
        arms.values().sum::<usize>() + left_out.len(),
        declared.values().sum::<usize>(),
        "{left_out:#?}"
    );
    // Only programs that are missing, and the calls for other file systems.
    let elsewhere = |note: &&&str| note.contains("stat backend ");
    let missing: BTreeSet<&str> =
        left_out.iter().filter(|note| !elsewhere(note)).filter_map(|note| note.split('`').nth(3)).collect();
    let expected = ["bfs", "fdfind", "eza", "diskus", "dust", "dua", "gdu", "pdu", "rmz", "rsync", "python3"];
    assert_eq!(missing, BTreeSet::from(expected), "{left_out:#?}");
    let on_path = left_out.iter().filter(|note| note.ends_with("is not on PATH.")).count();
    assert_eq!(on_path, left_out.len() - left_out.iter().filter(elsewhere).count(), "{left_out:#?}");
    for name in ["megadir remove", "rm -rf", "find -delete"] {
        let planned = record.header.plan.arms.iter().find(|planned| planned.name == name).expect(name);
        let Work::Command(work) = &planned.work else { panic!("{planned:?}") };
        assert_eq!(work.expected.map(|expected| expected.lines), Some(0), "{name} leaves files");
    }
}

#[test]
fn groups_are_chosen_by_name() {
    let scratch = tempfile::tempdir().expect("a directory");
    let run = |words: &[&str]| {
        megadir(scratch.path(), &[&["bench", "run"], words].concat()).output().expect("starts")
    };
    let chosen =
        ["peers", "--quick", "--entries", "60", "--rounds", "2", "--group", "sorted,usage", "-o", "record"];
    let output = run(&chosen);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let groups = record(&scratch.path().join("record")).header.plan.groups;
    assert_eq!(groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), ["sorted", "usage"]);
    // A chosen layout holds for groups that have one of their own, too.
    for (layout, spread) in [("flat", None), ("per-directory:7", Some("spread per-directory:7"))] {
        let output = run(&["peers", "--dry-run", "--entries", "60", "--group", "usage", "--layout", layout]);
        let printed = String::from_utf8_lossy(&output.stdout);
        let data = printed.lines().find(|line| line.starts_with("data: ")).expect("the data");
        assert_eq!(data.split(", ").find(|part| part.starts_with("spread")), spread, "{printed}");
    }
    for (words, expected) in [
        (["peers", "--dry-run", "--group", "sorte"], "no group `sorte`: did you mean 'sorted'?"),
        (["listing", "--dry-run", "--group", "names"], "study `listing` does not take --group"),
    ] {
        let output = run(&words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && errors.contains(expected), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

#[test]
fn all_groups_run_cold_on_fresh_file_systems() {
    // Minutes, even at the quick size.
    if !full() {
        return;
    }
    require!(have("mkfs.xfs"));
    let scratch = tempfile::tempdir().expect("a directory");
    let words =
        ["bench", "run", "peers", "--quick", "--fs", "ext4,xfs", "--cache", "warm,fs-cold", "-o", "record"];
    let output = megadir(scratch.path(), &words).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let record = record(&scratch.path().join("record"));
    let cold = record.header.plan.arms.iter().filter(|planned| planned.cache.is_cold());
    let tasks: BTreeSet<String> = cold
        .filter_map(|planned| match &planned.work {
            Work::Command(work) => Some(work.task.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(tasks, declared().into_keys().collect());
}
