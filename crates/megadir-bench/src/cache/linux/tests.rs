//! Cache states on real file systems: dropped data are gone, and leftovers are detected.

use std::fs::{File, create_dir, write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use megadir::Dir;
use megadir_record::CacheState;
use megadir_stats::permutation::SplitMix64;
use megadir_sys::page_cache::resident;
use megadir_sys::usage::thread_waits;
use megadir_testkit::mount::{BTRFS, EXT4, Mount, Recipe, XFS, copy_program};
use megadir_testkit::require;
use megadir_testkit::unprivileged::unprivileged;
use rustix::fs::{AtFlags, statat};

use super::names::{CachedNames, verify_cold};
use crate::cache::Set;
use crate::cache::linux;
use crate::cache::tree::{Pass, Sampled, are_there, each};
use crate::cache_facts;
use crate::control::{RunControl, WorkError};

static NEVER: AtomicBool = AtomicBool::new(false);
static BEAT: AtomicU64 = AtomicU64::new(0);
const SIGNALS: RunControl<'static> = RunControl { stop: &NEVER, heartbeat: &BEAT };
const FILE_BYTES: usize = 40 << 10;
/// Longest wait for a busy machine.
const PATIENCE: Duration = Duration::from_secs(150);
/// One test drops at a time: a parallel test would warm names meanwhile.
static DROPS: Mutex<()> = Mutex::new(());

/// A tree: 300 files in the directory and 20 below it.
fn tree(path: &Path) -> Dir {
    let content: Vec<u8> = (0..FILE_BYTES).map(|place| (place % 251) as u8).collect();
    for index in 0..300 {
        write(path.join(format!("file{index}")), &content).unwrap();
    }
    create_dir(path.join("below")).unwrap();
    for index in 0..20 {
        write(path.join(format!("below/deep{index}")), &content).unwrap();
    }
    Dir::open(path).unwrap()
}

/// A program running from the tree: its pages are mapped, its name and inode in use.
struct Running(Child);

impl Running {
    fn start(path: &Path) -> Self {
        copy_program(Path::new("/bin/sleep"), &path.join("asleep")).unwrap();
        let running = Self(Command::new(path.join("asleep")).arg("600").spawn().unwrap());
        // Once the program sleeps it has run, so its pages are mapped.
        let state = || {
            let status = std::fs::read_to_string(format!("/proc/{}/stat", running.0.id())).unwrap();
            status[status.rfind(')').unwrap()..].chars().nth(2)
        };
        let started = Instant::now();
        while state() != Some('S') {
            assert!(started.elapsed() < PATIENCE, "it does not come to sleep");
            std::thread::sleep(Duration::from_millis(1));
        }
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sample(directory: &Dir) -> (u64, Vec<Sampled>) {
    let mut random = SplitMix64::new(7);
    let mut pass = Pass::new(&mut random);
    each(directory.as_fd(), true, SIGNALS, &mut |found| pass.see(found)).unwrap();
    (pass.seen, pass.sample)
}

fn reason(result: Result<(), WorkError>) -> String {
    result.unwrap_err().to_string()
}

fn contents_go(recipe: &Recipe) -> Result<(), String> {
    let mount = Mount::make(recipe)?;
    let directory = tree(&mount.path());
    let cached = |name: &str| resident(File::open(mount.path().join(name)).unwrap().as_fd()).unwrap();
    assert!(cached("file7").cached > 0 && cached("below/deep7").cached > 0, "{}", recipe.name);
    linux::drop_all(directory.as_fd(), true, SIGNALS).unwrap();
    for index in 0..300 {
        assert_eq!(cached(&format!("file{index}")).cached, 0, "{}", recipe.name);
    }
    assert_eq!(cached("below/deep7").cached, 0, "{}", recipe.name);
    // Names and inodes are still cached: a lookup reads nothing.
    let before = thread_waits().read_sectors;
    statat(&directory, "below/deep7", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    assert_eq!(thread_waits().read_sectors, before, "{}", recipe.name);
    // Contents are read from the device again.
    std::fs::read(mount.path().join("file7")).unwrap();
    assert!(thread_waits().read_sectors >= before + (FILE_BYTES as u64 >> 9), "{}", recipe.name);
    Ok(())
}

#[test]
fn dropping_data_keeps_names_cached() {
    for recipe in [&EXT4, &XFS, &BTRFS] {
        let _alone = DROPS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        require!(contents_go(recipe));
    }
}

#[test]
fn contents_that_stay_are_noticed() {
    let mount = require!(Mount::make(&EXT4));
    let directory = Dir::open(mount.path()).unwrap();
    assert!(reason(linux::drop_all(directory.as_fd(), true, SIGNALS)).contains("the files are empty"));
    let running = Running::start(&mount.path());
    let refused = reason(linux::drop_all(directory.as_fd(), true, SIGNALS));
    assert!(refused.contains("first of 'asleep': another process has them mapped"), "{refused}");
    drop(running);
    linux::drop_all(directory.as_fd(), true, SIGNALS).unwrap();
    // Put the program into a subdirectory.
    create_dir(mount.path().join("down")).unwrap();
    std::fs::rename(mount.path().join("asleep"), mount.path().join("down/asleep")).unwrap();
    assert!(reason(linux::drop_all(directory.as_fd(), false, SIGNALS)).contains("the files are empty"));
}

/// Drops names until they are gone: a drop fails legitimately while a build or another test writes, fills the
/// kernel's cache of names, or drops the caches too.
fn unless_others_are_busy(mut drop_all: impl FnMut() -> Result<(), WorkError>) -> Result<(), WorkError> {
    let of_others = ["the kernel still holds", "are still unwritten", "nothing could be verified"];
    let started = Instant::now();
    loop {
        match drop_all() {
            Err(error)
                if started.elapsed() < PATIENCE
                    && of_others.iter().any(|reason| error.to_string().contains(reason)) =>
            {
                std::thread::sleep(Duration::from_millis(200));
            }
            dropped => return dropped,
        }
    }
}

fn names_go(recipe: &Recipe) -> Result<(), String> {
    let mount = Mount::make(recipe)?;
    let directory = tree(&mount.path());
    let (entries, drawn) = sample(&directory);
    // Plus the entries that mkfs creates.
    assert!((321..=322).contains(&entries) && drawn.len() == 64, "{entries}");
    let mut names = CachedNames::default();
    let mut evict = || {
        unless_others_are_busy(|| {
            // A drop that failed has dropped names too: the sample must be in the cache before the next.
            let (entries, drawn) = sample(&directory);
            let file_system = recipe.kind.to_owned();
            let set = Set { deep: true, warm: true, entries, sample: drawn, file_system };
            names.drop_all(directory.as_fd(), &set, SIGNALS)
        })
    };
    evict().unwrap();
    let before = thread_waits().read_sectors;
    statat(&directory, "file7", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    assert!(thread_waits().read_sectors > before, "{}: the first stat read nothing", recipe.name);
    are_there(directory.as_fd(), &drawn).unwrap();
    let warm = reason(verify_cold(CacheState::VfsCold, directory.as_fd(), &drawn));
    assert!(warm.contains("64 names were found without a read"), "{warm}");
    // Names in use stay cached, and this is detected.
    let held: Vec<File> = drawn
        .iter()
        .map(|path| File::open(mount.path().join(std::str::from_utf8(path).unwrap())).unwrap())
        .collect();
    let refused = reason(evict());
    assert!(refused.contains("64 of 64 sampled names are still cached"), "{refused}");
    drop(held);
    evict().unwrap();
    verify_cold(CacheState::VfsCold, directory.as_fd(), &drawn).unwrap();
    Ok(())
}

#[test]
fn dropping_names_and_inodes_detects_entries_in_use() {
    for recipe in [&EXT4, &XFS, &BTRFS] {
        let _alone = DROPS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        require!(names_go(recipe));
    }
}

#[test]
fn memory_has_no_cold_state_and_users_may_not_drop() {
    for state in [CacheState::DataCold, CacheState::VfsCold] {
        assert!(linux::unavailable(state, "tmpfs").unwrap().contains("it stores its data in the cache"));
        assert!(linux::unavailable(state, "overlay").unwrap().contains("it is unknown"));
    }
    assert_eq!(linux::unavailable(CacheState::Warm, "tmpfs"), None);
    assert_eq!(linux::unavailable(CacheState::DataCold, "ext4"), None);
    let refused = unprivileged(|| linux::unavailable(CacheState::VfsCold, "ext4"));
    assert!(refused.unwrap().contains("it needs root"));
    let facts = cache_facts(&Dir::open("/dev/shm").unwrap());
    assert_eq!(facts.iter().filter(|fact| fact.unavailable.is_none()).count(), 2, "{facts:?}");
}
