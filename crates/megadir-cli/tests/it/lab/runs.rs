//! `megadir bench run --fs`: studies across created file systems. Differences are reported, equal results are
//! not, and a full file system still leaves a record.

use std::io::BufReader;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use megadir_bench::study::BUILT_IN;
use megadir_record::{Place, Record};
use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::unprivileged::unprivileged;

use super::running::{Running, scratch};
use super::support::{assert_nothing_left, copy_for_all, privileged};
use crate::support::{output_of, text};

/// File systems available on this machine.
const ALL: &str = "ext2,ext3,ext4,xfs,btrfs,tmpfs,ntfs-3g";

/// File systems for a study; for `limits`, those with directories that fill up soon.
fn file_systems(study: &str) -> &'static str {
    if study == "limits" { "ext4:block=1k:^has_journal" } else { ALL }
}

/// Runs a study; returns its complete record.
#[track_caller]
fn run(arguments: &[&str]) -> Record {
    let scratch = scratch();
    let (below, record) = (scratch.path().join("below"), scratch.path().join("record"));
    let (below, record) = (below.to_str().expect("UTF-8"), record.to_str().expect("UTF-8"));
    let fixed = ["--seed", "7", "--dir", below, "-o", record];
    let ran = output_of(".", &[&["bench", "run"], arguments, &fixed].concat());
    assert_eq!(ran.status.code(), Some(0), "{arguments:?}: {}{}", text(&ran.stdout), text(&ran.stderr));
    assert_nothing_left(Path::new(below), "after the run");
    assert_eq!(std::fs::read_dir(below).expect("there").count(), 0);
    read(Path::new(record))
}

fn is_complete(record: &Record) -> bool {
    record.end.as_ref().is_some_and(|end| end.complete)
}

fn read(path: &Path) -> Record {
    megadir_record::jsonl::read(BufReader::new(std::fs::File::open(path).expect("there"))).expect("a record")
}

/// Result of the group that contrasts file systems: place, and `slower`, `faster`, `negligible`, `equivalent`
/// or `inconclusive`.
fn contrasts(record: &Path) -> Vec<(String, String)> {
    let json = output_of(".", &["bench", "report", record.to_str().expect("UTF-8"), "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let groups = json["groups"].as_array().expect("groups").iter();
    let of_file_systems = groups.filter(|group| group["name"] == "file-system");
    let rows =
        of_file_systems.flat_map(|group| group["reading"]["rows"].as_array().cloned().unwrap_or_default());
    let word = |row: serde_json::Value| {
        let verdict = &row["outcome"]["verdict"];
        let word = verdict["says"].as_str().unwrap_or("not judged");
        let word = if verdict["negligible"] == true { "negligible" } else { word };
        (row["pair"]["at"].as_str().expect("a text").to_owned(), word.to_owned())
    };
    rows.map(word).collect()
}

#[test]
fn studies_run_on_every_file_system_of_this_machine() {
    require!(privileged());
    // Even with `--quick`, studies take minutes on all of them.
    let studies: Vec<Vec<&str>> = match full() {
        true => BUILT_IN
            .iter()
            .map(|entry| vec![entry.name, "--quick", "--fs", file_systems(entry.name)])
            .collect(),
        false => vec![vec!["lookup", "--entries=500", "--rounds=6", "--warm-up=1", "--quick", "--fs", ALL]],
    };
    for arguments in &studies {
        let record = run(arguments);
        let study = arguments[0];
        if study == "limits" {
            // One operation fills one directory.
            assert!(record.samples.iter().any(|sample| sample.counted.entries > 1000));
            continue;
        }
        assert!(is_complete(&record), "{study}");
        let plan = &record.header.plan;
        let labels: Vec<&str> = plan.file_systems.iter().map(|of| of.label.as_str()).collect();
        let wanted = [
            "ext2 (ext4 driver)",
            "ext3 (ext4 driver)",
            "ext4",
            "xfs",
            "btrfs",
            "ntfs-3g (FUSE driver)",
            // File systems in memory come last.
            "tmpfs",
        ];
        assert_eq!(labels, wanted, "{study}: {:?}", plan.unavailable);
        for of in &plan.file_systems {
            let data = |sample: &megadir_record::Sample| plan.arms[sample.arm.0 as usize].data;
            let on = |sample: &&megadir_record::Sample| plan.data[data(sample).0 as usize].on == Some(of.id);
            assert!(record.samples.iter().filter(on).count() > 0, "{study}: nothing on {}", of.label);
            if let Place::Image { direct_io, .. } = of.place {
                assert!(direct_io.is_some(), "{study}: no direct_io for {}", of.label);
            }
        }
        assert!(record.samples.iter().all(|sample| sample.refused.is_none()));
    }
}

#[test]
fn a_small_study_of_files_runs_on_file_systems_with_processes() {
    // Worker processes on file systems are always tested in `file_systems.rs`.
    if !full() {
        return;
    }
    require!(privileged());
    let record = run(&["smallfile", "--quick", "--fs", "ext4,xfs,tmpfs"]);
    assert!(is_complete(&record));
}

#[test]
fn unavailable_file_system_is_named_with_the_reason() {
    require!(privileged());
    let brief = ["lookup", "--quick", "--entries=500", "--rounds=6", "--warm-up=1"];
    let record = run(&[&brief[..], &["--fs", "tmpfs,xfs:ftype=0,ext4"]].concat());
    let plan = &record.header.plan;
    // Kernels with the old XFS format have all of them.
    assert_eq!(plan.file_systems.len() + plan.unavailable.len(), 3);
    assert!(
        plan.unavailable
            .iter()
            .all(|missing| missing.name == "xfs:ftype=0" && missing.reason.contains("XFS version 4"))
    );
}

#[test]
fn without_privileges_one_line_names_the_capabilities() {
    let scratch = tempfile::tempdir().expect("a directory");
    let copy = copy_for_all(scratch.path());
    let refused = unprivileged(|| {
        let mut command = Command::new(&copy);
        command.args(["bench", "run", "lookup", "--quick", "--fs", "ext4"]).current_dir(scratch.path());
        let real = command.stdin(Stdio::null()).output().expect("the program starts");
        [real, command.arg("--dry-run").output().expect("the program starts")]
    });
    for refused in &refused {
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{message}");
        assert!(message.contains("CAP_SYS_ADMIN") && message.contains("CAP_DAC_OVERRIDE"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn images_that_could_fill_up_the_disk_are_refused_in_one_line() {
    require!(privileged());
    let scratch = scratch();
    let below = scratch.path().join("below");
    let below = below.to_str().expect("UTF-8");
    let run = [
        "bench",
        "run",
        "listing",
        "--entries",
        "100000000",
        "--sizes",
        "1MiB",
        "--fs",
        "ext4",
        "--dir",
        below,
    ];
    for more in [&[][..], &["--dry-run"]] {
        let refused = output_of(".", &[&run[..], more].concat());
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{message}");
        let last = message.lines().last().expect("a line");
        assert!(
            last.contains("has not enough space for the image of ext4") && last.contains("--dir"),
            "{message}"
        );
    }
    assert_eq!(std::fs::read_dir(below).expect("there").count(), 0);
}

#[test]
fn a_directory_without_index_is_called_slower() {
    require!(privileged());
    let scratch = scratch();
    let (below, record) = (scratch.path().join("below"), scratch.path().join("record"));
    let paths = ["--dir", below.to_str().expect("UTF-8"), "-o", record.to_str().expect("UTF-8")];
    let study = ["bench", "run", "lookup", "--quick", "--entries", "20000", "--seed", "7"];
    let ran = output_of(".", &[&study[..], &["--fs", "ext4,ext4:^dir_index"], &paths].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let verdicts = contrasts(&record);
    // Both answer lookups of existing names from the cache, and a short run's result for them is noise.
    for at in ["absent, any name of 20 000", "absent, popular names of 20 000"] {
        assert!(verdicts.contains(&(at.to_owned(), "slower".to_owned())), "{at}: {verdicts:?}");
    }
}

#[test]
fn the_same_file_system_under_two_names_is_not_called_different() {
    // `file_systems.rs` always tests that they are compared as two; a test of false positives takes
    // several runs.
    if !full() {
        return;
    }
    require!(privileged());
    // One run in twenty may report a difference by chance.
    let different = (0..3).filter(|seed| {
        let scratch = scratch();
        let (below, record) = (scratch.path().join("below"), scratch.path().join("record"));
        let paths = ["--dir", below.to_str().expect("UTF-8"), "-o", record.to_str().expect("UTF-8")];
        let seed = seed.to_string();
        let study = ["bench", "run", "lookup", "--quick", "--entries", "5000", "--seed", &seed];
        let ran = output_of(".", &[&study[..], &["--fs", "ext4,ext4:block=4k"], &paths].concat());
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        let verdicts = contrasts(&record);
        assert!(!verdicts.is_empty());
        verdicts.iter().any(|(_, verdict)| verdict == "slower" || verdict == "faster")
    });
    assert!(different.count() <= 1, "the same file system is called different");
}

/// Fills a file system by allocating a file without writing to it; the open file prevents unmounting.
struct Filler {
    file: std::fs::File,
    bytes: u64,
}

impl Filler {
    fn on(root: &Path) -> Self {
        let mut filler = Self { file: std::fs::File::create(root.join("filler")).expect("made"), bytes: 0 };
        filler.take();
        filler
    }

    fn take(&mut self) {
        let mut piece = 1 << 30;
        while piece >= 4096 {
            match rustix::fs::fallocate(&self.file, rustix::fs::FallocateFlags::empty(), self.bytes, piece) {
                Ok(()) => self.bytes += piece,
                Err(rustix::io::Errno::NOSPC) => piece /= 2,
                Err(error) => panic!("it cannot be filled: {error}"),
            }
        }
    }

    /// Also takes the space that a run frees, until the run has ended.
    fn until_the_end(&mut self, run: &mut Running) -> (ExitStatus, String) {
        while run.child.try_wait().expect("waitable").is_none() {
            self.take();
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        run.finish()
    }
}

/// For a run that failed and then could not unmount, asserts that the last line begins with the cause of the
/// failure.
#[track_caller]
fn assert_first_error_first(messages: &str) {
    let last = messages.lines().last().expect("a line");
    let (first, second) = last.split_once("; after that: ").unwrap_or_else(|| panic!("{messages}"));
    assert!(first.contains("No space left") || first.contains("blocks"), "{messages}");
    assert!(second.contains("cannot unmount ext4: Device or resource busy"), "{messages}");
}

#[test]
fn full_file_system_leaves_a_valid_partial_record() {
    require!(privileged());
    let mut run = Running::start(&["fill", "--quick", "--fs", "ext4"]);
    run.wait_for("measuring", |run| run.blocks() >= 2);
    // Fill the file system and keep it busy.
    let mut filler = Filler::on(&run.view().expect("mounted"));
    let (status, messages) = filler.until_the_end(&mut run);
    assert_eq!(status.code(), Some(1), "{messages}");
    assert_first_error_first(&messages);
    drop(filler);
    let path = run.record();
    let record = read(&path);
    assert!(!is_complete(&record) && record.samples.len() >= 2);
    let reason = record.end.expect("a last line").reason.expect("a reason");
    assert!(!reason.contains("unmount"), "{reason}");
    let report = output_of(".", &["bench", "report", path.to_str().expect("UTF-8")]);
    assert_eq!(report.status.code(), Some(0), "{}", text(&report.stderr));
    assert_nothing_left(&run.below(), "full");
    assert_eq!(std::fs::read_dir(run.below()).expect("there").count(), 0);
}

#[test]
fn file_system_too_small_for_any_measurement_is_reported_first() {
    require!(privileged());
    let mut run = Running::start(&["listing", "--quick", "--entries", "300000", "--fs", "ext4"]);
    run.wait_for("data made", |run| run.files_made() > 100);
    let mut filler = Filler::on(&run.view().expect("mounted"));
    let (status, messages) = filler.until_the_end(&mut run);
    assert_eq!(status.code(), Some(3), "{messages}");
    assert_first_error_first(&messages);
    drop(filler);
    assert!(!run.record().exists(), "nothing was measured");
    assert_nothing_left(&run.below(), "full");
    assert_eq!(std::fs::read_dir(run.below()).expect("there").count(), 0);
}
