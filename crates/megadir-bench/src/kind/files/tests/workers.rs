//! Several workers: threads and processes give equal results, begin together, and none is left behind.

use std::process::{Command, Stdio};

use megadir_testkit::PATIENCE;

use super::*;

/// Prefix of the argument that selects this program's role: a worker, one that never answers, one that dies at
/// work, or the run that is killed. The test harness reads it as the name of a test that does not exist.
const ROLE: &str = "role=";
const THIS: &str = "kind::files::tests::workers::";

fn role() -> Option<String> {
    std::env::args().find_map(|word| word.strip_prefix(ROLE).map(str::to_owned))
}

fn again(role: &str, test: &str) -> WorkerCommand {
    let words = ["--exact".into(), format!("{THIS}{test}"), format!("{ROLE}{role}"), "--nocapture".into()];
    let arguments = words.into_iter().map(Into::into).collect();
    WorkerCommand { program: std::env::current_exe().unwrap(), arguments }
}

pub(crate) fn command() -> WorkerCommand {
    again("worker", "this_program_as_a_worker")
}

#[test]
fn this_program_as_a_worker() {
    match role().as_deref() {
        Some("worker") => serve().unwrap(),
        Some("deaf") => std::thread::sleep(Duration::from_secs(1000)),
        Some("mortal") => {
            std::thread::spawn(|| {
                std::thread::sleep(Duration::from_millis(300));
                std::process::exit(7);
            });
            serve().unwrap();
        }
        // Started by hand or by the harness, without a run to serve.
        other => assert_eq!(other, None),
    }
}

fn workers(count: u32, kind: WorkerKind, sharing: Sharing) -> Workers {
    Workers { count, kind, sharing }
}

#[test]
fn threads_and_processes_do_the_same() {
    #[cfg(target_os = "linux")]
    let (mount, all) = (require!(Mount::make(&EXT4)), all_data());
    #[cfg(windows)]
    let (mount, all) = (require!(place()), [all_data().remove(0)]);
    for (number, data) in all.iter().enumerate() {
        for kind in [WorkerKind::Thread, WorkerKind::Process] {
            for (count, sharing) in [(1, Sharing::Own), (3, Sharing::Own), (3, Sharing::Same)] {
                let top = mount.path().join(format!("{number}-{kind:?}-{count}-{sharing:?}"));
                std::fs::create_dir(&top).unwrap();
                let with = |work: FileWork| FileWork { workers: workers(count, kind, sharing), ..work };
                let own = sharing == Sharing::Own;
                let access = if own { Access::Directory } else { Access::Name { order: FileOrder::Random } };
                let listed = Access::Name { order: FileOrder::Listing };
                right(&with(work(FileOperation::Create, BY_NAME)), data, &top);
                check_all(data, &top, count, sharing);
                right(&with(work(FileOperation::Stat, access)), data, &top);
                right(&with(work(FileOperation::Read, listed)), data, &top);
                right(&with(work(FileOperation::Rewrite, BY_NAME)), data, &top);
                check_all(data, &top, count, sharing);
                let (_, stopwatch) = right(&with(work(FileOperation::Unlink, access)), data, &top);
                assert_eq!(stopwatch.latency().unwrap().operations(), u64::from(count) * ENTRIES);
                assert_eq!(super::count(&top).0, 0);
            }
        }
    }
}

/// Checks the files of all workers, and that there are no others.
fn check_all(data: &Data, top: &Path, count: u32, sharing: Sharing) {
    assert_eq!(super::count(top).0, u64::from(count) * ENTRIES);
    match sharing {
        Sharing::Own => (0..count).for_each(|worker| {
            check(&made_files(data).of_worker(worker), &top.join(format!("w{worker}")), 0..ENTRIES);
        }),
        Sharing::Same => {
            let all = u64::from(count) * ENTRIES;
            let files = dataset::Files::new(data.source.made().unwrap(), SEED, all).unwrap();
            check(&files, top, 0..all);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_work_of_others_is_counted() {
    let parent = tempfile::tempdir().unwrap();
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let create =
            FileWork { workers: workers(2, kind, Sharing::Own), ..work(FileOperation::Create, BY_NAME) };
        let create = FileWork { to: 3000, ..create };
        let (taken, _) = right(&create, &Data { entries: 3000, ..flat() }, parent.path());
        // 6000 files of 20 kB take longer than this, even if one timer tick is lost.
        assert!(taken.usage.user_ns + taken.usage.system_ns > 20_000_000, "{kind:?}: {taken:?}");
        assert!(taken.elapsed_ns > 10_000_000, "{kind:?}: {taken:?}");
        let unlink = FileWork { operation: FileOperation::Unlink, owner_and_mode: false, ..create };
        right(&unlink, &Data { entries: 3000, ..flat() }, parent.path());
    }
}

#[test]
fn workers_that_die_silently_are_reported() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::write(parent.path().join("w1"), "where a directory is to be").unwrap();
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let create =
            FileWork { workers: workers(3, kind, Sharing::Own), ..work(FileOperation::Create, BY_NAME) };
        let error = block(&create, &flat(), parent.path(), SIGNALS).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("w1") && !error.contains("ended before"), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn failed_worker_processes_report_the_reason() {
    let tiny = Recipe { image_bytes: 8 << 20, mkfs: &["mkfs.ext4", "-q", "-F", "-N", "64"], ..EXT4 };
    let mount = require!(Mount::make(&tiny));
    let data = Data { entries: 100, source: DataSource::Made(Made::flat(NameScheme::Md5, 0)), ..flat() };
    for kind in [WorkerKind::Thread, WorkerKind::Process] {
        let create = FileWork {
            to: 100,
            workers: workers(3, kind, Sharing::Own),
            ..work(FileOperation::Create, BY_NAME)
        };
        let error = block(&create, &data, &mount.path(), SIGNALS).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("inodes"), "{error}");
        let directory = std::fs::File::open(mount.path()).unwrap();
        os::removal::remove_content(std::os::fd::AsFd::as_fd(&directory), b"lost+found", &BEAT).unwrap();
    }
}

/// Prepares a block of two processes with this command; returns the error and the time taken.
fn prepare_with(command: &WorkerCommand, control: RunControl<'_>) -> (WorkError, Duration) {
    let parent = tempfile::tempdir().unwrap();
    let work = FileWork {
        workers: workers(2, WorkerKind::Process, Sharing::Own),
        ..work(FileOperation::Create, BY_NAME)
    };
    let data = flat();
    let mut files = Files::new(&work, (&data, work.workers.count), SEED, by(command));
    let start = Instant::now();
    let directory = Dir::open(parent.path()).unwrap();
    let error = files.setup(&first(&directory, control)).unwrap_err();
    (error, start.elapsed())
}

#[test]
fn a_program_that_is_no_worker_is_noticed() {
    let this = || std::env::current_exe().unwrap();
    let with = |program, word: &str| WorkerCommand { program, arguments: vec![word.into()] };
    let (error, _) = prepare_with(&with(this(), "--list"), SIGNALS);
    assert!(error.to_string().contains(": exited before its work was done"), "{error}");
    let (error, _) = prepare_with(&with(this().with_extension("none"), ""), SIGNALS);
    assert!(error.to_string().contains(if cfg!(windows) { "not found" } else { "No such file" }), "{error}");
    // A worker that never answers is waited for until cancellation.
    let stop = AtomicBool::new(false);
    let control = RunControl { stop: &stop, heartbeat: &BEAT };
    let (error, took) = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
        prepare_with(&again("deaf", "this_program_as_a_worker"), control)
    });
    assert!(matches!(error, WorkError::Stopped) && took < PATIENCE, "{error} {took:?}");
}

fn endless() -> (FileWork, Data) {
    let entries = 5_000_000;
    let made = Made::flat(NameScheme::Md5, 0);
    let data = Data { id: DataId(0), entries, hash: None, on: None, source: DataSource::Made(made) };
    let workers = workers(3, WorkerKind::Process, Sharing::Own);
    let create = work(FileOperation::Create, BY_NAME);
    (FileWork { to: entries, owner_and_mode: false, workers, ..create }, data)
}

#[test]
fn a_worker_that_dies_at_work_is_noticed() {
    let mount = require!(place());
    let (create, data) = endless();
    let command = again("mortal", "this_program_as_a_worker");
    let mut files = Files::new(&create, (&data, create.workers.count), SEED, by(&command));
    let directory = Dir::open(mount.path()).unwrap();
    let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(2)));
    let ready = files.setup(&first(&directory, SIGNALS));
    let done = ready.and_then(|()| files.run(&first(&directory, SIGNALS), &mut stopwatch));
    let error = done.unwrap_err().to_string();
    assert!(error.contains("exited before its work was done"), "{error}");
}

/// Waits until each of three workers has created some files.
fn wait_for_files(path: &Path) {
    let start = Instant::now();
    let made = |worker: u32| {
        let own = path.join(format!("w{worker}"));
        own.exists() && count(&own).0 > 100
    };
    while !(0..3).all(made) {
        assert!(start.elapsed() < PATIENCE, "no worker has begun");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
fn children_of(parent: u32) -> Vec<u32> {
    let status = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/status")).ok();
    let numbers = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| status(*pid).is_some_and(|text| text.contains(&format!("\nPPid:\t{parent}\n"))))
        .collect()
}

#[test]
fn processes_end_with_an_interrupted_block() {
    let mount = require!(place());
    let (create, data) = endless();
    let stop = AtomicBool::new(false);
    let control = RunControl { stop: &stop, heartbeat: &BEAT };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_for_files(&mount.path());
            stop.store(true, Ordering::Relaxed);
        });
        let done = block(&create, &data, &mount.path(), control);
        assert!(matches!(done, Err(WorkError::Stopped)));
    });
    // No worker is left.
    let before = count(&mount.path());
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(count(&mount.path()), before);
}

/// The run that is killed: works without end, with processes, in the given directory.
#[test]
fn this_program_as_a_run() {
    let Some(path) = role() else {
        return assert!(std::env::args().all(|word| !word.starts_with(ROLE)));
    };
    let (create, data) = endless();
    let done = block(&create, &data, Path::new(&path), SIGNALS).map(|_| ());
    panic!("it was to be killed: {done:?}");
}

#[test]
fn worker_processes_end_with_a_killed_run() {
    let mount = require!(place());
    let WorkerCommand { program, arguments } =
        again(&mount.path().display().to_string(), "this_program_as_a_run");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    #[cfg(target_os = "linux")]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut run = command.spawn().unwrap();
    wait_for_files(&mount.path());
    #[cfg(target_os = "linux")]
    let workers = children_of(run.id());
    run.kill().unwrap();
    run.wait().unwrap();
    #[cfg(target_os = "linux")]
    wait_until_exited(&workers);
    // Calls in progress finish; then the number of files stays constant.
    let start = Instant::now();
    let mut before = count(&mount.path());
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = count(&mount.path());
        if now == before {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "a worker still runs");
        before = now;
    }
}

#[cfg(target_os = "linux")]
fn wait_until_exited(workers: &[u32]) {
    assert_eq!(workers.len(), 3);
    let alive = |pid: &u32| {
        // A zombie creates nothing any more.
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.contains("megadir") && !status.contains("State:\tZ")
    };
    let start = Instant::now();
    while workers.iter().any(alive) {
        assert!(start.elapsed() < PATIENCE, "{workers:?} have outlived their run");
        std::thread::sleep(Duration::from_millis(2));
    }
}
