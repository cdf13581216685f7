//! Entries changed a moment ago, whose old values are on disk while statx returns the new ones; and a stat
//! backend whose hooks change entries at chosen moments.
//!
//! ```text
//! Hooked -> start(): on_start -> inner.start      HookedExamine -> examine(): before(batch) -> inner.examine
//! ```

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use megadir::{Attributes, Batch, Dir, Examine, FileSystem, Result, StatBackend, StatMask, Time};

use crate::stat_conformance::trees::{oracle, set_modified};
use crate::stat_conformance::{Ground, trees};

const ENTRIES: u64 = 300;

pub(super) fn fresh(ground: &Ground) {
    let path = ground.directory.join(format!("fresh-{}", ground.stat_backend.name()));
    std::fs::create_dir(&path).unwrap();
    trees::fill(&path, ENTRIES);
    // Flush everything, so that later changes differ from the disk.
    rustix::fs::syncfs(File::open(&path).unwrap()).unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    change(&paths);
    trees::differ(&path.join("new"), 12_345);
    // A file that grows while it is open, and one without a name, are in memory only.
    let mut growing = File::create_new(path.join("growing")).unwrap();
    growing.write_all(&[1; 5000]).unwrap();
    let unlinked = File::create_new(path.join("unlinked")).unwrap();
    std::fs::remove_file(path.join("unlinked")).unwrap();
    // Three times: after changes, after data that an open file still holds, and after a wait in which
    // everything may reach the disk.
    still(&path);
    ground.check_path(&path, 4 << 10);
    growing.write_all(&[2; 5000]).unwrap();
    still(&path);
    ground.check_path(&path, 32 << 10);
    change(&paths);
    ground.settle(&path);
    still(&path);
    ground.check_path(&path, 32 << 10);
    drop((growing, unlinked));
    std::fs::remove_dir_all(&path).unwrap();
}

/// The server sets the change time.
fn still(path: &Path) {
    // Waits until two readings agree, for file systems of a server.
    if Dir::open(path).unwrap().file_system() != FileSystem::Fuse {
        return;
    }
    let mut truth = oracle(path);
    loop {
        // Some servers report whole seconds only.
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let before = std::mem::replace(&mut truth, oracle(path));
        if before == truth {
            return;
        }
    }
}

/// One change for each eighth of the entries; a second call changes the same entries again.
fn change(paths: &[PathBuf]) {
    for (index, entry) in paths.iter().enumerate() {
        match index % 8 {
            0 => File::options().append(true).open(entry).unwrap().write_all(&[7; 70_000]).unwrap(),
            1 => File::options().write(true).open(entry).unwrap().set_len(index as u64).unwrap(),
            2 => std::fs::set_permissions(entry, PermissionsExt::from_mode(0o7000 + index as u32)).unwrap(),
            3 => set_modified(entry, Time { seconds: -(index as i64), nanoseconds: index as u32 }),
            4 => {
                let _ = std::fs::remove_file(entry.with_extension("link"));
                std::fs::hard_link(entry, entry.with_extension("link")).unwrap();
            }
            5 => {
                trees::differ(&entry.with_extension("other"), index as u64);
                std::fs::rename(entry.with_extension("other"), entry).unwrap();
            }
            6 if rustix::process::geteuid().is_root() => chown(entry, Some(index as u32), Some(77)).unwrap(),
            // The entry may be a directory since the first call.
            _ if entry.is_file() => {
                std::fs::remove_file(entry).unwrap();
                std::fs::create_dir(entry).unwrap();
            }
            _ => {
                let below = std::fs::read_dir(entry).unwrap().count();
                std::fs::create_dir(entry.join(below.to_string())).unwrap();
            }
        }
    }
}

type OnStart = dyn Fn() -> Result<()> + Send + Sync;
type OnExamine = dyn Fn(Batch<'_>) -> Result<()> + Send + Sync;

/// Leaked like [`Faulty`](crate::faulty::Faulty), since a choice holds references without an end.
pub struct Hooked {
    inner: &'static dyn StatBackend,
    on_start: Box<OnStart>,
    on_examine: Arc<OnExamine>,
}

impl Hooked {
    pub fn on_start(
        inner: &'static dyn StatBackend,
        before: impl Fn() -> Result<()> + Send + Sync + 'static,
    ) -> &'static dyn StatBackend {
        Self { inner, on_start: Box::new(before), on_examine: Arc::new(|_| Ok(())) }.leak()
    }

    pub fn on_examine(
        inner: &'static dyn StatBackend,
        before: impl Fn(Batch<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> &'static dyn StatBackend {
        Self { inner, on_start: Box::new(|| Ok(())), on_examine: Arc::new(before) }.leak()
    }

    fn hook(&self, inner: Box<dyn Examine>) -> Box<dyn Examine> {
        Box::new(HookedExamine { inner, before: Arc::clone(&self.on_examine) })
    }

    fn leak(self) -> &'static dyn StatBackend {
        Box::leak(Box::new(self))
    }
}

impl StatBackend for Hooked {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn about(&self) -> &'static str {
        self.inner.about()
    }

    fn probe(&self, directory: &Dir) -> Result<()> {
        self.inner.probe(directory)
    }

    fn start(&self, directory: &Dir, want: StatMask) -> Result<Box<dyn Examine>> {
        (self.on_start)()?;
        Ok(self.hook(self.inner.start(directory, want)?))
    }

    fn start_threads(
        &self,
        directory: &Dir,
        want: StatMask,
        threads: usize,
    ) -> Result<Vec<Box<dyn Examine>>> {
        // The hook runs once per thread: each of them starts.
        (0..threads).try_for_each(|_| (self.on_start)())?;
        let inner = self.inner.start_threads(directory, want, threads)?;
        Ok(inner.into_iter().map(|inner| self.hook(inner)).collect())
    }
}

struct HookedExamine {
    inner: Box<dyn Examine>,
    before: Arc<OnExamine>,
}

impl Examine for HookedExamine {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        (self.before)(batch)?;
        self.inner.examine(directory, batch, rows)
    }
}
