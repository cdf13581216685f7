//! `megadir bench run --disk memory`: recorded, refused beforehand if it does not fit, and removed after every kill.

use std::collections::BTreeSet;
use std::path::PathBuf;

use megadir_testkit::require;

use super::running::{Phase, Running, scratch};
use super::support::{assert_nothing_left, descendants, privileged, soon};
use crate::support::{output_of, text};

const RUN: [&str; 13] = [
    "listing",
    "--quick",
    "--entries",
    "1000",
    "--rounds",
    "11",
    "--buffer",
    "4KiB",
    "--cache",
    "fs-cold",
    "--fs",
    "ext4,xfs",
    "--disk=memory",
];

fn zram() -> Result<(), String> {
    privileged()?;
    let is_there = std::path::Path::new("/sys/class/zram-control").exists();
    is_there.then_some(()).ok_or_else(|| "this kernel has no zram".to_owned())
}

/// Marks of the devices that runs of this program added, each with the process of its keeper.
fn marks() -> BTreeSet<PathBuf> {
    let all = std::fs::read_dir("/run/megadir").into_iter().flatten().flatten();
    all.map(|mark| mark.path()).collect()
}

fn keeper(mark: &PathBuf) -> u32 {
    std::fs::read_to_string(mark).unwrap_or_default().trim().parse().unwrap_or(0)
}

/// Marks of the devices of one run; other tests run at the same time.
fn of_run(run: &Running) -> BTreeSet<PathBuf> {
    let own: BTreeSet<u32> = descendants(run.id()).into_iter().map(|(process, _)| process).collect();
    marks().into_iter().filter(|mark| own.contains(&keeper(mark))).collect()
}

fn device_of(mark: &std::path::Path) -> Option<String> {
    let sequence = mark.to_str()?.rsplit('-').next()?.to_owned();
    let disks = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let found = disks
        .map(|disk| disk.path())
        .find(|disk| std::fs::read_to_string(disk.join("diskseq")).is_ok_and(|own| own.trim() == sequence));
    Some(found?.file_name()?.to_str()?.to_owned())
}

#[test]
fn a_study_on_disks_in_memory_records_them_and_leaves_none() {
    require!(zram());
    let mut run = Running::start(&RUN);
    run.wait_for("measuring", |run| run.blocks() > 3);
    let marks = of_run(&run);
    assert_eq!(marks.len(), 2);
    let (status, errors) = run.finish();
    assert!(status.success(), "{errors}");
    assert!(marks.iter().all(|mark| !mark.exists() && device_of(mark).is_none()));
    let file = std::fs::File::open(run.record()).expect("there");
    let record = megadir_record::jsonl::read(std::io::BufReader::new(file)).expect("a record");
    let used = record.end.expect("it ended").disks;
    assert_eq!(used.len(), 2);
    for of in &record.header.plan.file_systems {
        let disk = of.disk.as_ref().expect("recorded");
        let used = used[of.id.0 as usize].memory_bytes_max.expect("known");
        assert!(disk.compression.is_some() && Some(used) < disk.memory_bytes && used > 0, "{disk:?}, {used}");
    }
    let report = output_of(".", &["bench", "report", run.record().to_str().expect("UTF-8")]);
    assert!(text(&report.stdout).contains("Measured on disks in memory"), "{}", text(&report.stdout));
    assert!(!text(&report.stdout).contains("may cache it"), "{}", text(&report.stdout));
}

#[test]
fn after_a_kill_the_devices_are_removed() {
    require!(zram());
    let makes = |run: &Running| descendants(run.id()).iter().any(|(_, name)| name.starts_with("mk"));
    let phases: [Phase<'_>; 5] = [
        ("a device added", &|run| !of_run(run).is_empty()),
        ("mkfs runs", &makes),
        ("data made", &|run| run.files_made() > 100),
        ("measuring", &|run| run.blocks() > 3),
        ("unmounting at the end", &Running::has_ended),
    ];
    for (phase, reached) in phases {
        let mut run = Running::start(&RUN);
        run.wait_for(phase, reached);
        let marks = of_run(&run);
        run.child.kill().expect("it runs");
        run.finish();
        soon(&format!("{phase}: a device is left: {marks:?}"), || {
            marks.iter().all(|mark| !mark.exists() && device_of(mark).is_none())
        });
        assert_nothing_left(&run.below(), phase);
    }
}

#[test]
fn devices_whose_keepers_were_killed_are_removed_by_the_next_run_and_no_device_in_use_is() {
    require!(zram());
    let mut run = Running::start(&RUN);
    run.wait_for("measuring", |run| run.blocks() > 3);
    let marks = of_run(&run);
    assert_eq!(marks.len(), 2);
    for mark in &marks {
        let process = rustix::process::Pid::from_raw(keeper(mark).cast_signed()).expect("a keeper");
        rustix::process::kill_process(process, rustix::process::Signal::KILL).expect("it runs");
    }
    let below = run.below();
    let below = below.to_str().expect("UTF-8");
    // The run still has them open.
    let clean = output_of(".", &["bench", "clean", below]);
    assert!(marks.iter().all(|mark| device_of(mark).is_some()), "{}", text(&clean.stderr));
    run.child.kill().expect("it runs");
    run.finish();
    let devices: Vec<String> = marks.iter().filter_map(|mark| device_of(mark)).collect();
    assert_eq!(devices.len(), 2, "with their keepers gone nothing removes them");
    let would = output_of(".", &["bench", "clean", "--dry-run", below]);
    assert!(devices.iter().all(|device| text(&would.stdout).contains(device)), "{}", text(&would.stdout));
    let next = output_of(".", &["bench", "filesystems", "tmpfs", "--dir", below]);
    assert_eq!(next.status.code(), Some(0), "{}", text(&next.stderr));
    assert!(marks.iter().all(|mark| !mark.exists() && device_of(mark).is_none()), "{}", text(&next.stderr));
}

#[test]
fn plans_that_take_more_memory_than_is_allowed_are_refused_beforehand_in_one_line() {
    require!(zram());
    let scratch = scratch();
    let below = scratch.path().join("below");
    let below = below.to_str().expect("UTF-8");
    let large = [
        "bench",
        "run",
        "listing",
        "--entries",
        "100000000",
        "--fs",
        "ext4",
        "--disk",
        "memory",
        "--dir",
        below,
    ];
    for more in [&[][..], &["--dry-run"]] {
        let refused = output_of(".", &[&large[..], more].concat());
        let message = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{message}");
        assert!(
            message.contains("the disks of all would take about") && message.lines().count() == 1,
            "{message}"
        );
    }
    for (disk, message) in [
        ("memroy", "did you mean 'memory'"),
        ("memory:limit=1k", "expected 64M to 64T"),
        ("image:size=1G", "it has no parameters"),
    ] {
        let refused =
            output_of(".", &["bench", "run", "listing", "--fs", "ext4", "--disk", disk, "--dir", below]);
        assert_eq!(refused.status.code(), Some(2), "{disk}");
        assert!(text(&refused.stderr).contains(message), "{disk}: {}", text(&refused.stderr));
    }
    assert_eq!(std::fs::read_dir(below).expect("there").count(), 0);
}

/// Writes many files in each round.
const WRITES: [&str; 9] =
    ["smallfile", "--quick", "--entries", "2000", "--rounds", "11", "--fs", "ext4,xfs", "--disk=memory"];

#[test]
fn a_run_whose_disk_refuses_writes_fails_and_is_not_complete() {
    require!(zram());
    let mut run = Running::start(&WRITES);
    run.wait_for("measuring", |run| run.blocks() > 8);
    for mark in &of_run(&run) {
        let device = device_of(mark).expect("there");
        std::fs::write(format!("/sys/block/{device}/mem_limit"), "1M").expect("set");
    }
    let (status, errors) = run.finish();
    assert_eq!(status.code(), Some(1), "{errors}");
    let last = errors.lines().last().expect("a line");
    assert!(last.contains("refused writes beyond") && last.contains("limit=SIZE"), "{errors}");
    let file = std::fs::File::open(run.record()).expect("there");
    let record = megadir_record::jsonl::read(std::io::BufReader::new(file)).expect("a record");
    let end = record.end.expect("it ended");
    assert!(!end.complete && end.reason.expect("stated").contains("refused writes beyond"));
    assert_nothing_left(&run.below(), "after a full disk");
    let report = output_of(".", &["bench", "report", run.record().to_str().expect("UTF-8")]);
    let screen = text(&report.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        screen.contains("because the run failed: ") && screen.contains("refused writes beyond"),
        "{screen}"
    );
}

#[test]
fn two_runs_at_once_have_disks_of_their_own_and_one_that_was_killed_is_resumed() {
    require!(zram());
    let mut first = Running::start(&RUN);
    let mut second = Running::start(&RUN);
    first.wait_for("measuring", |run| run.blocks() > 3);
    let marks = of_run(&first);
    first.child.kill().expect("it runs");
    first.finish();
    soon("a device is left", || marks.iter().all(|mark| device_of(mark).is_none()));
    let (status, errors) = second.finish();
    assert!(status.success(), "{errors}");
    let below = first.below();
    let record = first.record();
    let path = record.to_str().expect("UTF-8");
    let resumed =
        output_of(".", &["bench", "run", "--resume", path, "--dir", below.to_str().expect("UTF-8")]);
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed.stderr));
    assert_nothing_left(&below, "after resuming");
    let file = std::fs::File::open(&record).expect("there");
    let record = megadir_record::jsonl::read(std::io::BufReader::new(file)).expect("a record");
    assert!(record.end.expect("it ended").complete);
}

/// Runs the program where a directory of /sys is hidden.
fn without(hidden: &str, arguments: &str) -> std::process::Output {
    let program = crate::support::program();
    let line = format!("mount -t tmpfs none {hidden} && exec {} {arguments}", program.display());
    std::process::Command::new("unshare").args(["-m", "sh", "-c", &line]).output().expect("unshare starts")
}

#[test]
fn without_zram_all_disks_are_files_and_the_plan_and_the_record_give_the_reason() {
    require!(zram());
    let scratch = scratch();
    let (below, record) = (scratch.path().join("below"), scratch.path().join("record"));
    let run = format!(
        "bench run listing --quick --entries 500 --rounds 6 --warm-up=1 --disk memory --dir {} -o {}",
        below.display(),
        record.display()
    );
    for (hidden, reason) in [
        ("/sys/class", "this kernel has no zram"),
        ("/sys/class/zram-control", "'/sys/class/zram-control' cannot be written here"),
    ] {
        let planned = without(hidden, &format!("{run} --fs ext4 --dry-run"));
        assert!(text(&planned.stdout).contains(reason), "{}{}", text(&planned.stdout), text(&planned.stderr));
    }
    // ext4 would be on zram alone, but then the two disks would differ.
    let arguments: Vec<&str> = run.split(' ').chain(["--fs", "ext4,ext4:block=1k"]).collect();
    let output = output_of(".", &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let file = std::fs::File::open(&record).expect("there");
    let read = megadir_record::jsonl::read(std::io::BufReader::new(file)).expect("a record");
    for of in &read.header.plan.file_systems {
        let disk = of.disk.as_ref().expect("recorded");
        let reason = disk.no_zram.as_deref().expect("a reason");
        assert!(disk.compression.is_none() && reason.contains("ext4:block=1k needs sectors"), "{disk:?}");
    }
    assert_nothing_left(&below, "after files in memory");
}
