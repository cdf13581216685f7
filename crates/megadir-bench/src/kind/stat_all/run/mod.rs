//! Name, size and modification time of every regular file of a directory, by a method of `method.rs`. Each
//! operation opens the directory, fills a vector (or visits each file once) and frees everything. The oracle,
//! Rust's standard library, gives the expected hash of the reported values.
//!
//! ```text
//!  Path        readdir, lstat of the whole path
//!  Examined    a listing backend, a stat backend and an order, through the library's `AttributeListing`
//!  Policy      the same with the library's own choice of all three
//!  StdFs, Cpp  the standard libraries of Rust and C++, as their users write it
//! ```

use megadir::policy::Choice;
use megadir::{
    AttributeChoice, AttributeListing, Dir, FileType, ReadOptions, StatMask, Strategy, Time,
    attribute_policy, names,
};
use megadir_record::{Counted, ExpectedFiles};

use crate::control::{COMPUTING, Result, RunControl, WorkError, marked};
use crate::kind::{OTHER, WorkBlock, Workload, fold, name_hash, repeat};
use crate::measure::Stopwatch;
use crate::method::{METHODS, Method, QueryOrder, Reported, Way, method_named, unavailable};

const WANT: StatMask = StatMask::TYPE.union(StatMask::SIZE).union(StatMask::MODIFIED);
/// For backends that use their own, bytes: the smallest allowed.
const NO_BUFFER: u64 = 4 << 10;
/// Files between two looks at the end of the run.
const STEP: u64 = 4096;

pub(crate) struct FileAttributes {
    method: &'static Method,
    buffer_bytes: u64,
    threads: usize,
    keeps: bool,
}

/// Result of one operation. `rows` is `Some` for methods that return a vector, which is part of their cost,
/// and `None` for ways that visit each file. `files` is their number; `times` and
/// `all` are sums of hashes that prove equal work, without and with sizes;
/// `calls` is `None` for methods whose calls cannot be counted.
#[derive(Debug, Default)]
struct Files {
    rows: Option<Vec<(Box<[u8]>, Time)>>,
    files: u64,
    times: u64,
    all: u64,
    seen: u64,
    calls: Option<u64>,
}

impl Files {
    #[inline]
    fn add(&mut self, name: &[u8], size_bytes: u64, modified: Time) {
        let times = time_hash(name, modified);
        self.times = self.times.wrapping_add(times);
        self.all = self.all.wrapping_add(mix(times, size_bytes));
        self.files += 1;
        if let Some(rows) = &mut self.rows {
            rows.push((name.into(), modified));
        }
    }

    #[inline]
    fn check(&mut self, control: RunControl<'_>) -> Result<()> {
        self.seen += 1;
        Ok(control.check_every(STEP, self.seen)?)
    }

    fn expected(&self, reported: Reported) -> ExpectedFiles {
        let hash = match reported {
            Reported::SizesAndTimes => self.all,
            Reported::Times | Reported::Seconds => self.times,
        };
        ExpectedFiles { files: self.files, hash }
    }

    /// Expected result of methods that report whole seconds. It needs the rows, since a sum of hashes
    /// cannot be rounded.
    fn in_seconds(&self) -> ExpectedFiles {
        let rows = self.rows.iter().flatten();
        let hashes = rows.map(|(name, modified)| time_hash(name, Time { nanoseconds: 0, ..*modified }));
        ExpectedFiles { files: self.files, hash: hashes.fold(0, u64::wrapping_add) }
    }
}

/// Name and time together. Nanoseconds are shifted away from the low bits of the seconds, which differ
/// most.
#[inline]
fn time_hash(name: &[u8], time: Time) -> u64 {
    mix(name_hash(name), time.seconds as u64 ^ (u64::from(time.nanoseconds) << 34))
}

#[inline]
fn mix(hash: u64, number: u64) -> u64 {
    fold(hash ^ OTHER, number ^ OTHER.rotate_left(29)) ^ hash.rotate_left(17)
}

/// Results that the methods must have, for each kind of report. One pass of the oracle gives all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    with_sizes: ExpectedFiles,
    times_only: ExpectedFiles,
    in_seconds: ExpectedFiles,
}

impl Expected {
    pub(crate) fn of(directory: &Dir, control: RunControl<'_>) -> Result<Self> {
        let reports_seconds = METHODS.iter().any(|method| method.reported == Reported::Seconds);
        let mut files = Files { rows: reports_seconds.then(Vec::new), ..Files::default() };
        std_fs(directory, &mut files, control)?;
        Ok(Self {
            with_sizes: files.expected(Reported::SizesAndTimes),
            times_only: files.expected(Reported::Times),
            in_seconds: files.in_seconds(),
        })
    }

    pub(crate) fn expected(&self, method: &str) -> Option<ExpectedFiles> {
        Some(match method_named(method).ok()?.reported {
            Reported::SizesAndTimes => self.with_sizes,
            Reported::Times => self.times_only,
            Reported::Seconds => self.in_seconds,
        })
    }
}

impl FileAttributes {
    pub(crate) fn new(method: &str, buffer_bytes: Option<u64>, threads: u32, keeps: bool) -> Result<Self> {
        let method = method_named(method).map_err(|reason| WorkError::other("attributes", reason))?;
        let buffer_bytes = buffer_bytes.unwrap_or(NO_BUFFER);
        Ok(Self { method, buffer_bytes, threads: threads as usize, keeps })
    }

    fn once(&self, directory: &Dir, control: RunControl<'_>) -> Result<Counted> {
        let mut files = Files { rows: self.keeps.then(Vec::new), ..Files::default() };
        match self.method.way {
            #[cfg(target_os = "linux")]
            Way::Path => system::by_path(directory, &self.options(), &mut files, control)?,
            #[cfg(not(target_os = "linux"))]
            Way::Path => return Err(WorkError::at("lstat")(std::io::ErrorKind::Unsupported)),
            Way::Examined { .. } | Way::Policy => self.examined(directory, &mut files, control)?,
            Way::StdFs => std_fs(directory, &mut files, control)?,
            Way::CppFilesystem => {
                marked(control.heartbeat, COMPUTING, || cpp_filesystem(directory, &mut files))?;
            }
        }
        let ExpectedFiles { files: entries, hash } = files.expected(self.method.reported);
        Ok(Counted { entries, hash, calls: files.calls, written_bytes: 0 })
    }

    fn options(&self) -> ReadOptions {
        ReadOptions::serial(self.buffer_bytes as usize)
    }

    fn examined(&self, directory: &Dir, files: &mut Files, control: RunControl<'_>) -> Result<()> {
        let again = directory.again()?;
        let choice = self.choice(&again)?;
        let mut listing = AttributeListing::with_choice(again, choice)?;
        while let Some(batch) = listing.next_batch()? {
            control.check()?;
            for (entry, attributes) in batch.entries() {
                if attributes.error == 0 {
                    if attributes.kind == FileType::File {
                        files.add(entry.name, attributes.size_bytes, attributes.modified);
                    }
                } else if !attributes.has_vanished() {
                    let source = std::io::Error::from_raw_os_error(attributes.error);
                    return Err(WorkError::at(self.method.name)(source));
                }
            }
        }
        Ok(())
    }

    /// The library's way of listing with attributes, forced to the method's backends and order; the policy
    /// chooses only for the method that measures the policy.
    fn choice(&self, directory: &Dir) -> Result<AttributeChoice> {
        let Way::Examined { backend, stat_backend, order } = self.method.way else {
            return Ok(attribute_policy::choose(directory, WANT, self.threads)?);
        };
        let threads = self.threads;
        let reason = self.method.description;
        let listing = Choice {
            backend: megadir::backend(backend)?,
            options: self.options(),
            file_system: directory.file_system(),
            directory_bytes: 0,
            reason,
        };
        let strategy = match order {
            QueryOrder::Listing => Strategy::AtOnce,
            QueryOrder::Chunks => Strategy::Chunks { threads },
            QueryOrder::Inode => Strategy::Windows { entries: attribute_policy::WINDOW_ENTRIES, threads },
        };
        Ok(AttributeChoice {
            listing,
            strategy,
            stat_backend: megadir::stat_backend(stat_backend)?,
            want: WANT,
            slow_device: false,
            reason,
        })
    }
}

/// Oracle and method at once: listing and metadata by the standard library. Only regular files count, in
/// all methods.
fn std_fs(directory: &Dir, files: &mut Files, control: RunControl<'_>) -> Result<()> {
    for entry in std::fs::read_dir(directory.path()).map_err(WorkError::at("read_dir"))? {
        files.check(control)?;
        let entry = entry.map_err(WorkError::at("read_dir"))?;
        match entry.metadata() {
            Ok(metadata) if metadata.is_file() => {
                files.add(names::from_os(&entry.file_name()), metadata.len(), system::modified(&metadata));
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(WorkError::at("metadata")(error)),
        }
    }
    Ok(())
}

fn cpp_filesystem(directory: &Dir, files: &mut Files) -> Result<()> {
    let mut row = |name: &[u8], seconds, nanoseconds| {
        let times = Time { seconds, nanoseconds };
        files.add(name, 0, times);
    };
    megadir_sys::cpp_filesystem::regular_files(directory.path(), &mut row)
        .map_err(WorkError::at("std::filesystem"))
}

impl Workload for FileAttributes {
    fn unavailable(&self, directory: &Dir) -> Option<String> {
        unavailable(self.method, directory)
    }

    fn run(&mut self, block: &WorkBlock<'_>, _stopwatch: &mut Stopwatch) -> Result<Counted> {
        repeat(block.operations, || self.once(block.directory, block.control))
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::CStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;

    use megadir::{Dir, ReadOptions, Time};
    use rustix::io::Errno;

    use super::Files;
    use crate::control::{Result, RunControl, WorkError};

    /// The slow method of the published comparison: each file by its whole path, so that the kernel walks all
    /// components again. The path is built in one buffer, because allocating it would be the cost of the
    /// program and not of the call.
    pub(crate) fn by_path(
        directory: &Dir,
        options: &ReadOptions,
        files: &mut Files,
        control: RunControl<'_>,
    ) -> Result<()> {
        let again = Dir::open(directory.path())?;
        let mut reader = megadir::backend("readdir")?.open(&again, options)?;
        let mut path = directory.path().as_os_str().as_bytes().to_vec();
        path.push(b'/');
        let prefix = path.len();
        let mut stat_calls = 0;
        while let Some(batch) = reader.next_batch()? {
            control.check()?;
            for entry in batch.entries() {
                path.truncate(prefix);
                path.extend_from_slice(entry.name);
                path.push(0);
                let path =
                    CStr::from_bytes_with_nul(&path).map_err(|error| WorkError::other("lstat", error))?;
                stat_calls += 1;
                match rustix::fs::lstat(path) {
                    Ok(status) => {
                        if rustix::fs::FileType::from_raw_mode(status.st_mode).is_file() {
                            let nanoseconds = status.st_mtime_nsec as u32;
                            let modified = Time { seconds: status.st_mtime, nanoseconds };
                            files.add(entry.name, status.st_size as u64, modified);
                        }
                    }
                    // Vanished entries make the block unequal.
                    Err(Errno::NOENT) => {}
                    Err(error) => return Err(WorkError::at("lstat")(error)),
                }
            }
        }
        files.calls = reader.calls().map(|calls| calls + stat_calls);
        Ok(())
    }

    #[inline]
    pub(crate) fn modified(metadata: &std::fs::Metadata) -> Time {
        Time { seconds: metadata.mtime(), nanoseconds: metadata.mtime_nsec() as u32 }
    }
}

#[cfg(windows)]
mod system {
    //! Windows: times in units of 100 ns since 1601.

    use std::os::windows::fs::MetadataExt;

    use megadir::Time;

    #[inline]
    pub(crate) fn modified(metadata: &std::fs::Metadata) -> Time {
        Time::from_windows(metadata.last_write_time().cast_signed())
    }
}

#[cfg(test)]
mod tests;
