//! `megadir bench run --resume`: runs that were interrupted, killed or out of space continue seamlessly.

use std::io::BufReader;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use megadir_bench::schedule::{Step, next};
use megadir_record::jsonl::read;
use megadir_record::{Record, Sample};
use megadir_testkit::PATIENCE;
use megadir_testkit::killed::{before_call, was_killed};
use megadir_testkit::mount::{EXT4, Mount, Recipe};
use megadir_testkit::output::assert_output;
use megadir_testkit::require;
use megadir_testkit::require::have;

use crate::support::{megadir, output_of};

const RUN: [&str; 9] = ["bench", "run", "study.toml", "--quick", "--seed", "7", "-o", "record", "--dir"];

/// Creates a directory for the run with a study of look-ups that warms up briefly and voids no round.
fn scratch() -> tempfile::TempDir {
    let study = include_str!("../../../megadir-bench/studies/lookup.toml");
    let (head, sizes) = study.split_once("[size.quick]").expect("sizes");
    let (_, others) = sizes.split_once("[size.default]").expect("sizes");
    let quick = "[size.quick]\nentries = 500\nrounds = 12\n";
    let text =
        format!("{head}{quick}[size.default]{others}").replace("warm_up_s_max = 10", "warm_up_s_max = 0");
    // On a shared machine a round may be void, and the line that says so may be lost.
    let text = text.replace("stolen_fraction_max = 0.02", "stolen_fraction_max = 0.999");
    let scratch = tempfile::tempdir().expect("a directory");
    std::fs::write(scratch.path().join("study.toml"), text).expect("written");
    std::fs::create_dir(scratch.path().join("below")).expect("made");
    scratch
}

fn start(directory: &Path, arguments: &[&str]) -> Child {
    megadir(directory, arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// Counts the complete lines of a record: the last may be half written, and a run cannot resume from it.
fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count())
}

/// Waits until the record of a long run has `count` lines.
fn reaches(child: &mut Child, path: &Path, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    while lines(path) < count {
        assert!(child.try_wait().expect("waitable").is_none(), "the run ended before {count} lines");
        assert!(Instant::now() < deadline, "the run does not come on");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs the program and kills it before the n-th write of one of its threads; each line of a record is a write.
/// Returns `false` if the program ended before.
fn killed(directory: &Path, arguments: &[&str], number: u32) -> bool {
    let status = before_call(&megadir(directory, arguments), "write", number);
    assert!(was_killed(status) || status.success(), "{status}");
    was_killed(status)
}

fn record(path: &Path) -> Record {
    read(BufReader::new(std::fs::File::open(path).expect("there"))).expect("a record")
}

/// Asserts that every block follows from the earlier ones by the rules of the plan.
fn follows_its_rules(record: &Record) {
    let place = |sample: &Sample| (sample.phase, sample.round, sample.attempt, sample.place, sample.arm);
    for (index, sample) in record.samples.iter().enumerate() {
        // The record says that a round is void only after its last block.
        let mut before = record.samples[..index].to_vec();
        let of_round = |other: &&mut Sample| {
            (other.phase, other.round, other.attempt) == (sample.phase, sample.round, sample.attempt)
        };
        before.iter_mut().filter(of_round).for_each(|other| other.voided = None);
        let Step::Block(block) = next(&record.header.plan, &before) else {
            panic!("block {index} is one too many")
        };
        assert_eq!(
            (block.phase, block.round, block.attempt, block.place, block.arm),
            place(sample),
            "{index}"
        );
    }
    assert!(matches!(next(&record.header.plan, &record.samples), Step::Done(_)));
}

#[test]
fn repeatedly_killed_run_resumes_in_balanced_order() {
    require!(have("strace"));
    let scratch = scratch();
    let (at, path) = (scratch.path(), scratch.path().join("record"));
    let begin = [&RUN[..], &["below"]].concat();
    let (mut kills, mut before) = (0, Vec::new());
    // Each time a little further.
    loop {
        let arguments = if kills == 0 { &begin[..] } else { &["bench", "run", "--resume", "record"] };
        if !killed(at, arguments, 30 + kills) {
            break;
        }
        // On a busy machine a later attempt voids the whole round, with the samples of it that were there before.
        let unjudged = |sample| Sample { voided: None, ..sample };
        let samples: Vec<Sample> = record(&path).samples.into_iter().map(unjudged).collect();
        assert!(samples.starts_with(&before), "earlier samples stay in the record");
        (before, kills) = (samples, kills + 1);
    }
    assert!(kills >= 2, "{kills} kills");
    let record = record(&path);
    assert_eq!(record.resumed.len(), kills as usize);
    assert!(record.end.as_ref().is_some_and(|end| end.complete) && record.cut.is_none());
    follows_its_rules(&record);
    assert!(record.samples.is_sorted_by_key(|sample| sample.start_ns), "one clock for all");
    assert_eq!(std::fs::read_dir(at.join("below")).expect("readable").count(), 0, "nothing is left");
    let again = output_of(at, &["bench", "run", "--resume", "record"]);
    assert_output(&again, 3, "it is complete");
}

/// System calls before which a run may be killed while it begins its record.
const BEGINNING_CALLS: [&str; 6] = ["write", "fsync", "flock", "renameat2", "rename", "link"];

#[test]
fn a_run_killed_while_it_begins_leaves_no_record_or_one_that_can_be_resumed() {
    require!(have("strace"));
    let scratch = scratch();
    let (at, path) = (scratch.path(), scratch.path().join("record"));
    let begin = [&RUN[..], &["below"]].concat();
    let (mut none, mut begun) = (0, 0);
    for call in BEGINNING_CALLS {
        for number in 1.. {
            let status = before_call(&megadir(at, &begin), call, number);
            assert!(was_killed(status) || status.success(), "{call} {number}: {status}");
            if !path.exists() {
                none += 1;
                assert!(number < 100, "{call}: no record comes to be");
                continue;
            }
            // Never empty, and never without its whole header.
            let record = record(&path);
            assert_eq!(record.chain.map(|chain| chain.lines() > 0), Some(true), "{call} {number}");
            begun += u32::from(was_killed(status));
            // The last call comes only after all measurements.
            if was_killed(status) && record.end.is_none() {
                let resumed = output_of(at, &["bench", "run", "--resume", "record"]);
                assert_output(&resumed, 0, "resuming 'record'");
            }
            std::fs::remove_file(&path).expect("removed");
            let _ = std::fs::remove_file(at.join("record.html"));
            break;
        }
    }
    assert!(none > 4 && begun > 1, "{none} without a record, {begun} with one");
    let left = || {
        let names =
            std::fs::read_dir(at).expect("readable").map(|entry| entry.expect("readable").file_name());
        let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
        names.retain(|name| name.ends_with(".partial"));
        names
    };
    // A kill between the two names leaves the first, which `bench clean` removes.
    assert!(!left().is_empty(), "no kill came between the two names");
    let cleaned = output_of(at, &["bench", "clean"]);
    assert_output(&cleaned, 0, ".partial");
    assert_eq!(left(), Vec::<String>::new());
}

#[test]
fn a_record_in_the_directory_that_is_listed_is_there_from_the_start() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    (0..1200).for_each(|index| std::fs::write(at.join(index.to_string()), "").expect("written"));
    let run =
        ["bench", "run", "listing", "--quick", "--rounds=7", "--warm-up=1", "--dir", ".", "-o", "record"];
    let ended = output_of(at, &run);
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let record = record(&at.join("record"));
    assert!(record.notes.iter().all(|note| note.kind != "unequal-work"), "{:?}", record.notes);
    assert_eq!(record.header.plan.data[0].entries, 1201);
}

#[test]
fn an_unfinished_line_is_cut_off_and_measured_again() {
    require!(have("strace"));
    let scratch = scratch();
    let (at, path) = (scratch.path(), scratch.path().join("record"));
    assert!(killed(at, &[&RUN[..], &["below"]].concat(), 50));
    let whole = std::fs::read(&path).expect("readable");
    std::fs::write(&path, &whole[..whole.len() - 30]).expect("written");
    let before = record(&path);
    assert!(before.cut.is_some());
    let resumed = output_of(at, &["bench", "run", "--resume", "record"]);
    assert_output(&resumed, 0, "resuming 'record'");
    let after = record(&path);
    assert!(after.cut.is_none());
    assert_eq!(after.samples[..before.samples.len()], before.samples[..]);
    follows_its_rules(&after);
}

#[test]
fn a_line_without_its_end_is_whole_and_gets_it_and_a_shared_record_stays_shared() {
    require!(have("strace"));
    let scratch = scratch();
    let (at, path) = (scratch.path(), scratch.path().join("record"));
    assert!(killed(at, &[&RUN[..], &["below", "--share"]].concat(), 50));
    // The last complete line, without its end.
    let text = std::fs::read(&path).expect("readable");
    let end = text.iter().rposition(|byte| *byte == b'\n').expect("lines");
    std::fs::write(&path, &text[..end]).expect("written");
    let before = record(&path);
    assert_eq!((before.cut, before.header.directory.as_ref()), (None, None));
    let nowhere = output_of(at, &["bench", "run", "--resume", "record"]);
    assert_output(&nowhere, 3, "it does not name its directory");
    let below = at.join("below");
    let below = below.to_str().expect("UTF-8");
    let run = ["bench", "run", "--resume", "record", "--dir", below];
    assert_output(&output_of(at, &run), 0, "resuming 'record'");
    let after = record(&path);
    assert_eq!(after.samples[..before.samples.len()], before.samples[..]);
    follows_its_rules(&after);
    let text = std::fs::read_to_string(&path).expect("readable");
    assert!(!text.contains(at.to_str().expect("UTF-8")), "{text}");
}

#[test]
fn run_resumes_in_its_directory_from_any_current_directory() {
    require!(have("strace"));
    let scratch = scratch();
    let (at, path) = (scratch.path(), scratch.path().join("record"));
    assert!(killed(at, &[&RUN[..], &["below"]].concat(), 30));
    let below = at.join("below").canonicalize().expect("there");
    assert_eq!(record(&path).header.directory.as_deref(), below.to_str());
    let elsewhere = at.join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("below")).expect("made");
    let plan = output_of(&elsewhere, &["bench", "run", "--resume", "../record", "--dry-run"]);
    let text = String::from_utf8_lossy(&plan.stdout);
    assert!(text.contains(&format!("directory: {}\n", below.display())), "{text}");
    for option in [&["--sizes", "4KiB"][..], &["--content", "json"], &["--share"]] {
        let arguments = [&["bench", "run", "--resume", "record"], option].concat();
        assert_output(&output_of(at, &arguments), 2, "cannot be used with");
    }
    let shm = Path::new("/dev/shm");
    let other = |path: &Path| rustix::fs::statvfs(path).expect("a file system").f_fsid;
    if other(shm) != other(at) {
        let run = ["bench", "run", "--resume", "record", "--dir", "/dev/shm"];
        assert_output(&output_of(at, &run), 3, "the record cannot be resumed");
    }
}

#[test]
fn resume_refuses_changed_inputs() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = scratch.path();
    std::fs::create_dir(at.join("mine")).expect("made");
    for index in 0..1200 {
        std::fs::write(at.join(format!("mine/{index}")), "").expect("written");
    }
    let path = at.join("record");
    let run = ["bench", "run", "lookup", "--rounds", "500", "-o", "record", "--dir", "mine"];
    let mut child = start(at, &run);
    reaches(&mut child, &path, 60);
    // During the run, no other process can write to its record.
    let other = output_of(at, &["bench", "run", "--resume", "record"]);
    assert_output(&other, 3, "another run is writing it");
    child.kill().expect("killed");
    child.wait().expect("waited for");
    std::fs::remove_file(at.join("mine/7")).expect("removed");
    let length = path.metadata().expect("there").len();
    let changed = output_of(at, &["bench", "run", "--resume", "record"]);
    assert_output(&changed, 3, "entries have changed (1200 before, 1199 now)");
    assert_eq!(path.metadata().expect("there").len(), length);
    let mixed = output_of(at, &["bench", "run", "lookup", "--resume", "record"]);
    assert_output(&mixed, 2, "cannot be used with");
    let none = output_of(at, &["bench", "run", "--resume", "mine/1"]);
    assert_output(&none, 3, "it is empty");
}

#[test]
fn a_full_disk_costs_one_block_at_most() {
    let small = require!(Mount::make(&Recipe {
        image_bytes: 4 << 20,
        mkfs: &["mkfs.ext4", "-q", "-F", "-m", "0"],
        ..EXT4
    }));
    let space = rustix::fs::statvfs(small.path()).expect("a file system");
    let ballast = (space.f_bavail * space.f_frsize - (96 << 10)) as usize;
    std::fs::write(small.path().join("ballast"), vec![1; ballast]).expect("there is room");
    let scratch = scratch();
    let (at, path) = (scratch.path(), small.path().join("record"));
    let place = path.to_str().expect("UTF-8");
    let run = ["bench", "run", "study.toml", "--quick", "--rounds", "30", "--dir", "below", "-o", place];
    let full = output_of(at, &run);
    assert_output(&full, 1, "cannot write the record");
    let before = record(&path).samples.len();
    assert!(before > 10);
    // Another disk has space.
    let moved = at.join("record");
    std::fs::copy(&path, &moved).expect("copied");
    let resumed = output_of(at, &["bench", "run", "--resume", "record"]);
    assert_output(&resumed, 0, "resuming");
    let after = record(&moved);
    assert!(after.samples.len() > before);
    follows_its_rules(&after);
}
