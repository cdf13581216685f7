//! Work on files on real file systems: results, errors, times and workers.

#[cfg(target_os = "linux")]
mod calls;
mod life;
mod noticed;
mod times;
mod workers;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megadir_record::{
    ContentKind, DataId, Made, MakeDirectories, NameScheme, Phase, Sharing, SizeLaw, Spread, When,
    WorkerKind, Workers,
};
#[cfg(target_os = "linux")]
use megadir_testkit::mount::{EXT4, Mount, Recipe, TMPFS};
use megadir_testkit::require;

use super::*;
use crate::control::RunControl;
use crate::dataset::{self, PlaceBuffer};
use crate::kind::{WorkerCommand, WorkerSource};
use crate::measure::Calibration;

const SEED: u64 = 5;
const ENTRIES: u64 = 60;
fn by(command: &WorkerCommand) -> WorkerSource<'_> {
    WorkerSource { command: Some(command), ranks: None }
}

const ALONE: Workers = Workers { count: 1, kind: WorkerKind::Thread, sharing: Sharing::Same };
static NEVER: AtomicBool = AtomicBool::new(false);
static BEAT: AtomicU64 = AtomicU64::new(0);
const SIGNALS: RunControl<'static> = RunControl { stop: &NEVER, heartbeat: &BEAT };
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
        aged_files: 0,
    };
    Data { id: DataId(0), entries: ENTRIES, hash: None, on: None, source: DataSource::Made(made) }
}

fn flat() -> Data {
    data(Spread::Flat, MakeDirectories::OnDemand)
}

/// Returns data for every kind of layout. Under Wine, which creates files slowly, only the two most general ones.
fn all_data() -> Vec<Data> {
    let layout = || Spread::Layout { layout: "prefix:1/1".into() };
    let in_directories = data(Spread::PerDirectory { files: 7 }, MakeDirectories::OnDemand);
    let placed = data(layout(), MakeDirectories::OnDemand);
    match cfg!(windows) {
        true => vec![in_directories, placed],
        false => vec![flat(), in_directories, placed, data(layout(), MakeDirectories::Before)],
    }
}

fn work(operation: FileOperation, access: Access) -> FileWork {
    let writes = matches!(operation, FileOperation::Create | FileOperation::Rewrite);
    FileWork {
        operation,
        from: 0,
        to: ENTRIES,
        access,
        sync: SyncPolicy::Never,
        owner_and_mode: writes && cfg!(target_os = "linux"),
        workers: ALONE,
    }
}

fn first<'a>(directory: &'a Dir, control: RunControl<'a>) -> WorkBlock<'a> {
    WorkBlock { directory, key: BlockKey::FIRST, operations: 1, control }
}

/// Runs one block; returns its counts, its resource usage, and the times of its operations.
fn block(
    work: &FileWork,
    data: &Data,
    path: &Path,
    control: RunControl<'_>,
) -> Result<(Counted, BlockUsage, Stopwatch), WorkError> {
    let (directory, command) = (Dir::open(path).unwrap(), workers::command());
    let mut files = Files::new(work, (data, work.workers.count), SEED, by(&command));
    assert_eq!(files.unavailable(&directory), None, "{work:?}");
    let mut stopwatch = Stopwatch::new(Calibration::over(Duration::from_millis(2)));
    let key = BlockKey { phase: Phase::Measure, round: 3, attempt: 0, distinct: false, salt: 0 };
    let block = WorkBlock { directory: &directory, key, operations: work.files(), control };
    files.setup(&block)?;
    let counted = files.run(&block, &mut stopwatch)?;
    let taken = files.usage().unwrap();
    files.teardown(&block)?;
    Ok((counted, taken, stopwatch))
}

/// Runs one block in which every file must be as expected.
fn right(work: &FileWork, data: &Data, path: &Path) -> (BlockUsage, Stopwatch) {
    let (counted, taken, stopwatch) = block(work, data, path, SIGNALS).unwrap();
    assert_eq!((counted.entries, counted.hash), (work.files(), 0), "{work:?} {data:?}");
    (taken, stopwatch)
}

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

fn number_of(path: &Path) -> u64 {
    let directory = os::open_directory(path.parent().unwrap()).unwrap();
    let status = os::status(directory.at(), path.file_name().unwrap().as_encoded_bytes()).unwrap();
    assert_eq!((status.owner, status.links), (os::own_user(), 1));
    #[cfg(target_os = "linux")]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::symlink_metadata(path).unwrap());
        assert_eq!(mode & 0o7777, 0o644);
    }
    status.identity.1
}

#[cfg(target_os = "linux")]
fn place() -> Result<Mount, String> {
    Mount::make(&TMPFS)
}

#[cfg(windows)]
fn place() -> Result<Scratch, String> {
    tempfile::tempdir().map(Scratch).map_err(|error| error.to_string())
}

#[cfg(windows)]
struct Scratch(tempfile::TempDir);

#[cfg(windows)]
impl Scratch {
    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

/// Checks the files against the data set and returns their inode numbers.
fn check(files: &dataset::Files, top: &Path, indices: impl Iterator<Item = u64>) -> Vec<u64> {
    let file = |index| {
        let path = top.join(path_of(files, index));
        let content = std::fs::read(&path).unwrap();
        let mut expected = vec![0; files.size_bytes(index) as usize];
        files.content(index).fill(&mut expected);
        assert!(content == expected, "{path:?}");
        number_of(&path)
    };
    indices.map(file).collect()
}

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
