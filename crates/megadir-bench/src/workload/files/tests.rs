//! Every operation, access and order on real file systems: what is there afterwards, and what is noticed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megadir_record::{
    ContentKind, DataId, Made, MakeDirectories, NameScheme, Sharing, SizeLaw, Spread, When, WorkerKind,
    Workers,
};
use megadir_testkit::mount::{BTRFS, EXT4, Mount, Recipe, TMPFS, XFS};
use megadir_testkit::require;

use super::*;
use crate::dataset::{self, PlaceBuffer};
use crate::measure::Calibration;

const SEED: u64 = 5;
const ENTRIES: u64 = 60;
const ALONE: Workers = Workers { count: 1, kind: WorkerKind::Thread, sharing: Sharing::Same };
static NEVER: AtomicBool = AtomicBool::new(false);
static BEAT: AtomicU64 = AtomicU64::new(0);
const SIGNALS: Signals<'static> = Signals { stop: &NEVER, beat: &BEAT };
const BY_NAME: Access = Access::Name { order: FileOrder::AsWritten };

fn data(spread: Spread, directories: MakeDirectories) -> Data {
    let made = Made {
        names: NameScheme::Md5,
        size_bytes: 20_000,
        sizes: SizeLaw::Uniform { low_bytes: 0, high_bytes: 40_000 },
        content: ContentKind::Pseudorandom,
        spread,
        directories,
        when: When::ByArms,
    };
    Data { id: DataId(0), entries: ENTRIES, hash: None, source: DataSource::Made(made) }
}

fn flat() -> Data {
    data(Spread::Flat, MakeDirectories::OnDemand)
}

/// Data of every kind of place.
fn all_data() -> Vec<Data> {
    let layout = || Spread::Layout { layout: "prefix:1/1".into() };
    vec![
        flat(),
        data(Spread::PerDirectory { files: 7 }, MakeDirectories::OnDemand),
        data(layout(), MakeDirectories::OnDemand),
        data(layout(), MakeDirectories::Before),
    ]
}

fn work(operation: FileOperation, access: Access) -> FileWork {
    let writes = matches!(operation, FileOperation::Create | FileOperation::Rewrite);
    FileWork {
        operation,
        from: 0,
        to: ENTRIES,
        access,
        sync: SyncPolicy::Never,
        owner_and_mode: writes,
        workers: ALONE,
    }
}

/// Does one block and returns what it counted, what it took, and the time of its operations.
fn block(
    work: &FileWork,
    data: &Data,
    path: &Path,
    signals: Signals<'_>,
) -> Result<(Counted, Taken, Stopwatch), ListError> {
    let directory = Dir::open(path).unwrap();
    let mut files = Files::new(work, data, SEED);
    assert_eq!(files.unavailable(&directory), None, "{work:?}");
    let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(2)));
    let block = BlockKey { phase: Phase::Measure, round: 3, attempt: 0 };
    files.ready(&directory, block, work.files(), signals)?;
    let counted = files.run(&directory, work.files(), &mut stopwatch, signals)?;
    let taken = files.taken().unwrap();
    files.finish(&directory, signals)?;
    Ok((counted, taken, stopwatch))
}

/// Does one block whose every file is as it should be.
fn right(work: &FileWork, data: &Data, path: &Path) -> (Taken, Stopwatch) {
    let (counted, taken, stopwatch) = block(work, data, path, SIGNALS).unwrap();
    assert_eq!((counted.entries, counted.hash), (work.files(), 0), "{work:?} {data:?}");
    (taken, stopwatch)
}

/// Returns how many files a block found that were not as they should be.
fn wrong(work: &FileWork, data: &Data, path: &Path) -> u64 {
    block(work, data, path, SIGNALS).unwrap().0.hash
}

fn made_files(data: &Data) -> dataset::Files {
    dataset::Files::new(data.source.made().unwrap(), SEED, data.entries).unwrap()
}

fn path_of(files: &dataset::Files, index: u64) -> PathBuf {
    let mut buffer = PlaceBuffer::new();
    let place = files.place(index, &mut buffer).unwrap();
    PathBuf::from(String::from_utf8(place.path().to_vec()).unwrap())
}

/// Returns the inodes of the files, each of which must be what the data say.
fn check(files: &dataset::Files, top: &Path, indices: impl Iterator<Item = u64>) -> Vec<u64> {
    let one = |index| {
        let path = top.join(path_of(files, index));
        let content = std::fs::read(&path).unwrap();
        let mut expected = vec![0; files.size_bytes(index) as usize];
        files.content(index).fill(&mut expected);
        assert!(content == expected, "{path:?}");
        let status = std::fs::symlink_metadata(&path).unwrap();
        assert_eq!((status.mode() & 0o7777, status.uid(), status.nlink()), (0o644, 0, 1));
        status.ino()
    };
    indices.map(one).collect()
}

/// Returns the files and the directories below a directory.
fn count(path: &Path) -> (u64, u64) {
    let mut sum = (0, 0);
    for entry in std::fs::read_dir(path).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            let below = count(&entry.path());
            sum = (sum.0 + below.0, sum.1 + below.1 + 1);
        } else {
            sum.0 += 1;
        }
    }
    sum
}

fn accesses() -> Vec<Access> {
    let orders = [FileOrder::AsWritten, FileOrder::Random, FileOrder::Listing, FileOrder::Inode];
    orders.map(|order| Access::Name { order }).into_iter().chain([Access::Directory]).collect()
}

/// Goes through the life of files: by every access, on data of every kind.
fn life(recipe: &Recipe) {
    let mount = require!(Mount::make(recipe));
    for (number, data) in all_data().iter().enumerate() {
        let files = made_files(data);
        for (form, access) in accesses().into_iter().enumerate() {
            let top = mount.path().join(format!("{number}-{form}"));
            std::fs::create_dir(&top).unwrap();
            let listed = matches!(access, Access::Name { order: FileOrder::Listing | FileOrder::Inode });
            let create = work(FileOperation::Create, if listed { BY_NAME } else { access });
            right(&create, data, &top);
            let before = check(&files, &top, 0..ENTRIES);
            assert_eq!(count(&top).0, ENTRIES);
            right(&work(FileOperation::Stat, access), data, &top);
            right(&work(FileOperation::Read, access), data, &top);
            std::fs::hard_link(top.join(path_of(&files, 9)), mount.path().join("kept")).unwrap();
            right(&work(FileOperation::Rewrite, access), data, &top);
            let after = check(&files, &top, 0..ENTRIES);
            assert_ne!(before[9], after[9], "a file was opened and written over, not made again");
            std::fs::remove_file(mount.path().join("kept")).unwrap();
            let directories = count(&top).1;
            right(&work(FileOperation::Unlink, access), data, &top);
            assert_eq!(count(&top), (0, directories));
        }
    }
}

#[test]
fn files_live_and_end_on_ext4() {
    life(&EXT4);
}

#[test]
fn files_live_and_end_on_xfs() {
    life(&XFS);
}

#[test]
fn files_live_and_end_on_btrfs() {
    life(&BTRFS);
}

#[test]
fn files_live_and_end_on_tmpfs() {
    life(&TMPFS);
}

#[test]
fn what_is_not_as_it_should_be_is_counted() {
    let parent = tempfile::tempdir().unwrap();
    let data = data(Spread::PerDirectory { files: 25 }, MakeDirectories::OnDemand);
    let files = made_files(&data);
    right(&work(FileOperation::Create, BY_NAME), &data, parent.path());
    let path = |index| parent.path().join(path_of(&files, index));
    // Three cut short, one missing, one that is a link, one under another name, one that is too many.
    for index in [3, 4, 59] {
        std::fs::OpenOptions::new().write(true).open(path(index)).unwrap().set_len(1).unwrap();
    }
    std::fs::remove_file(path(7)).unwrap();
    std::fs::remove_file(path(8)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", path(8)).unwrap();
    std::fs::rename(path(10), path(10).with_extension("x")).unwrap();
    let stat = |access| wrong(&work(FileOperation::Stat, access), &data, parent.path());
    let read = |access| wrong(&work(FileOperation::Read, access), &data, parent.path());
    let named = Access::Name { order: FileOrder::Random };
    assert_eq!((stat(BY_NAME), stat(named), read(BY_NAME)), (6, 6, 6));
    assert!(stat(Access::Directory) > 0 && read(Access::Directory) > 0);
    // Of a listing, the missing and the unexpected are seen beforehand, and missing once more when they are asked for.
    assert!(stat(Access::Name { order: FileOrder::Listing }) >= 6);
    assert!(wrong(&work(FileOperation::Create, BY_NAME), &data, parent.path()) >= 58);
    assert_eq!(wrong(&work(FileOperation::Rewrite, BY_NAME), &data, parent.path()), 1);
    let unlink = work(FileOperation::Unlink, Access::Directory);
    assert!(wrong(&unlink, &data, parent.path()) > 0);
    let outside = std::fs::read("/etc/passwd").unwrap();
    assert!(!outside.is_empty(), "what a link leads to was worked on");
}

#[test]
fn one_name_that_is_wrong_shows_in_a_listing() {
    let parent = tempfile::tempdir().unwrap();
    let data = flat();
    let files = made_files(&data);
    right(&work(FileOperation::Create, BY_NAME), &data, parent.path());
    let path = parent.path().join(path_of(&files, 10));
    std::fs::rename(&path, path.with_extension("x")).unwrap();
    for operation in [FileOperation::Stat, FileOperation::Unlink] {
        assert_eq!(wrong(&work(operation, Access::Directory), &data, parent.path()), 1, "{operation:?}");
    }
}

#[test]
fn times_of_operations_and_gaps_are_the_block() {
    let parent = tempfile::tempdir().unwrap();
    let mut shares = Vec::new();
    for access in [BY_NAME, Access::Directory] {
        for operation in [
            FileOperation::Create,
            FileOperation::Stat,
            FileOperation::Read,
            FileOperation::Rewrite,
            FileOperation::Unlink,
        ] {
            let (taken, stopwatch) = right(&work(operation, access), &flat(), parent.path());
            let latency = stopwatch.latency().unwrap();
            assert_eq!(latency.operations(), ENTRIES);
            let sum_ns = (latency.sum_ticks + latency.gap_ticks) as f64 * latency.ns_per_tick;
            let off = (sum_ns / taken.elapsed_ns as f64 - 1.0).abs();
            assert!(off < 0.005, "{operation:?}: {sum_ns} of {} ns", taken.elapsed_ns);
            shares.push(latency.gap_ticks as f64 / (latency.sum_ticks + latency.gap_ticks) as f64);
        }
    }
    // The gaps are what the clocks cost and the last directory's end; a block that was interrupted there may have more.
    let small = shares.iter().filter(|share| **share < 0.2).count();
    assert!(small >= 7, "{shares:?}");
}

#[test]
fn computing_names_and_contents_is_no_time_of_the_block() {
    let parent = tempfile::tempdir().unwrap();
    // One file of this size fits the buffer, so that each but the first is computed in a pause.
    let made = Made::flat(NameScheme::Md5, 4_000_000);
    let data = Data { id: DataId(0), entries: 60, hash: None, source: DataSource::Made(made) };
    let start = Instant::now();
    let create = FileWork { owner_and_mode: false, ..work(FileOperation::Create, BY_NAME) };
    let (taken, stopwatch) = right(&create, &data, parent.path());
    let whole_ns = start.elapsed().as_nanos() as u64;
    let latency = stopwatch.latency().unwrap();
    assert!(taken.elapsed_ns < whole_ns);
    let gaps_ns = latency.gap_ticks as f64 * latency.ns_per_tick;
    assert!(gaps_ns < 0.05 * taken.elapsed_ns as f64, "{gaps_ns} of {}", taken.elapsed_ns);
}

#[test]
fn a_file_too_large_for_the_buffer_is_written_whole() {
    let parent = tempfile::tempdir().unwrap();
    let made = Made::flat(NameScheme::Md5, 5_000_003);
    let data = Data { id: DataId(0), entries: 2, hash: None, source: DataSource::Made(made) };
    let create = FileWork { to: 2, ..work(FileOperation::Create, BY_NAME) };
    right(&create, &data, parent.path());
    check(&made_files(&data), parent.path(), 0..2);
    right(&FileWork { to: 2, ..work(FileOperation::Read, Access::Directory) }, &data, parent.path());
}

#[test]
fn ranges_reach_beyond_the_population() {
    let parent = tempfile::tempdir().unwrap();
    for data in all_data() {
        let files = made_files(&data);
        right(&work(FileOperation::Create, BY_NAME), &data, parent.path());
        let beyond = |operation| FileWork { from: ENTRIES, to: ENTRIES + 5, ..work(operation, BY_NAME) };
        for _ in 0..2 {
            right(&beyond(FileOperation::Create), &data, parent.path());
            check(&files, parent.path(), 0..ENTRIES + 5);
            right(&beyond(FileOperation::Unlink), &data, parent.path());
            check(&files, parent.path(), 0..ENTRIES);
            assert_eq!(count(parent.path()).0, ENTRIES);
        }
        right(&work(FileOperation::Unlink, BY_NAME), &data, parent.path());
    }
}

#[test]
fn directories_are_made_beforehand_as_work_of_its_own() {
    let parent = tempfile::tempdir().unwrap();
    let data = data(Spread::Layout { layout: "prefix:1/1".into() }, MakeDirectories::Before);
    let (_, stopwatch) = right(&work(FileOperation::MakeDirectories, BY_NAME), &data, parent.path());
    assert_eq!(stopwatch.latency().unwrap().operations(), 16 + 256);
    assert_eq!(count(parent.path()), (0, 16 + 256));
    right(&work(FileOperation::Create, BY_NAME), &data, parent.path());
    assert_eq!(count(parent.path()), (ENTRIES, 16 + 256));
}

#[test]
fn nothing_that_is_asked_for_is_left_out() {
    let directory = Dir::open(std::env::temp_dir()).unwrap();
    let refused = |change: &dyn Fn(&mut FileWork), operation| {
        let mut work = work(operation, BY_NAME);
        change(&mut work);
        Files::new(&work, &flat(), SEED).unavailable(&directory).is_some()
    };
    let listing = |work: &mut FileWork| work.access = Access::Name { order: FileOrder::Listing };
    assert!(refused(&listing, FileOperation::Create));
    assert!(!refused(&listing, FileOperation::Stat));
    for operation in [FileOperation::Stat, FileOperation::Read, FileOperation::Unlink] {
        assert!(refused(&|work| work.owner_and_mode = true, operation));
        assert!(refused(&|work| work.sync = SyncPolicy::EachFile, operation));
    }
    assert!(refused(&|work| work.to = 0, FileOperation::Stat));
    assert!(refused(&|work| work.workers.count = 0, FileOperation::Stat));
    assert!(refused(
        &|work| {
            work.to = 1 << 40;
            work.access = Access::Name { order: FileOrder::Inode };
        },
        FileOperation::Stat
    ));
    let existing = Data { source: DataSource::Existing { path: ".".into() }, ..flat() };
    let stat = work(FileOperation::Stat, BY_NAME);
    assert!(Files::new(&stat, &existing, SEED).unavailable(&directory).is_some());
    // A layout that has no place for the names, and one whose directories are not known before them.
    for layout in ["prefix:40", "decimal:2/2"] {
        let data = data(Spread::Layout { layout: layout.into() }, MakeDirectories::OnDemand);
        assert!(Files::new(&stat, &data, SEED).unavailable(&directory).is_some(), "{layout}");
    }
}

#[test]
fn a_block_that_is_to_end_ends_at_once() {
    let mount = require!(Mount::make(&TMPFS));
    let made = Made::flat(NameScheme::Md5, 0);
    let data = Data { id: DataId(0), entries: 900_000, hash: None, source: DataSource::Made(made) };
    let stop = AtomicBool::new(false);
    let signals = Signals { stop: &stop, beat: &BEAT };
    let create = FileWork { to: 900_000, owner_and_mode: false, ..work(FileOperation::Create, BY_NAME) };
    let ended = std::thread::scope(|scope| {
        let asked = scope.spawn(|| {
            while count(&mount.path()).0 < 1000 {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
            Instant::now()
        });
        let done = block(&create, &data, &mount.path(), signals);
        assert!(matches!(done, Err(ListError::Stopped)));
        asked.join().unwrap().elapsed()
    });
    assert!(ended < Duration::from_millis(200), "{ended:?}");
    assert!(count(&mount.path()).0 < 900_000);
}

#[test]
fn what_is_used_up_is_named_and_can_be_removed() {
    let tiny = Recipe { image_bytes: 8 << 20, mkfs: &["mkfs.ext4", "-q", "-F", "-N", "64"], ..EXT4 };
    let mount = require!(Mount::make(&tiny));
    let inodes = Data { entries: 100, source: DataSource::Made(Made::flat(NameScheme::Md5, 0)), ..flat() };
    let bytes = Data { source: DataSource::Made(Made::flat(NameScheme::Md5, 1_000_000)), ..flat() };
    for (data, to, word) in [(inodes, 100, "inodes"), (bytes, ENTRIES, "blocks")] {
        let create = FileWork { to, owner_and_mode: false, ..work(FileOperation::Create, BY_NAME) };
        let error = block(&create, &data, &mount.path(), SIGNALS).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
        let directory = std::fs::File::open(mount.path()).unwrap();
        crate::remove::remove_content(std::os::fd::AsFd::as_fd(&directory), b"lost+found", &BEAT).unwrap();
        assert_eq!(count(&mount.path()).0, 0);
    }
}
