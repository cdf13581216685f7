//! `megadir bench run --disk memory`: recorded, refused beforehand if it does not fit, and removed after every kill.

use std::collections::BTreeSet;
use std::path::PathBuf;

use megadir_testkit::require;

use super::running::{Running, scratch};
use super::support::{assert_gone, descendants, privileged, soon};
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
}

#[test]
fn after_a_kill_the_devices_are_removed() {
    require!(zram());
    let phases: [(&str, &dyn Fn(&Running) -> bool); 4] = [
        ("a device added", &|run| !of_run(run).is_empty()),
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
        assert_gone(&run.below(), phase);
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
fn what_takes_more_memory_than_is_allowed_is_refused_beforehand_in_one_line() {
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
        assert!(message.contains("its disk takes memory") && message.lines().count() == 1, "{message}");
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
