//! Name, size and time of the last modification of every regular file of a directory, by one of the methods of `method.rs`.
//!
//! Each operation opens the directory, fills a vector of names and times (or looks at each file once, where the plan says so), and gives everything back, as a program that looks for
//! changed files does. Files are hashed as they are kept, in every method alike by two multiplications more than a name takes; types
//! are in the hash in so far as only regular files are kept. Of a method that does not tell sizes, names and times are hashed; what
//! the oracle (Rust's standard library) found before the run gives either hash, so all methods are held to the same set.

use std::ffi::CStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use megadir::policy::Choice;
use megadir::{
    AttributeChoice, AttributeListing, Dir, FileType, ReadOptions, Strategy, Time, Want, attribute_policy,
};
use megadir_record::{Counted, ExpectedFiles};
use rustix::io::Errno;

use super::list::name_hash;
use super::{BlockKey, ListError, Signals, Workload};
use crate::beat::{COMPUTING, marked};
use crate::measure::Stopwatch;
use crate::method::{AskingOrder, Method, Way, method_named, unavailable};

/// What is wanted of each entry.
const WANT: Want = Want::TYPE.union(Want::SIZE).union(Want::MODIFIED);
/// Signs of life come every so many entries.
const STEP: u64 = 4096;

/// One arm's work.
pub(crate) struct FileAttributes {
    method: &'static Method,
    buffer_bytes: u64,
    threads: usize,
    keeps: bool,
}

/// What is kept of a directory: a vector of names and times, and the hashes of what was told.
#[derive(Debug, Default)]
struct Files {
    /// The vector, where files are kept.
    rows: Option<Vec<(Box<[u8]>, Time)>>,
    files: u64,
    /// Of names and times.
    times: u64,
    /// Of names, times and sizes.
    all: u64,
    seen: u64,
    /// Calls that ask, where the method can count them.
    calls: Option<u64>,
}

impl Files {
    #[inline]
    fn add(&mut self, name: &[u8], size_bytes: u64, modified: Time) {
        let times = fold(name_hash(name), modified.seconds as u64 ^ (u64::from(modified.nanoseconds) << 34));
        self.times = self.times.wrapping_add(times);
        self.all = self.all.wrapping_add(fold(times, size_bytes));
        self.files += 1;
        if let Some(rows) = &mut self.rows {
            rows.push((name.into(), modified));
        }
    }

    /// Gives a sign of life now and then.
    #[inline]
    fn check(&mut self, signals: Signals<'_>) -> Result<(), ListError> {
        self.seen += 1;
        if self.seen.is_multiple_of(STEP) { signals.check() } else { Ok(()) }
    }

    fn expected(&self, tells_sizes: bool) -> ExpectedFiles {
        let hash = if tells_sizes { self.all } else { self.times };
        ExpectedFiles { files: self.files, hash }
    }
}

/// Returns a hash of a hash and a number.
#[inline]
fn fold(hash: u64, number: u64) -> u64 {
    const KEY: u64 = 0xd1b5_4a32_d192_ed03;
    let product = u128::from(hash ^ KEY) * u128::from(number ^ KEY.rotate_left(29));
    (product as u64) ^ (product >> 64) as u64 ^ hash.rotate_left(17)
}

fn failed(stage: &'static str) -> impl Fn(std::io::Error) -> ListError {
    move |source| ListError::Stage { stage, source }
}

/// What the oracle finds in a directory: the expectation of methods that tell sizes, and that of those that do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truth {
    with_sizes: ExpectedFiles,
    times_only: ExpectedFiles,
}

impl Truth {
    /// Lets Rust's standard library find out every regular file of a directory.
    pub(crate) fn of(directory: &Dir, signals: Signals<'_>) -> Result<Self, ListError> {
        let mut files = Files::default();
        std_fs(directory, &mut files, signals)?;
        Ok(Self { with_sizes: files.expected(true), times_only: files.expected(false) })
    }

    /// Returns what a method must find.
    pub(crate) fn expected(&self, method: &str) -> Option<ExpectedFiles> {
        let tells_sizes = method_named(method).ok()?.tells_sizes;
        Some(if tells_sizes { self.with_sizes } else { self.times_only })
    }
}

impl FileAttributes {
    pub(crate) fn new(
        method: &str,
        buffer_bytes: Option<u64>,
        threads: u32,
        keeps: bool,
    ) -> Result<Self, ListError> {
        let method =
            method_named(method).map_err(|reason| failed("attributes")(std::io::Error::other(reason)))?;
        Ok(Self { method, buffer_bytes: buffer_bytes.unwrap_or(0), threads: threads as usize, keeps })
    }

    /// Does it once.
    fn once(&self, directory: &Dir, signals: Signals<'_>) -> Result<Counted, ListError> {
        let mut files = Files { rows: self.keeps.then(Vec::new), ..Files::default() };
        match self.method.way {
            Way::Path => self.by_path(directory, &mut files, signals)?,
            Way::Examined { .. } | Way::Policy => self.examined(directory, &mut files, signals)?,
            Way::StdFs => std_fs(directory, &mut files, signals)?,
            Way::CppFilesystem => marked(signals.beat, COMPUTING, || cpp_filesystem(directory, &mut files))?,
        }
        let ExpectedFiles { files: entries, hash } = files.expected(self.method.tells_sizes);
        Ok(Counted { entries, hash, calls: files.calls, written_bytes: 0 })
    }

    fn options(&self) -> ReadOptions {
        ReadOptions { buffer_bytes: self.buffer_bytes as usize, threads: 1, shares: 1, resolve_types: false }
    }

    /// Lists by readdir and asks for each entry by its path, as the programs under study do.
    fn by_path(&self, directory: &Dir, files: &mut Files, signals: Signals<'_>) -> Result<(), ListError> {
        let again = Dir::open(directory.path())?;
        let mut reader = megadir::backend("readdir")?.open(&again, &self.options())?;
        let mut path = directory.path().as_os_str().as_bytes().to_vec();
        path.push(b'/');
        let prefix = path.len();
        let mut asked = 0;
        while let Some(batch) = reader.next_batch()? {
            signals.check()?;
            for entry in batch.entries() {
                path.truncate(prefix);
                path.extend_from_slice(entry.name);
                path.push(0);
                let path = CStr::from_bytes_with_nul(&path)
                    .map_err(|error| failed("lstat")(std::io::Error::other(error)))?;
                asked += 1;
                match rustix::fs::lstat(path) {
                    Ok(status) => {
                        if rustix::fs::FileType::from_raw_mode(status.st_mode).is_file() {
                            let nanoseconds = status.st_mtime_nsec as u32;
                            let modified = Time { seconds: status.st_mtime, nanoseconds };
                            files.add(entry.name, status.st_size as u64, modified);
                        }
                    }
                    // What vanished is missing from the count, which shows.
                    Err(Errno::NOENT) => {}
                    Err(error) => return Err(failed("lstat")(error.into())),
                }
            }
        }
        files.calls = reader.calls().map(|calls| calls + asked);
        Ok(())
    }

    /// Lists and asks by the library.
    fn examined(&self, directory: &Dir, files: &mut Files, signals: Signals<'_>) -> Result<(), ListError> {
        let again = directory.again()?;
        let choice = self.choice(&again)?;
        let mut listing = AttributeListing::with_choice(again, choice)?;
        while let Some(batch) = listing.next_batch()? {
            signals.check()?;
            for (entry, attributes) in batch.entries() {
                if attributes.error == 0 {
                    if attributes.kind == FileType::File {
                        files.add(entry.name, attributes.size_bytes, attributes.modified);
                    }
                } else if !attributes.has_vanished() {
                    let source = std::io::Error::from_raw_os_error(attributes.error);
                    return Err(failed(self.method.name)(source));
                }
            }
        }
        Ok(())
    }

    /// Returns how the library lists and asks.
    fn choice(&self, directory: &Dir) -> Result<AttributeChoice, ListError> {
        let Way::Examined { backend, examiner, order } = self.method.way else {
            return Ok(attribute_policy::choose(directory, WANT, self.threads)?);
        };
        let threads = self.threads;
        let reason = self.method.what;
        let listing = Choice {
            backend: megadir::backend(backend)?,
            options: self.options(),
            file_system: directory.file_system(),
            directory_bytes: 0,
            reason,
        };
        let strategy = match order {
            AskingOrder::Listing => Strategy::AtOnce,
            AskingOrder::Chunks => Strategy::Chunks { threads },
            AskingOrder::Inode => Strategy::Windows { entries: attribute_policy::WINDOW_ENTRIES, threads },
        };
        Ok(AttributeChoice { listing, strategy, examiner: megadir::examiner(examiner)?, want: WANT, reason })
    }
}

/// Lists and asks by Rust's standard library.
fn std_fs(directory: &Dir, files: &mut Files, signals: Signals<'_>) -> Result<(), ListError> {
    for entry in std::fs::read_dir(directory.path()).map_err(failed("read_dir"))? {
        files.check(signals)?;
        let entry = entry.map_err(failed("read_dir"))?;
        match entry.metadata() {
            Ok(metadata) if metadata.is_file() => {
                let nanoseconds = metadata.mtime_nsec() as u32;
                let modified = Time { seconds: metadata.mtime(), nanoseconds };
                files.add(entry.file_name().as_bytes(), metadata.len(), modified);
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("metadata")(error)),
        }
    }
    Ok(())
}

/// Lets C++ list and ask, in a vector of its own, and hashes what is in it.
fn cpp_filesystem(directory: &Dir, files: &mut Files) -> Result<(), ListError> {
    let mut row = |name: &[u8], seconds, nanoseconds| {
        let times = Time { seconds, nanoseconds };
        files.add(name, 0, times);
    };
    megadir_sys::cpp_filesystem::regular_files(directory.path(), &mut row).map_err(failed("std::filesystem"))
}

impl Workload for FileAttributes {
    fn unavailable(&self, directory: &Dir) -> Option<String> {
        unavailable(self.method, directory)
    }

    fn ready(&mut self, _: &Dir, _: BlockKey, _: u64, _: Signals<'_>) -> Result<(), ListError> {
        Ok(())
    }

    fn run(
        &mut self,
        directory: &Dir,
        operations: u64,
        _stopwatch: &mut Stopwatch,
        signals: Signals<'_>,
    ) -> Result<Counted, ListError> {
        super::list::repeat(operations, || self.once(directory, signals))
    }
}

#[cfg(test)]
mod tests;
