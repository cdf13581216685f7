//! After a kill in any phase, nothing stays mounted, attached, open or running, and the next start removes
//! leftover files.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;
use megadir_testkit::require;
use megadir_testkit::require::full;
use rustix::process::Signal;

use super::running::Running;
use super::support::{assert_nothing_left, descendants, loops_below, privileged, soon};
use crate::support::{megadir, output_of, text};

/// Creates file systems with all methods of creation and mounting, in a loop.
fn start(directory: &str) -> Child {
    let mut arguments = vec!["bench", "filesystems", "--dir", directory];
    for _ in 0..50 {
        arguments.extend(["ext4", "xfs", "btrfs", "ntfs-3g", "tmpfs"]);
    }
    megadir(".", &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// `true` if any thread of a process is in its own mount namespace.
fn has_namespace(process: u32) -> bool {
    let own = std::fs::read_link("/proc/self/ns/mnt").expect("there");
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let namespaces = threads.filter_map(|thread| std::fs::read_link(thread.path().join("ns/mnt")).ok());
    namespaces.into_iter().any(|namespace| namespace != own)
}

fn sees_mount(process: u32, directory: &str) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let tables = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("mountinfo")).ok());
    tables.into_iter().any(|table| table.contains(directory))
}

fn has_image(process: u32, directory: &str) -> bool {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let files = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    let nameless =
        |file: &PathBuf| file.starts_with(directory) && file.to_string_lossy().ends_with("(deleted)");
    files.into_iter().any(|file| nameless(&file))
}

fn runs(process: u32, name: &str) -> bool {
    descendants(process).iter().any(|(_, child)| child == name)
}

/// Waits for a phase of a run.
fn wait_for(phase: &str, child: &mut Child, reached: impl Fn(u32) -> bool) {
    let started = Instant::now();
    while !reached(child.id()) {
        assert!(child.try_wait().expect("waitable").is_none(), "{phase}: the run ended before");
        assert!(started.elapsed() < PATIENCE, "{phase}: the run does not come to it");
    }
}

/// Kills a run and returns its descendant processes.
fn kill(mut child: Child) -> Vec<(u32, String)> {
    let started = descendants(child.id());
    child.kill().expect("it runs");
    child.wait().expect("it ended");
    started
}

fn assert_ended(phase: &str, processes: &[(u32, String)]) {
    for (process, name) in processes {
        let runs =
            || std::fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|comm| comm.trim() == name);
        soon(&format!("{phase}: {name} outlives the run"), || !runs());
    }
}

/// Asserts that leftovers are marked, and that the next start removes them.
fn assert_cleaned(directory: &Path, phase: &str) {
    let path = directory.to_str().expect("UTF-8");
    // Alternate between two subcommands that must do it.
    let next = match phase.len() % 2 {
        0 => output_of(".", &["bench", "filesystems", "tmpfs", "--dir", path]),
        _ => output_of(".", &["bench", "clean", path]),
    };
    assert_eq!(next.status.code(), Some(0), "{phase}: {}", text(&next.stderr));
    let left: Vec<_> = std::fs::read_dir(directory).expect("there").flatten().collect();
    assert!(left.is_empty(), "{phase}: {left:?}, {}", text(&next.stderr));
}

#[test]
fn after_a_kill_in_every_phase_nothing_is_left() {
    require!(privileged());
    let scratch = tempfile::tempdir().expect("a directory");
    let scratch_path = scratch.path().canonicalize().expect("there");
    let path = scratch_path.to_str().expect("UTF-8");
    let unmounted = std::cell::Cell::new(false);
    let phases: [(&str, &dyn Fn(u32) -> bool); 9] = [
        ("namespace entered", &|process| has_namespace(process)),
        ("image made", &|process| has_image(process, path)),
        ("loop attached", &|_| !loops_below(&scratch_path).is_empty()),
        ("mke2fs runs", &|process| runs(process, "mke2fs")),
        ("mkfs.btrfs runs", &|process| runs(process, "mkfs.btrfs")),
        ("mkntfs runs", &|process| runs(process, "mkntfs")),
        ("ntfs-3g serves", &|process| runs(process, "ntfs-3g") && sees_mount(process, path)),
        ("mounted", &|process| sees_mount(process, path)),
        ("unmounted", &|process| {
            let sees = sees_mount(process, path);
            let was = unmounted.replace(unmounted.get() || sees);
            was && !sees
        }),
    ];
    for (phase, reached) in phases {
        let mut child = start(path);
        wait_for(phase, &mut child, reached);
        let started = kill(child);
        assert_ended(phase, &started);
        assert_nothing_left(&scratch_path, phase);
        assert_cleaned(&scratch_path, phase);
    }
}

#[test]
fn after_a_kill_at_any_moment_nothing_is_left() {
    require!(privileged());
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().to_str().expect("UTF-8");
    let mut random = megadir_testkit::rng::Rng::new(u64::from(std::process::id()));
    let (mut left, mut kill_number) = (0, 0);
    let kills_min = if full() { 200 } else { 12 };
    // Not every kill leaves something: continue until some have, or the test proves nothing.
    while kill_number < kills_min || (left < 4 && kill_number < 20 * kills_min) {
        kill_number += 1;
        let mut child = start(path);
        wait_for("anything made", &mut child, |_| {
            std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some())
        });
        std::thread::sleep(Duration::from_micros(random.next_u64() % 400_000));
        let started = kill(child);
        let when = format!("kill {kill_number}");
        assert_ended(&when, &started);
        assert_nothing_left(scratch.path(), &when);
        left += std::fs::read_dir(path).expect("there").count();
        assert_cleaned(scratch.path(), &when);
    }
    assert!(left > 3, "only {left} of {kill_number} kills left anything: the test tests nothing");
}

#[test]
fn terminated_lab_leaves_nothing() {
    require!(privileged());
    let scratch = tempfile::tempdir().expect("a directory");
    let path = scratch.path().canonicalize().expect("there");
    let path = path.to_str().expect("UTF-8");
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM")] {
        for program in ["mke2fs", "mkfs.xfs", "ntfs-3g"] {
            let mut child = start(path);
            wait_for(program, &mut child, |process| runs(process, program));
            let process = rustix::process::Pid::from_child(&child);
            let started = descendants(child.id());
            rustix::process::kill_process(process, signal).expect("it runs");
            let status = child.wait().expect("it ended");
            assert_eq!(status.code(), Some(130), "{name} while {program} runs");
            assert_ended(name, &started);
            assert_nothing_left(scratch.path(), name);
            assert_eq!(std::fs::read_dir(path).expect("there").count(), 0, "{name} while {program} runs");
        }
    }
}

/// Condition for a run to have reached a phase.
type Reached<'a> = &'a dyn Fn(&Running) -> bool;

/// A study that creates data, drops caches by remounting, and measures in processes.
const RUNS: [&[&str]; 2] = [
    &[
        "listing",
        "--quick",
        "--buffer",
        "4KiB",
        "--rounds",
        "11",
        "--entries",
        "3000",
        "--cache",
        "fs-cold",
        "--fs",
        "ext4,xfs,ntfs-3g",
    ],
    &[
        "smallfile",
        "--quick",
        "--entries",
        "2000",
        "--cache",
        "warm",
        "--workers",
        "2",
        "--worker-kind",
        "process",
        "--fs",
        "ext4,btrfs,tmpfs",
    ],
];

#[test]
fn after_a_kill_in_every_phase_of_a_run_nothing_is_left() {
    require!(privileged());
    let is_worker = |process: u32| {
        std::fs::read(format!("/proc/{process}/cmdline"))
            .is_ok_and(|words| words.ends_with(b"bench\0worker\0"))
    };
    let works = |run: &Running| descendants(run.id()).iter().any(|(process, _)| is_worker(*process));
    let phases: [(&str, &[&str], Reached<'_>); 6] = [
        ("data made", RUNS[0], &|run| run.files_made() > 100),
        ("measuring", RUNS[0], &|run| run.blocks() > 3),
        ("mounted again", RUNS[0], &|run| run.blocks() > 0 && run.mounted() == 2),
        ("unmounting at the end", RUNS[0], &Running::has_ended),
        ("workers work", RUNS[1], &works),
        ("workers work on what others left", RUNS[1], &|run| run.blocks() > 3 && works(run)),
    ];
    for (phase, arguments, reached) in phases {
        let mut run = Running::start(arguments);
        run.wait_for(phase, reached);
        let started = descendants(run.id());
        run.child.kill().expect("it runs");
        run.finish();
        assert_ended(phase, &started);
        assert_nothing_left(&run.below(), phase);
        assert_cleaned(&run.below(), phase);
    }
}

#[test]
fn terminated_run_leaves_only_its_record() {
    require!(privileged());
    // Programs started by `nohup` ignore SIGHUP, and so does what they start.
    let hung_up = (!megadir_bench::is_signal_ignored(Signal::HUP.as_raw())).then_some((Signal::HUP, RUNS[0]));
    for (signal, arguments) in [(Signal::INT, RUNS[0]), (Signal::TERM, RUNS[1])].into_iter().chain(hung_up) {
        let mut run = Running::start(arguments);
        run.wait_for("measuring", |run| run.blocks() > 3);
        rustix::process::kill_process(rustix::process::Pid::from_child(&run.child), signal).expect("it runs");
        let (status, messages) = run.finish();
        assert_eq!(status.code(), Some(130), "{messages}");
        assert!(run.record().exists() && messages.contains("--resume"), "{messages}");
        assert_nothing_left(&run.below(), "terminated");
        assert_eq!(std::fs::read_dir(run.below()).expect("there").count(), 0);
    }
}
