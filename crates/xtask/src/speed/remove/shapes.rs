//! Trees and single directories to remove, with their file systems and cache states.

use super::super::arms::{DIRECTORY, Part};
use super::super::fill;
use super::super::interrupt::Interrupt;
use rustix::fs::{CWD, Mode, OFlags};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Size of files that are not empty, bytes.
const FILE_BYTES: usize = 50_000;
/// Number of directories in a tree.
const DIRECTORIES: u64 = 1000;

/// One comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Name in headings.
    pub(crate) name: &'static str,
    /// Word on the command line that selects it.
    pub(crate) part: Part,
    /// File systems to remove it on.
    pub(crate) file_systems: &'static [&'static str],
    /// Number of directories below the root; 0: all files are in the root.
    directories: u64,
    /// Each directory is in the preceding directory and has one file.
    pub(crate) is_chain: bool,
    /// Divisor of `--entries` that gives the number of files.
    entries_per_file: u64,
    /// Size of each file, bytes.
    file_bytes: usize,
    /// `true` if it is dropped from the caches before each run.
    pub(crate) is_cold: bool,
}

const FLAT: Shape = Shape {
    name: "one directory, warm",
    part: Part::RemoveFlat,
    file_systems: &["ext4", "xfs", "btrfs"],
    directories: 0,
    is_chain: false,
    entries_per_file: 2,
    file_bytes: 0,
    is_cold: false,
};

const CHAIN: Shape = Shape { part: Part::RemoveChain, is_chain: true, ..FLAT };

/// All comparisons.
pub(crate) static SHAPES: &[Shape] = &[
    Shape {
        name: "a tree of empty files, warm",
        part: Part::RemoveTree,
        file_systems: &["ext4", "xfs"],
        directories: DIRECTORIES,
        entries_per_file: 1,
        ..FLAT
    },
    Shape {
        name: "a tree of files of 50 kB, warm",
        part: Part::RemoveSized,
        file_systems: &["ext4", "xfs"],
        directories: DIRECTORIES,
        entries_per_file: 10,
        file_bytes: FILE_BYTES,
        ..FLAT
    },
    FLAT,
    Shape { name: "one directory, cold", part: Part::RemoveFlatCold, is_cold: true, ..FLAT },
    Shape { name: "a chain of 1000 directories, warm", directories: 1000, ..CHAIN },
    Shape { name: "a chain of 2000 directories, warm", directories: 2000, ..CHAIN },
    Shape { name: "a chain of 4000 directories, warm", directories: 4000, ..CHAIN },
];

impl Shape {
    /// Returns the number of files for this value of `--entries`.
    pub(crate) fn files(&self, entries: u64) -> u64 {
        if self.is_chain { self.directories } else { (entries / self.entries_per_file).max(1) }
    }

    /// Returns the total size of its files, bytes.
    pub(crate) fn bytes(&self, entries: u64) -> u64 {
        self.files(entries) * self.file_bytes as u64
    }

    /// Describes its content.
    pub(crate) fn about(&self, entries: u64) -> String {
        let files = self.files(entries);
        let size = if self.file_bytes == 0 {
            "empty files".into()
        } else {
            format!("files of {} bytes", self.file_bytes)
        };
        match self.directories {
            0 => format!("{files} {size} in one directory"),
            directories if self.is_chain => {
                format!("{files} {size}, one in each of {directories} nested directories")
            }
            directories => format!("{files} {size} in {directories} directories"),
        }
    }

    /// Creates it below the root of a file system; on return it is on stable storage.
    pub(crate) fn make(&self, root: &Path, entries: u64, interrupt: &Interrupt) -> Result<(), String> {
        let (path, files) = (root.join(DIRECTORY), self.files(entries));
        if self.directories == 0 {
            return fill::fill(&path, files, interrupt).map(|_| ());
        }
        let cannot = |error: std::io::Error| format!("cannot create {}: {error}", path.display());
        if self.is_chain {
            return chain(root, self.directories).map_err(|error| cannot(error.into()));
        }
        let content = vec![0x5a; self.file_bytes];
        std::fs::create_dir(&path).map_err(cannot)?;
        for directory in 0..self.directories {
            let folder = path.join(format!("{directory:06}"));
            std::fs::create_dir(&folder).map_err(cannot)?;
            let (from, to) =
                (directory * files / self.directories, (directory + 1) * files / self.directories);
            for number in from..to {
                std::fs::write(folder.join(format!("file{number:012}")), &content).map_err(cannot)?;
            }
            interrupt.check()?;
        }
        let directory =
            rustix::fs::openat(CWD, &path, FOLDER, Mode::empty()).map_err(|error| cannot(error.into()))?;
        rustix::fs::syncfs(&directory).map_err(|error| cannot(error.into()))
    }

    /// Reads all names, inodes and contents into the caches.
    pub(crate) fn warm(&self, root: &Path) -> Result<(), String> {
        if self.is_chain {
            return warm_chain(&root.join(DIRECTORY))
                .map_err(|error| format!("cannot read a chain: {error}"));
        }
        let mut folders: Vec<PathBuf> = vec![root.join(DIRECTORY)];
        let mut buffer = vec![0; 1 << 16];
        while let Some(folder) = folders.pop() {
            let mut read = || -> std::io::Result<()> {
                for entry in std::fs::read_dir(&folder)? {
                    let entry = entry?;
                    if entry.metadata()?.is_dir() {
                        folders.push(entry.path());
                    } else if self.file_bytes > 0 {
                        let mut file = std::fs::File::open(entry.path())?;
                        while file.read(&mut buffer)? > 0 {}
                    }
                }
                Ok(())
            };
            read().map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
        }
        Ok(())
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Creates a chain and syncs it. Its path may be longer than `PATH_MAX`, so each level is opened relative to the level above.
fn chain(root: &Path, directories: u64) -> rustix::io::Result<()> {
    let mut at = rustix::fs::openat(CWD, root, FOLDER, Mode::empty())?;
    for level in 0..=directories {
        let name = if level == 0 { DIRECTORY } else { "d" };
        rustix::fs::mkdirat(&at, name, Mode::RWXU)?;
        at = rustix::fs::openat(&at, name, FOLDER, Mode::empty())?;
        if level > 0 {
            rustix::fs::openat(&at, "file", OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR)?;
        }
    }
    rustix::fs::syncfs(&at)
}

/// Reads names and inodes of a chain into the caches.
fn warm_chain(path: &Path) -> rustix::io::Result<()> {
    let mut at = rustix::fs::openat(CWD, path, FOLDER, Mode::empty())?;
    loop {
        for entry in rustix::fs::Dir::read_from(&at)? {
            rustix::fs::statat(&at, entry?.file_name(), rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
        }
        at = match rustix::fs::openat(&at, "d", FOLDER, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => return Ok(()),
            below => below?,
        };
    }
}
