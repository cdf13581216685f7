//! `ext4-device` while a writer runs at full speed: whatever it takes from the device is what statx(2) could have
//! returned at some moment of the listing.
//!
//! The writer is alone with its files, so it knows every state of every name: each is valid from the beginning of the
//! operation that made it to the end of the next. Rows changed less than a second before the listing are from
//! statx(2) and may show half an operation; all others must be one of these states. One half operation has an old
//! time of change: a file that shrinks has its new size first, in memory and on the device.
//!
//! inline_data is missing: in Linux 6.18 the commit of the journal waits for itself if such files change fast.

use std::fs::{self, File, FileTimes};
use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use megadir::{Attributes, Dir, StatMask, Time, stat_backend};
use megadir_testkit::mount::{EXT4, EXT4_1K, EXT4_SMALL_INODES, HASH_SEED, Mount, Recipe, run};
use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::rng::Rng;
use megadir_testkit::stat_conformance::{drain, ways};

const FILES: u64 = 12_000;

#[derive(Debug)]
struct State {
    from: Instant,
    /// `None` while it lasts.
    until: Option<Instant>,
    /// `None` while the name is missing.
    metadata: Option<fs::Metadata>,
    /// Changes that the next operation makes before its others.
    first: First,
}

#[derive(Clone, Copy, Debug, Default)]
struct First {
    /// Size to which the file shrinks.
    size: Option<u64>,
    /// User of chown, which has a transaction of its own (`ext4_setattr`).
    user: Option<u32>,
}

struct Files {
    directory: PathBuf,
    states: Vec<Mutex<Vec<State>>>,
    /// Earlier states are forgotten.
    listed_from: RwLock<Instant>,
    changes: AtomicU64,
}

impl Files {
    fn create(directory: PathBuf) -> Self {
        fs::create_dir(&directory).unwrap();
        let files = Self {
            states: (0..FILES).map(|_| Mutex::default()).collect(),
            directory,
            listed_from: RwLock::new(Instant::now()),
            changes: AtomicU64::new(0),
        };
        for file in 0..FILES {
            fs::write(files.path(file), vec![1; file as usize % 9000]).unwrap();
            files.note(file, Instant::now(), First::default());
        }
        files
    }

    fn path(&self, file: u64) -> PathBuf {
        self.directory.join(format!("{file:024}"))
    }

    /// Records the state of a name after an operation that began at `from`.
    fn note(&self, file: u64, from: Instant, first: First) {
        let metadata = fs::symlink_metadata(self.path(file)).ok();
        let mut states = self.states[file as usize].lock().unwrap();
        if let Some(last) = states.last_mut() {
            last.until = Some(Instant::now());
            last.first = first;
        }
        let listed_from = *self.listed_from.read().unwrap();
        states.retain(|state| state.until.is_none_or(|until| until >= listed_from));
        states.push(State { from, until: None, metadata, first: First::default() });
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Each operation may fail, depending on the current state.
    fn change(&self, rng: &mut Rng) {
        let (file, other) = (rng.within(0, FILES - 1), rng.within(0, FILES - 1));
        let path = self.path(file);
        let from = Instant::now();
        let open = || File::options().read(true).write(true).open(&path);
        let bytes = |rng: &mut Rng| vec![2; rng.within(1, 20_000) as usize];
        let mut first = First::default();
        let _ = match rng.within(0, 11) {
            0 | 1 => {
                first.size = Some(0);
                fs::write(&path, bytes(rng))
            }
            2 => File::options().append(true).open(&path).and_then(|mut file| file.write_all(&bytes(rng))),
            3 => {
                let bytes = rng.within(0, 30_000);
                first.size = Some(bytes);
                open().and_then(|file| file.set_len(bytes))
            }
            4 => fs::rename(&path, self.path(other)),
            5 => fs::remove_file(&path),
            6 => open().and_then(|file| megadir_sys::page_cache::write_first_byte(file.as_fd(), 7)),
            7 => open().and_then(|file| file.write_all_at(b"far", rng.within(0, 1 << 33))),
            8 => fs::set_permissions(&path, PermissionsExt::from_mode(0o600 | rng.within(0, 0o77) as u32)),
            // Backwards too.
            9 => {
                let modified = UNIX_EPOCH + Duration::from_millis(rng.within(0, 1 << 41));
                open().and_then(|file| file.set_times(FileTimes::new().set_modified(modified)))
            }
            // Nothing but times changes.
            10 => open().and_then(|file| file.write_all_at(b"x", 0)),
            _ => {
                first.user = Some(rng.within(0, 1 << 20) as u32);
                chown(&path, first.user, None)
            }
        };
        self.note(file, from, first);
        if other != file {
            self.note(other, from, First::default());
        }
    }

    /// Asserts a row of a listing; `true` if it is older than the listing.
    fn check(
        &self,
        name: &[u8],
        row: &Attributes,
        settled: Time,
        listed: (Instant, Instant),
        label: &str,
    ) -> bool {
        if row.error != 0 || row.changed >= settled {
            assert!(row.error == 0 || row.has_vanished(), "{label}: {row:?}");
            return false;
        }
        let file: usize = std::str::from_utf8(name).unwrap().parse().unwrap();
        if !self.was_possible(file, row, listed) {
            // The operation of that moment may still be running.
            let changes = self.changes.load(Ordering::Relaxed);
            while self.changes.load(Ordering::Relaxed) < changes + 4 {
                std::thread::yield_now();
            }
            assert!(
                self.was_possible(file, row, listed),
                "{label}: {file}: {row:?} is none of {:#?}",
                self.states[file]
            );
        }
        true
    }

    fn was_possible(&self, file: usize, row: &Attributes, listed: (Instant, Instant)) -> bool {
        let states = self.states[file].lock().unwrap();
        let during =
            |state: &&State| state.from <= listed.1 && state.until.is_none_or(|until| until >= listed.0);
        states
            .iter()
            .filter(during)
            .any(|state| state.metadata.as_ref().is_some_and(|metadata| is_same(row, metadata, state.first)))
    }
}

/// Blocks are assigned when data is written back, at any time.
fn is_same(row: &Attributes, state: &fs::Metadata, first: First) -> bool {
    let stored = |seconds, nanoseconds: i64| Time { seconds, nanoseconds: nanoseconds as u32 };
    let shrunk = first.size.map(|bytes| bytes.min(state.size()));
    (row.size_bytes == state.size() || Some(row.size_bytes) == shrunk)
        && (row.inode, row.links) == (state.ino(), state.nlink())
        && (row.user == state.uid() || Some(row.user) == first.user)
        && (row.group, u32::from(row.mode)) == (state.gid(), state.mode() & 0o7777)
        && row.modified == stored(state.mtime(), state.mtime_nsec())
        && row.changed == stored(state.ctime(), state.ctime_nsec())
        && row.accessed == stored(state.atime(), state.atime_nsec())
        && state.created().map_or(true, |born| row.born == time(born))
}

fn time(time: SystemTime) -> Time {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Time { seconds: after.as_secs() as i64, nanoseconds: after.subsec_nanos() },
        Err(_) => panic!("the clock is before 1970"),
    }
}

/// Runs listings while the writer runs.
fn beside_a_writer(recipe: &Recipe, options: &str) -> Result<(), String> {
    let mount = Mount::make(recipe)?;
    if !options.is_empty() {
        run(Command::new("mount").args(["-o", options]).arg(mount.path()))?;
    }
    let files = Files::create(mount.path().join("d"));
    let directory = Dir::open(&files.directory).unwrap();
    let ext4_device = stat_backend("ext4-device").unwrap();
    ext4_device.probe(&directory).unwrap();
    let until = Instant::now() + if full() { Duration::from_secs(30) } else { Duration::from_millis(2500) };
    let stop = AtomicBool::new(false);
    let mut old = 0;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut rng = Rng::new(3);
            while !stop.load(Ordering::Relaxed) {
                files.change(&mut rng);
            }
        });
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            while Instant::now() < until {
                for way in ways(ext4_device, &directory, StatMask::ALL, 64 << 10) {
                    let label = format!("{} {options}: {way}", recipe.name);
                    old += listing(&files, &directory, &way, &label);
                }
            }
        }));
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        checked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    assert!(
        old > 1000 && files.changes.load(Ordering::Relaxed) > FILES,
        "{} {options}: {old} rows",
        recipe.name
    );
    Ok(())
}

fn listing(files: &Files, directory: &Dir, way: &megadir::AttributeChoice, label: &str) -> u64 {
    let (from, now) = (Instant::now(), SystemTime::now());
    *files.listed_from.write().unwrap() = from;
    let examined = drain(directory.again().unwrap(), way);
    let listed = (from, Instant::now());
    assert!(examined.error.is_none(), "{label}: {:?}", examined.error);
    let settled = time(now - Duration::from_secs(1));
    let is_old = |(name, row): &&(Vec<u8>, Attributes)| files.check(name, row, settled, listed, label);
    examined.rows.iter().filter(is_old).count() as u64
}

const fn made(name: &'static str, mkfs: &'static [&'static str]) -> Recipe {
    Recipe { name, mkfs, ..EXT4 }
}

const NO_JOURNAL: Recipe = made(
    "ext4 without a journal",
    &["mkfs.ext4", "-q", "-F", "-N", "40000", "-E", HASH_SEED, "-O", "^has_journal"],
);
const FAST_COMMIT: Recipe = made(
    "ext4 with fast_commit",
    &["mkfs.ext4", "-q", "-F", "-N", "40000", "-E", HASH_SEED, "-O", "fast_commit"],
);
const BIGALLOC: Recipe = made(
    "ext4 with bigalloc",
    &["mkfs.ext4", "-q", "-F", "-N", "40000", "-E", HASH_SEED, "-O", "bigalloc", "-C", "16384"],
);
const NO_DELALLOC: Recipe = Recipe { tune: &["tune2fs", "-o", "nodelalloc"], ..EXT4 };
const JOURNALLED_DATA: Recipe = Recipe { tune: &["tune2fs", "-o", "journal_data"], ..EXT4 };

macro_rules! beside_a_writer {
    ($($test:ident: $recipe:expr, $options:expr;)*) => {
        $(
            #[test]
            fn $test() {
                require!(beside_a_writer(&$recipe, $options));
            }
        )*
    };
}

beside_a_writer! {
    values_read_from_the_device_are_true: EXT4, "";
    with_lazytime: EXT4, "remount,lazytime";
    with_journalled_data: JOURNALLED_DATA, "";
    without_delayed_allocation: NO_DELALLOC, "";
    without_a_journal: NO_JOURNAL, "";
    with_fast_commit: FAST_COMMIT, "";
    with_small_blocks: EXT4_1K, "";
    with_bigalloc: BIGALLOC, "";
    with_small_inodes: EXT4_SMALL_INODES, "";
    with_small_blocks_and_lazytime: EXT4_1K, "remount,lazytime";
}

/// These come from the superblock, which a file system may ignore.
#[test]
fn mount_options_are_as_named() {
    for (recipe, option) in [(JOURNALLED_DATA, "data=journal"), (NO_DELALLOC, "nodelalloc")] {
        let mount = require!(Mount::make(&recipe));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let of = |line: &&str| line.contains(mount.path().to_str().unwrap());
        let options = mounts.lines().find(of).unwrap().to_owned();
        // Defaults of the superblock are not shown; the sysfs of the device is.
        let device = options.rsplit(" - ext4 ").next().unwrap().split(' ').next().unwrap().to_owned();
        let shown =
            format!("/proc/fs/ext4/{}/options", Path::new(&device).file_name().unwrap().to_str().unwrap());
        let shown = fs::read_to_string(shown).unwrap();
        assert!(shown.lines().any(|line| line == option), "{option} is not among {shown}");
    }
}
