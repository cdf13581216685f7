//! A block makes no system calls beyond its operations: counted by strace with two numbers of files.

use std::collections::BTreeMap;
use std::process::Command;

use super::*;

/// Allowance for calls made while computing the next batch.
const BETWEEN: u64 = 60;

fn have_strace() -> Result<(), String> {
    let tried = Command::new("strace").arg("-V").output();
    tried.map(|_| ()).map_err(|error| format!("strace: {error}"))
}

/// Runs a block in a worker process under strace and returns the number of calls of each kind.
fn calls(work: &FileWork, data: &Data, top: &Path) -> BTreeMap<String, u64> {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let WorkerCommand { program, arguments } = workers::command();
    let mut words: Vec<std::ffi::OsString> = ["-D", "-f", "-qq", "-o"].map(Into::into).into_iter().collect();
    words.push(trace.path().into());
    words.push(program.into());
    words.extend(arguments);
    let command = WorkerCommand { program: "strace".into(), arguments: words };
    let work = FileWork { workers: Workers { kind: WorkerKind::Process, ..ALONE }, ..work.clone() };
    let directory = Dir::open(top).unwrap();
    let mut files = Files::new(&work, (data, work.workers.count), SEED, by(&command));
    let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(2)));
    files.setup(&first(&directory, SIGNALS)).unwrap();
    let counted = files.run(&first(&directory, SIGNALS), &mut stopwatch).unwrap();
    assert_eq!((counted.entries, counted.hash), (work.files(), 0), "{work:?}");
    drop(files);
    let mut counts = BTreeMap::new();
    let text = std::fs::read_to_string(trace.path()).unwrap();
    for line in text.lines() {
        // `1234  openat(3, ...) = 4`; a call interrupted by another thread takes two lines.
        let call = line.split_whitespace().nth(1).unwrap_or_default();
        // With debug assertions, the standard library checks a descriptor before each close.
        if let Some((name, _)) =
            call.split_once('(').filter(|(name, _)| !(cfg!(debug_assertions) && *name == "fcntl"))
        {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn each(
    work: &FileWork,
    data: &Data,
    mut before: impl FnMut(&Path, u64),
    top: &Path,
) -> BTreeMap<String, u64> {
    let mut at = |to: u64| {
        let top = top.join(format!("{:?}{:?}{:?}-{to}", work.operation, work.access, work.sync));
        std::fs::create_dir(&top).unwrap();
        before(&top, to);
        calls(&FileWork { to, ..work.clone() }, data, &top)
    };
    let (few, many) = (at(500), at(2500));
    let total = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>();
    let mut each = BTreeMap::new();
    for (name, count) in &many {
        let more = count.saturating_sub(few.get(name).copied().unwrap_or(0));
        if more >= 1000 {
            each.insert(name.clone(), (more + 1000) / 2000);
        }
    }
    let own = 2000 * each.values().sum::<u64>();
    let others = (total(&many) - total(&few)).abs_diff(own);
    assert!(others < BETWEEN, "{work:?}: {others} calls that belong to no operation; {few:?} {many:?}");
    each
}

fn small() -> Data {
    Data { entries: 2500, source: DataSource::Made(Made::flat(NameScheme::Md5, 100)), ..flat() }
}

fn counts(calls: &[(&str, u64)]) -> BTreeMap<String, u64> {
    calls.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn an_operation_makes_its_own_calls_and_no_others() {
    require!(have_strace());
    let mount = require!(Mount::make(&TMPFS));
    let data = small();
    let plain = |operation, access| FileWork { owner_and_mode: false, ..work(operation, access) };
    let make = |top: &Path, to| {
        right(&FileWork { to, ..plain(FileOperation::Create, BY_NAME) }, &data, top);
    };
    let rows: [(FileWork, &[(&str, u64)]); 6] = [
        (plain(FileOperation::Stat, BY_NAME), &[("newfstatat", 1)]),
        (plain(FileOperation::Stat, Access::Directory), &[("newfstatat", 1)]),
        (plain(FileOperation::Unlink, Access::Name { order: FileOrder::Random }), &[("unlinkat", 1)]),
        (plain(FileOperation::Unlink, Access::Directory), &[("unlinkat", 1)]),
        (plain(FileOperation::Read, BY_NAME), &[("openat", 1), ("read", 2), ("close", 1)]),
        (
            plain(FileOperation::Rewrite, BY_NAME),
            &[("openat", 2), ("unlinkat", 1), ("close", 2), ("write", 1)],
        ),
    ];
    for (work, expected) in rows {
        assert_eq!(each(&work, &data, make, &mount.path()), counts(expected), "{work:?}");
    }
}

#[test]
fn written_files_are_synced_by_the_policy() {
    require!(have_strace());
    let mount = require!(Mount::make(&TMPFS));
    let data = small();
    let create =
        |sync, owner_and_mode| FileWork { sync, owner_and_mode, ..work(FileOperation::Create, BY_NAME) };
    let rows: [(FileWork, &[(&str, u64)]); 4] = [
        (create(SyncPolicy::Never, true), &[("fchown", 1), ("fchmod", 1)]),
        (create(SyncPolicy::AtEnd, false), &[]),
        (create(SyncPolicy::EachFile, false), &[("fsync", 1)]),
        (create(SyncPolicy::FileAndDirectory, false), &[("fsync", 2)]),
    ];
    for (work, more) in rows {
        let mut expected = counts(&[("openat", 1), ("write", 1), ("close", 1)]);
        expected.extend(counts(more));
        assert_eq!(each(&work, &data, |_, _| (), &mount.path()), expected, "{work:?}");
    }
    let top = mount.path().join("end");
    std::fs::create_dir(&top).unwrap();
    let counts = calls(&FileWork { to: 10, ..create(SyncPolicy::AtEnd, false) }, &data, &top);
    assert_eq!((counts.get("syncfs"), counts.get("fsync")), (Some(&1), None));
}
