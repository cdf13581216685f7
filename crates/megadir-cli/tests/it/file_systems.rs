//! `megadir bench run --fs`: studies on file systems created for the run; none is left, however the run ends.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use megadir_record::jsonl::read;
use megadir_record::{CacheState, FsId, GroupRule, Header, Phase, Place, Record, Role};
use megadir_testkit::PATIENCE;
use megadir_testkit::mount::{EXT4, Mount, TMPFS};
use megadir_testkit::output::assert_output;
use megadir_testkit::require::have;
use megadir_testkit::{require, unprivileged};

use crate::support::{caches_are_kept, megadir, program};

/// A study with a baseline, the baseline again, and one arm.
const SMALL: [&str; 8] = ["listing", "--quick", "--buffer", "4KiB", "--entries", "300", "-o", "record"];

fn bench_run(directory: &Path, arguments: &[&str]) -> Command {
    megadir(directory, &[&["bench", "run"], arguments].concat())
}

fn output(directory: &Path, arguments: &[&str]) -> Output {
    bench_run(directory, arguments).output().expect("the program starts")
}

fn record(directory: &Path) -> Record {
    read(BufReader::new(std::fs::File::open(directory.join("record")).expect("there"))).expect("a record")
}

/// Returns why no file system can be created here, if so.
fn may_mount() -> Result<(), String> {
    Mount::make(&EXT4).map(drop)
}

/// Asserts that a run left only these entries below a directory, no mount and no loop device.
#[track_caller]
fn nothing_is_left(directory: &Path, but: &[&str]) {
    let names: Vec<String> = std::fs::read_dir(directory)
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .filter(|name| !but.contains(&name.as_str()))
        .collect();
    assert_eq!(names, [""; 0]);
    nothing_is_held(directory);
}

/// Asserts that nothing below a directory is mounted here or attached to a loop device.
#[track_caller]
fn nothing_is_held(directory: &Path) {
    let path = directory.canonicalize().expect("there").to_string_lossy().into_owned();
    // Resources of a killed process are released a moment later.
    let held = || {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("readable");
        let loops = std::fs::read_dir("/sys/block")
            .expect("readable")
            .filter_map(|device| std::fs::read_to_string(device.ok()?.path().join("loop/backing_file")).ok());
        let lines: Vec<String> = mounts.lines().map(str::to_owned).chain(loops).collect();
        lines.into_iter().find(|line| line.contains(&path))
    };
    let deadline = Instant::now() + PATIENCE;
    while let Some(line) = held() {
        assert!(Instant::now() < deadline, "{line}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Counts the complete lines of a record: the last may be half written, and a run cannot resume from it.
fn lines(directory: &Path) -> usize {
    std::fs::read(directory.join("record"))
        .map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count())
}

/// Waits until the record has `count` lines.
fn reaches(child: &mut Child, directory: &Path, count: usize) {
    let deadline = Instant::now() + PATIENCE;
    while lines(directory) < count {
        assert!(child.try_wait().expect("waitable").is_none(), "the run ended before {count} lines");
        assert!(Instant::now() < deadline, "the run does not come on");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn arms_of_all_file_systems_stand_in_the_same_rounds_and_cold_ones_read() {
    require!(may_mount());
    let _caches = caches_are_kept();
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let more =
        ["--fs", "ext4,xfs,btrfs,tmpfs,reiserfs", "--cache", "warm,fs-cold", "--rounds", "11", "--seed", "7"];
    let output = output(at, &[&SMALL[..], &["-v"], &more].concat());
    assert_output(&output, 0, "How fast is each file system at each kind of work?");
    assert_output(&output, 0, "reiserfs is unavailable: this kernel has no driver for it");
    // Also in the report, with the recipe of each file system.
    assert_output(&output, 0, "Unavailable: reiserfs: this kernel has no driver for it");
    assert_output(&output, 0, "File system xfs: made by 'mkfs.xfs ");
    assert_output(&output, 0, "File system tmpfs: mounted noatime");
    let Record { header, samples, notes, end, .. } = record(at);
    let plan = &header.plan;
    let labels: Vec<&str> = plan.file_systems.iter().map(|of| of.label.as_str()).collect();
    assert_eq!(labels, ["ext4", "xfs", "btrfs", "tmpfs"]);
    assert_eq!(plan.unavailable.len(), 1, "{:?}", plan.unavailable);
    let kinds: Vec<(FsId, &str)> =
        header.file_systems.iter().map(|mount| (mount.on, mount.file_system.kind.as_str())).collect();
    assert_eq!(kinds, [(FsId(0), "ext4"), (FsId(1), "xfs"), (FsId(2), "btrfs"), (FsId(3), "tmpfs")]);
    for of in &plan.file_systems[..3] {
        assert!(
            matches!(of.place, Place::Image { bytes, direct_io: Some(_) } if bytes >= 300 << 20),
            "{of:?}"
        );
        assert!(of.mount_options.contains("noatime") && of.tool.is_some() && !of.make.is_empty(), "{of:?}");
    }
    assert!(end.is_some_and(|end| end.complete));
    // Three warm arms on four file systems, and three cold arms on each that can be unmounted.
    assert_eq!(plan.arms.len(), 3 * 4 + 3 * 3);
    let on = |planned: u32| plan.data[plan.arms[planned as usize].data.0 as usize].on;
    for round in 0..11 {
        let of_round: Vec<_> = samples
            .iter()
            .filter(|sample| {
                (sample.phase, sample.round) == (Phase::Measure, round) && sample.voided.is_none()
            })
            .collect();
        assert_eq!(of_round.len(), plan.arms.len(), "round {round}");
        // The file systems alternate.
        let changes = of_round.windows(2).filter(|two| on(two[0].arm.0) != on(two[1].arm.0)).count();
        assert!(changes > 6, "round {round}: {changes}");
    }
    for (id, planned) in plan.arms.iter().enumerate() {
        let of_arm: Vec<_> = samples.iter().filter(|sample| sample.arm.0 as usize == id).collect();
        assert!(of_arm.iter().all(|sample| sample.counted.entries == 300), "{}", planned.name);
        let read: Vec<u64> = of_arm.iter().map(|sample| sample.read_bytes.expect("counted")).collect();
        match planned.cache {
            CacheState::FsCold => assert!(read.iter().all(|&bytes| bytes > 0), "{}: {read:?}", planned.name),
            // Any process may drop the machine's caches meanwhile, so a few warm samples may have read.
            _ => {
                let without = read.iter().filter(|&&bytes| bytes == 0).count();
                assert!(without * 2 > read.len(), "{}: {read:?}", planned.name);
            }
        }
    }
    let kinds: BTreeSet<&str> = notes.iter().map(|note| note.kind.as_str()).collect();
    assert!(!kinds.contains("cold-without-reads") && !kinds.contains("unequal-work"), "{notes:?}");
    let left_out: Vec<&str> =
        notes.iter().filter(|note| note.kind == "arm-left-out").map(|note| note.text.as_str()).collect();
    assert!(left_out.iter().all(|text| text.starts_with("tmpfs: ")), "{left_out:?}");
    nothing_is_left(at, &["record", "record.html"]);
}

#[test]
fn worker_processes_do_not_block_remounts() {
    require!(may_mount());
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let more =
        ["smallfile", "--quick", "--entries", "40", "--workers", "2", "--rounds", "11", "-o", "record"];
    let output = output(at, &[&more[..], &["--fs", "xfs", "--cache", "warm,fs-cold"]].concat());
    assert_output(&output, 0, "the record is 'record'");
    let Record { header, samples, .. } = record(at);
    let cold = |planned: u32| header.plan.arms[planned as usize].cache == CacheState::FsCold;
    let cold: Vec<_> = samples.iter().filter(|sample| cold(sample.arm.0)).collect();
    assert!(!cold.is_empty());
    for sample in cold {
        assert!(sample.read_bytes > Some(0), "{sample:?}");
    }
    nothing_is_left(at, &["record", "record.html"]);
}

#[test]
fn lives_of_small_files_begin_on_a_remounted_or_new_file_system() {
    require!(may_mount());
    require!(have("strace"));
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let mut command = Command::new("strace");
    command.args([
        "-f",
        "-qq",
        "-o",
        "trace",
        "-e",
        "trace=umount2,execve",
        program().to_str().expect("UTF-8"),
    ]);
    command.args([
        "bench",
        "run",
        "smallfile",
        "--quick",
        "--entries",
        "20",
        "--rounds",
        "2",
        "--cache",
        "warm",
    ]);
    let output = command
        .args(["--fs", "ext2,tmpfs", "-v", "-o", "record"])
        .current_dir(at)
        .stdin(Stdio::null())
        .output();
    let output = output.expect("strace starts");
    assert_output(&output, 0, "Each epoch began on a file system that was remounted");
    // Line breaks depend on the width.
    let printed = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("except in memory; ext2 (ext4 driver) was reformatted "), "{printed}");
    let Record { header: Header { plan, .. }, .. } = record(at);
    assert!(plan.rules.fresh_mounts);
    let reformatted: Vec<bool> = plan.file_systems.iter().map(|of| of.reformatted).collect();
    assert_eq!(reformatted, [true, false]);
    let on_ext2 = plan.arms.iter().filter(|planned| plan.data[planned.data.0 as usize].on == Some(FsId(0)));
    let chains: BTreeSet<u32> = on_ext2.map(|planned| planned.chain).collect();
    let trace = std::fs::read_to_string(at.join("trace")).expect("there");
    let unmounted = trace.lines().filter(|line| line.contains("umount2(") && line.ends_with("= 0")).count();
    // In each of two rounds, once to reformat and once more to be as cold as the other arms.
    assert!(unmounted >= 4 * chains.len(), "{unmounted} of {} chains", chains.len());
    let made = trace
        .lines()
        .filter(|line| line.contains("/mke2fs\"") && line.contains("execve(") && line.ends_with("= 0"));
    assert!(made.count() > 2 * chains.len(), "{} chains", chains.len());
    nothing_is_left(at, &["record", "record.html", "trace"]);
}

#[test]
fn impossible_requests_are_refused_in_one_line_before_writing() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let with = |more: &[&str]| output(at, &[&SMALL[..], more].concat());
    assert_output(&with(&["--fs", "etx4"]), 2, "unknown file system 'etx4': did you mean 'ext4'?");
    assert_output(
        &with(&["--cache", "fs-cold"]),
        3,
        "only file systems created for the run are unmounted; name some with --fs",
    );
    assert_output(&with(&["--erase-device"]), 2, "--erase-device: no --device is given");
    let device = ["--fs", "ext4", "--device", "/dev/null"];
    assert_output(&with(&device), 2, "all its data would be lost; allow that with --erase-device");
    assert_output(
        &with(&["--fs", "ext4,xfs", "--device", "/dev/null", "--erase-device"]),
        2,
        "--device is given once and --fs names 2",
    );
    assert_output(&with(&["--device", "/dev/null"]), 2, "--fs");
    require!(may_mount());
    assert_output(&with(&["--fs", "ext4,xfs,ext4"]), 2, "'ext4' twice: name each file system once");
    assert_output(
        &with(&["--fs", "reiserfs"]),
        3,
        "no file system is available: reiserfs: this kernel has no driver",
    );
    let memory = with(&["--fs", "tmpfs", "--cache", "fs-cold"]);
    assert_output(&memory, 3, "unmounting it would lose its content");
    assert_output(
        &with(&["--fs", "ext4", "--device", "/dev/null", "--erase-device"]),
        3,
        "it is not a block device",
    );
    nothing_is_left(at, &[]);
}

#[test]
fn an_image_in_memory_is_never_called_cold() {
    require!(may_mount());
    let memory = Mount::make(&TMPFS).expect("may be mounted");
    let more = ["--fs", "ext4", "--cache", "fs-cold"];
    let at = memory.path().join("at");
    std::fs::create_dir(&at).expect("made");
    let output = output(&at, &[&SMALL[..], &more].concat());
    assert_output(&output, 3, "its image would be on tmpfs, in memory, where nothing is cold");
    nothing_is_left(&at, &[]);
}

#[test]
fn missing_mount_privilege_is_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    let open = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777);
    std::fs::set_permissions(directory.path(), open).expect("set");
    let output =
        unprivileged::unprivileged(|| output(directory.path(), &[&SMALL[..], &["--fs", "ext4"]].concat()));
    assert_output(&output, 3, "CAP_SYS_ADMIN");
    nothing_is_left(directory.path(), &[]);
}

#[test]
fn killed_run_leaves_no_mounts_and_resumes_with_new_images() {
    require!(may_mount());
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let more = [
        "smallfile",
        "--quick",
        "--entries",
        "60",
        "--rounds",
        "3",
        "--seed",
        "5",
        "--cache",
        "warm",
        "-o",
        "record",
    ];
    let more = [&more[..], &["--fs", "ext4,tmpfs"]].concat();
    let start = |arguments: &[&str]| {
        let mut command = bench_run(at, arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
    };
    let mut child = start(&more);
    for count in [1, 12, 30] {
        reaches(&mut child, at, count);
        child.kill().expect("killed");
        child.wait().expect("waited for");
        nothing_is_held(at);
        child = start(&["--resume", "record"]);
    }
    assert_eq!(child.wait().expect("waited for").code(), Some(0));
    let Record { header, samples, end, resumed, .. } = record(at);
    assert!(end.is_some_and(|end| end.complete) && resumed.len() == 3);
    let counted = samples.iter().filter(|sample| sample.voided.is_none() && sample.phase == Phase::Measure);
    assert_eq!(counted.count(), 3 * header.plan.arms.len());
    nothing_is_left(at, &["record", "record.html"]);
}

#[test]
fn a_run_that_is_interrupted_ends_its_record_and_takes_everything_away() {
    require!(may_mount());
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let more = ["--fs", "ext4,btrfs,tmpfs", "--rounds", "100000", "--share", "--cache", "fs-cold,warm"];
    let mut child = bench_run(at, &[&SMALL[..], &more].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    reaches(&mut child, at, 40);
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).expect("told");
    assert_eq!(child.wait().expect("waited for").code(), Some(130));
    let Record { header, end, cut, .. } = record(at);
    assert!(end.is_some_and(|end| !end.complete && end.reason.as_deref() == Some("interrupted")));
    assert!(cut.is_none());
    nothing_is_left(at, &["record", "record.html"]);
    // This record is meant to be shared.
    let text = std::fs::read_to_string(at.join("record")).expect("readable");
    for private in [at.to_str().expect("UTF-8"), "/dev/loop"] {
        assert!(!text.contains(private), "{private}");
    }
    assert_eq!((header.directory, header.file_systems.len()), (None, 3));
}

/// Root of a run's first file system, through the thread that sees it.
fn root_of_first(child: &Child, directory: &Path) -> std::path::PathBuf {
    let directory = directory.canonicalize().expect("there");
    let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("readable");
    let seen = |task: std::path::PathBuf| {
        let mounts = std::fs::read_to_string(task.join("mountinfo")).ok()?;
        let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
        let point = Path::new(points.into_iter().find(|point| Path::new(point).starts_with(&directory))?);
        Some(task.join("root").join(point.strip_prefix("/").ok()?))
    };
    tasks.filter_map(|task| seen(task.ok()?.path())).next().expect("a thread that sees the mounts")
}

#[test]
fn a_file_system_that_fills_up_ends_the_run_with_a_record_that_counts() {
    require!(may_mount());
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let more =
        ["fill", "--quick", "--entries", "3000", "--sizes", "4KiB", "--rounds", "100", "--fs", "ext4,tmpfs"];
    let child = bench_run(at, &[&more[..], &["-o", "record"]].concat())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let mut child = child.expect("the program starts");
    reaches(&mut child, at, 30);
    let filler = root_of_first(&child, at).join("filler");
    std::fs::write(&filler, "").expect("made");
    // Fill the file system, including the space that the run frees between two rounds, so that less is left
    // than a round needs. An open file would prevent unmounting.
    while child.try_wait().expect("waitable").is_none() {
        // An unmounted file system cannot be filled.
        let Ok(file) = std::fs::File::options().append(true).open(&filler) else { break };
        let mut bytes = 1 << 30;
        while bytes > 64 << 10 {
            let flags = rustix::fs::FallocateFlags::empty();
            let from = file.metadata().expect("there").len();
            if rustix::fs::fallocate(&file, flags, from, bytes).is_err() {
                bytes /= 2;
            }
        }
        drop(file);
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("waited for");
    // With delayed allocation, writeback gets the error.
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("blocks") || stderr.contains("No space left on device"), "{stderr}");
    let Record { samples, end, cut, .. } = record(at);
    assert!(
        end.is_some_and(|end| !end.complete && end.reason.is_some()) && cut.is_none() && samples.len() > 5
    );
    nothing_is_left(at, &["record", "record.html"]);
}

#[test]
fn the_same_thing_under_two_names_is_compared_as_two() {
    require!(may_mount());
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    assert_output(
        &output(at, &[&SMALL[..], &["--fs", "ext4,ext4:block=4k", "--rounds", "3"]].concat()),
        0,
        "ext4:block=4k",
    );
    let Record { header, .. } = record(at);
    let of_group = |name: &str| header.plan.groups.iter().find(|group| group.name == name);
    assert!(of_group("chosen-ext4").is_some() && of_group("chosen-ext4:block=4k").is_some());
    let GroupRule::Pairs { pairs } = &of_group("file-system").expect("the group").rule else { panic!() };
    let arms = header.plan.arms.iter().filter(|planned| planned.role != Role::Control).count();
    assert_eq!(pairs.len(), arms / 2);
    nothing_is_left(at, &["record", "record.html"]);
}
