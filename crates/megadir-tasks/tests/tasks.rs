//! Jobs in tasks of tiny budgets, some of which run twice or are lost, give the result of one process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use megadir::usage::{By, Item, Usage, UsageOptions};
use megadir::{Dir, ErrorKind, WalkOptions};
use megadir_inventory::{Inventory, OwnedRow, Rows, ScanOptions, scan};
use megadir_tasks::{
    Budget, JOURNAL, Job, Journal, Kind, Outcome, Request, Schedule, Task, check_folder, finish_folder,
    prepare, run,
};
use megadir_testkit::unprivileged::unprivileged;

/// Deterministic numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

fn tree(seed: u64) -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let top = scratch.path().join("tree");
    fs::create_dir(&top).unwrap();
    let (mut numbers, mut directories) = (Numbers(seed), vec![top]);
    for index in 0..120 {
        let parent = directories[numbers.below(directories.len() as u64) as usize].clone();
        let names = ["a", "a-b", "a!", "g\u{f6}", "x y"];
        let below = parent.join(format!("{}{index}", names[numbers.below(5) as usize]));
        fs::create_dir(&below).unwrap();
        for file in 0..numbers.below(12) {
            fs::write(below.join(format!("f{file}")), vec![b'x'; numbers.below(5000) as usize]).unwrap();
        }
        if numbers.below(9) == 0 {
            symlink("/", below.join("link")).unwrap();
            fs::hard_link(below.join("link"), below.join("linked")).unwrap();
        }
        directories.push(below);
    }
    let large = directories[7].join("large");
    fs::create_dir(&large).unwrap();
    for file in 0..5000 {
        fs::File::create(large.join(format!("file-{file:032}"))).unwrap();
    }
    (0..30).for_each(|index| fs::create_dir_all(large.join(format!("dir-{index}/below"))).unwrap());
    for closed in [3, 40, 77] {
        fs::set_permissions(&directories[closed], fs::Permissions::from_mode(0o000)).unwrap();
    }
    scratch
}

fn request(kind: Kind, scratch: &Path, budget: Budget) -> Request {
    let folder = (kind == Kind::Scan).then(|| scratch.join("parts"));
    Request {
        kind,
        paths: vec![scratch.join("tree")],
        folder,
        budget,
        depth: 2,
        contents: false,
        fresh: false,
    }
}

fn job(kind: Kind, scratch: &Path, entries: u64) -> Job {
    prepare(&request(kind, scratch, Budget { seconds: 5.0, entries })).unwrap()
}

fn outcome(task: &Task) -> Outcome {
    // As through a process: each crosses as text.
    let task: Task = serde_json::from_str(&serde_json::to_string(task).unwrap()).unwrap();
    let outcome = run(&task, &AtomicBool::new(false)).unwrap();
    serde_json::from_str(&serde_json::to_string(&outcome).unwrap()).unwrap()
}

/// Now and then a task is lost after it has run, runs twice, or the driver starts again from its journal.
fn drive(job: Job, seed: u64) -> Schedule {
    let mut numbers = Numbers(seed);
    let mut schedule = Schedule::new(job);
    let mut journal = vec![schedule.first_line()];
    while !schedule.is_done() {
        let assigned = schedule.next(3).unwrap();
        journal.extend(assigned.line);
        let task = assigned.task;
        let outcome = outcome(&task);
        match numbers.below(8) {
            0 => assert!(schedule.failed(task.number)),
            1 => {
                schedule = Schedule::replay(journal.iter().map(String::as_str)).unwrap();
            }
            2 => {
                let again = run(&task, &AtomicBool::new(false)).unwrap();
                journal.extend(schedule.finished(task.number, outcome));
                assert_eq!(schedule.finished(task.number, again), None);
            }
            _ => journal.extend(schedule.finished(task.number, outcome)),
        }
    }
    let replayed = Schedule::replay(journal.iter().map(String::as_str)).unwrap();
    assert!(replayed.is_done() && replayed.progress() == schedule.progress());
    schedule
}

fn all_rows(mut rows: impl Rows) -> Vec<OwnedRow> {
    let mut all = Vec::new();
    while let Some(row) = rows.next_row().unwrap() {
        all.push(OwnedRow::from(row));
    }
    all
}

fn scanned_by_one(root: &Path) -> Vec<OwnedRow> {
    let options = ScanOptions {
        threads: 1,
        threads_max: 1,
        attributes: true,
        cross_mounts: false,
        stat_backend: None,
        read_ahead: megadir::ReadAhead::Never,
        buffer_bytes: 32 << 10,
        queue_directories_max: 256,
        memory_bytes: 64 << 20,
        spill_directory: std::env::temp_dir(),
        exclude: Vec::new(),
        conditions: None,
        entries_per_second_max: None,
    };
    let mut rows: Vec<OwnedRow> = Vec::new();
    scan(&[root.to_owned()], &options, &mut |_| ControlFlow::Continue(()), &mut rows).unwrap();
    rows
}

fn finish(schedule: &Schedule, folder: &Path) -> Vec<OwnedRow> {
    finish_folder(folder, schedule.parts()).unwrap();
    let inventory = Inventory::open(folder).unwrap();
    assert!(inventory.unfinished().is_none());
    all_rows(inventory)
}

#[test]
fn a_journal_is_open_once() {
    let scratch = tree(1);
    let path = scratch.path().join(JOURNAL);
    let job = job(Kind::Scan, scratch.path(), 60);
    let (journal, _) = Journal::open(&path, job.clone()).unwrap();
    let error = Journal::open(&path, job.clone()).unwrap_err();
    assert!(error.to_string().contains("another process works on this job"), "{error}");
    drop(journal);
    Journal::open(&path, job).unwrap();
}

/// A pipe that is open for reading and writing, as a journal is, never comes to its end.
#[test]
fn a_journal_that_is_a_pipe_or_a_device_is_refused() {
    let scratch = tree(1);
    let pipe = scratch.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    for path in [pipe.as_path(), Path::new("/dev/null")] {
        let error = Journal::open(path, job(Kind::Scan, scratch.path(), 60)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadOption, "{error}");
        assert!(error.to_string().contains("not a file"), "{error}");
    }
}

#[test]
fn parts_are_the_inventory_of_one_process() {
    for (seed, entries) in [(1, 60), (2, 200), (3, 1 << 30)] {
        let scratch = tree(seed);
        let folder = scratch.path().join("parts");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let root = scratch.path().join("tree");
        unprivileged(|| {
            scanned_by_one(&root); // Sets the access times.
            let expected = scanned_by_one(&root);
            let schedule = drive(job(Kind::Scan, scratch.path(), entries), seed);
            assert!(entries > 60 || schedule.parts().len() > 40, "{}", schedule.parts().len());
            fs::write(folder.join(".part-0000000-lost.parquet.1"), "").unwrap();
            let rows = finish(&schedule, &folder);
            assert_eq!(rows.len(), expected.len(), "seed {seed}");
            rows.iter().zip(&expected).for_each(|(row, expected)| assert_eq!(row, expected));
            assert!(rows.iter().filter(|row| row.error.is_some()).count() >= 2, "nothing was closed");
            let counted: u64 = schedule.parts().iter().map(|part| part.rows - part.repeated).sum();
            assert_eq!(counted, rows.len() as u64);
            let hidden = |entry: &fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
            assert!(!fs::read_dir(&folder).unwrap().map(Result::unwrap).any(|entry| hidden(&entry)));
            assert!(check_folder(&folder).is_err());
        });
    }
}

/// The task that found a directory runs once more, later than the task that could not read the directory.
#[test]
fn an_error_is_kept_whichever_task_came_last() {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let root = scratch.path().join("tree");
    fs::create_dir_all(root.join("closed")).unwrap();
    fs::set_permissions(root.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let folder = scratch.path().join("parts");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    unprivileged(|| {
        scanned_by_one(&root); // Sets the access times.
        let expected = scanned_by_one(&root);
        let mut schedule = Schedule::new(job(Kind::Scan, scratch.path(), 1));
        let first = schedule.next(1).unwrap().task;
        schedule.finished(first.number, outcome(&first)).unwrap();
        let second = schedule.next(1).unwrap().task;
        schedule.finished(second.number, outcome(&second)).unwrap();
        assert!(schedule.is_done() && schedule.parts().len() == 2);
        fs::remove_file(folder.join(first.part_name())).unwrap();
        assert_eq!(outcome(&first).unvisited, second.items);
        let rows = finish(&schedule, &folder);
        assert_eq!(rows, expected);
        assert!(rows[1].error.as_deref().is_some_and(|error| error.starts_with("open: ")));
    });
}

#[test]
fn directories_that_vanish_or_are_replaced_are_no_failures() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("tree");
    for name in ["gone", "replaced", "linked", "stays"] {
        fs::create_dir_all(root.join(name).join("below")).unwrap();
    }
    fs::create_dir(scratch.path().join("parts")).unwrap();
    let mut schedule = Schedule::new(job(Kind::Scan, scratch.path(), 1));
    let first = schedule.next(1).unwrap().task;
    schedule.finished(first.number, outcome(&first)).unwrap();
    fs::remove_dir_all(root.join("gone")).unwrap();
    fs::rename(root.join("replaced"), scratch.path().join("away")).unwrap();
    fs::create_dir_all(root.join("replaced/other")).unwrap();
    fs::rename(root.join("linked"), scratch.path().join("elsewhere")).unwrap();
    symlink(scratch.path().join("elsewhere"), root.join("linked")).unwrap();
    while let Some(assigned) = schedule.next(1) {
        schedule.finished(assigned.task.number, outcome(&assigned.task)).unwrap();
    }
    assert!(schedule.is_done() && schedule.progress().failures == 0);
    let rows = finish(&schedule, &scratch.path().join("parts"));
    let below: Vec<_> = rows.iter().filter(|row| !row.parent.is_empty()).collect();
    assert!(below.len() == 1 && below[0].parent == b"stays", "{below:?}");
    assert_eq!(rows.len(), 6);
}

#[test]
fn another_root_is_refused_and_a_folder_in_the_tree_too() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("tree");
    fs::create_dir(&root).unwrap();
    fs::create_dir(scratch.path().join("parts")).unwrap();
    let mut schedule = Schedule::new(job(Kind::Scan, scratch.path(), 10));
    let task = schedule.next(1).unwrap().task;
    fs::rename(&root, scratch.path().join("old")).unwrap();
    fs::create_dir(&root).unwrap();
    let error = run(&task, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.contains("not the directory that the job began with"), "{error}");
    let mut inside = request(Kind::Scan, scratch.path(), Budget { seconds: 1.0, entries: 1 });
    inside.folder = Some(root.clone());
    assert!(prepare(&inside).unwrap_err().to_string().contains("in the tree"));
}

/// Machines number devices differently.
#[test]
fn parts_have_the_device_number_of_the_job() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir_all(scratch.path().join("tree/below")).unwrap();
    fs::create_dir(scratch.path().join("parts")).unwrap();
    let mut elsewhere = job(Kind::Scan, scratch.path(), 10);
    elsewhere.roots[0].device = (0, 77);
    let schedule = drive(elsewhere, 1);
    let rows = finish(&schedule, &scratch.path().join("parts"));
    assert!(rows.len() == 2 && rows.iter().all(|row| row.facts.device == Some(77)));
    let inventory = Inventory::open(&scratch.path().join("parts")).unwrap();
    let volumes = inventory.metadata().volumes.clone().unwrap();
    assert!(volumes.iter().all(|volume| volume.device == 77), "{volumes:?}");
}

#[test]
fn sums_equal_the_sums_of_one_process() {
    for (seed, entries) in [(1, 60), (2, 1 << 30)] {
        let scratch = tree(seed);
        let root = scratch.path().join("tree");
        let mut usage = Usage::new(UsageOptions { top: 10_000, depth: Some(2), by: By::Entries, now_s: 0 });
        let backend = megadir::STAT_BACKENDS[0];
        let options = WalkOptions { examine: Some((backend, Item::WANT)), ..WalkOptions::new(1) };
        let root = Dir::open(&root).unwrap();
        let flow = megadir::usage::read(&mut usage, root, options, &mut |_| ControlFlow::Continue(()));
        assert!(flow.unwrap().is_continue());
        let report = usage.finish();
        let schedule = drive(job(Kind::Usage, scratch.path(), entries), seed);
        let sums = schedule.sums();
        let find = |path: &[u8]| sums.iter().find(|sum| sum.path.0 == path);
        let root = (Vec::new(), &report.roots[0].sum);
        let below = report.directories.iter().map(|directory| (directory.path.to_vec(), &directory.sum));
        let expected: Vec<_> = std::iter::once(root).chain(below).collect();
        assert_eq!(sums.len(), expected.len());
        for (path, expected) in expected {
            let sum = find(&path).unwrap();
            let amount = expected.amount;
            assert_eq!(
                (
                    sum.entries,
                    sum.directories,
                    sum.inodes,
                    u128::from(sum.allocated),
                    u128::from(sum.apparent)
                ),
                (amount.entries, expected.directories, amount.inodes, amount.allocated, amount.apparent),
                "{path:?}"
            );
            assert_eq!(sum.newest_ns, expected.newest.map(megadir_inventory::nanoseconds));
            assert_eq!(sum.oldest_ns, expected.oldest.map(megadir_inventory::nanoseconds));
        }
    }
}

#[test]
fn removal_stays_in_its_tree() {
    for (seed, entries) in [(1, 1), (2, 50), (3, 1 << 30)] {
        let scratch = tree(seed);
        let (root, witness) = (scratch.path().join("tree"), scratch.path().join("witness"));
        fs::create_dir(&witness).unwrap();
        fs::write(witness.join("kept"), "kept").unwrap();
        symlink(&witness, root.join("link-out")).unwrap();
        let schedule = drive(job(Kind::Remove, scratch.path(), entries), seed);
        assert!(!root.exists() && schedule.progress().failures == 0, "{:?}", schedule.messages());
        assert_eq!(fs::read(witness.join("kept")).unwrap(), b"kept");
    }
}

#[test]
fn unremovable_entry_is_reported_once_and_ends_the_job() {
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let root = scratch.path().join("tree");
    for name in ["a", "b", "closed", "c"] {
        fs::create_dir_all(root.join(name)).unwrap();
        (0..50).for_each(|file| fs::write(root.join(name).join(format!("{file}")), "").unwrap());
    }
    for name in ["a", "b", "c", ""] {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o777)).unwrap();
    }
    unprivileged(|| {
        let schedule = drive(job(Kind::Remove, scratch.path(), 20), 5);
        assert_eq!(schedule.removal().failures, 50);
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
    });
}

#[test]
fn a_directory_that_was_swapped_is_not_emptied() {
    let scratch = tempfile::tempdir().unwrap();
    let (root, other) = (scratch.path().join("tree"), scratch.path().join("other"));
    for name in ["a", "b"] {
        fs::create_dir_all(root.join(name).join("below")).unwrap();
        (0..100).for_each(|file| fs::write(root.join(name).join(format!("{file}")), "").unwrap());
    }
    fs::create_dir_all(other.join("kept")).unwrap();
    let mut schedule = Schedule::new(job(Kind::Remove, scratch.path(), 1));
    let first = schedule.next(1).unwrap().task;
    let first_outcome = outcome(&first);
    let Some(item) = first_outcome.unvisited.first().cloned() else { return };
    schedule.finished(first.number, first_outcome).unwrap();
    let path: PathBuf = root.join(std::str::from_utf8(&item.path.0).unwrap());
    fs::rename(&path, scratch.path().join("away")).unwrap();
    fs::rename(&other, &path).unwrap();
    let second = schedule.next(1).unwrap().task;
    assert!(second.items.iter().any(|second| second.path == item.path));
    assert_eq!(outcome(&second).removal.map(|removal| removal.entries), Some(0));
    assert!(path.join("kept").exists());
}

#[test]
fn tasks_run_concurrently() {
    let scratch = tree(9);
    let root = scratch.path().join("tree");
    fs::create_dir(scratch.path().join("parts")).unwrap();
    scanned_by_one(&root);
    let expected = scanned_by_one(&root);
    let schedule = Arc::new(std::sync::Mutex::new(Schedule::new(job(Kind::Scan, scratch.path(), 100))));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !schedule.lock().unwrap().is_done() {
                    let Some(assigned) = ({ schedule.lock().unwrap().next(4) }) else {
                        std::thread::yield_now();
                        continue;
                    };
                    // Another process runs the same task at the same time.
                    let twice = scope.spawn({
                        let task = assigned.task.clone();
                        move || outcome(&task)
                    });
                    let first = outcome(&assigned.task);
                    assert_eq!(first, twice.join().unwrap());
                    schedule.lock().unwrap().finished(assigned.task.number, first);
                }
            });
        }
    });
    assert_eq!(finish(&schedule.lock().unwrap(), &scratch.path().join("parts")), expected);
}
