//! Files directory by directory, for programs that do not know names. A file's time includes opening the
//! directory (its first file) and filling the buffer (the first file in each; 32 KiB in glibc, 64 KiB on
//! Windows).
//!
//! | function or type | program that it stands for |
//! |---|---|
//! | `Listed` | opendir, readdir, an operation on each entry, closedir |
//! | `Entered` | enters a directory, then creates or rewrites its files by name |
//! | `by_name` | uses whole paths from the top, as a cache does |
//! | `Directories` | creates directories in advance |

use std::io;

use megadir::limits::Step;

use crate::control::{Result, RunControl, WorkError};
use crate::dataset::{self, PlaceBuffer};
use crate::kind::files::explained;
use crate::kind::files::file::{FileOps, Outcome, is_of_one_file, make_directories, met};
use crate::kind::files::order::Planned;
use crate::kind::files::task::{Checksum, Set, directory_key};
use crate::os::{self, At, Borrowed, Owned};

use stream::Stream;

fn open(top: Borrowed<'_>, path: &[u8]) -> io::Result<Owned> {
    if path.is_empty() { os::again(top) } else { os::open_below(top, path) }
}

/// Position in a walk over directories in the manner of a program that knows no names: the open directory,
/// its listing, and the directories that follow. `seen` sums up the names, to be compared with the files that
/// should be there.
pub(crate) struct Listed<'a, 'b> {
    pub(crate) top: Borrowed<'a>,
    pub(crate) directories: std::slice::Iter<'a, Vec<u8>>,
    pub(crate) hand: &'a mut FileOps<'b>,
    pub(crate) now: Option<Open<'a>>,
    pub(crate) seen: Checksum,
}

/// A directory while its entries are worked on. `key` is the hash of its path, to which names are added.
pub(crate) struct Open<'a> {
    path: &'a [u8],
    key: u64,
    stream: Stream,
}

impl<'a> Listed<'a, '_> {
    /// Works on the next file; `false` at the end of the last directory. One call is one timed operation,
    /// whatever it had to open or read before.
    pub(crate) fn next(&mut self) -> Result<bool> {
        loop {
            let now = match &mut self.now {
                Some(now) => now,
                none => {
                    let Some(path) = self.directories.next() else { return Ok(false) };
                    none.insert(enter(self.top, path)?)
                }
            };
            let next = now.stream.next_below().map_err(WorkError::at("readdir"))?;
            let Some((directory, name, is_directory)) = next else {
                self.now = None;
                continue;
            };
            if is_directory || name == b"." || name == b".." {
                continue;
            }
            let worked = self.hand.listed(directory, name);
            let synced = match worked {
                Ok(size) => {
                    self.seen.add(now.key, name, size);
                    if self.hand.syncs_directory() { self.hand.sync_directory(directory) } else { Ok(()) }
                }
                Err(met) if is_of_one_file(&met.error) => Ok(()),
                Err(met) => Err(met),
            };
            return synced.map(|()| true).map_err(|met| explained(self.top, now.path, met));
        }
    }
}

/// Like opendir; entries are accessed relative to the stream's descriptor.
fn enter<'a>(top: Borrowed<'_>, path: &'a [u8]) -> Result<Open<'a>> {
    let directory = open(top, path).map_err(WorkError::at("opening a directory"))?;
    let stream = Stream::open(directory).map_err(WorkError::at("opendir"))?;
    Ok(Open { path, key: directory_key(path), stream })
}

/// Opens each directory when its first file comes.
#[derive(Default)]
pub(crate) struct Entered {
    path: Vec<u8>,
    directory: Option<Owned>,
}

impl Entered {
    pub(crate) fn work(
        &mut self,
        top: Borrowed<'_>,
        file: &Planned<'_>,
        hand: &mut FileOps<'_>,
    ) -> Result<bool, Outcome> {
        let directory = match &self.directory {
            Some(directory) if self.path == file.directory() => directory,
            _ => {
                self.directory = None;
                self.path.clear();
                self.path.extend_from_slice(file.directory());
                let opened = enter_or_make(top, file.directory())?;
                self.directory.insert(opened)
            }
        };
        let right = hand.work(directory.at(), file.file(), file)?;
        if hand.syncs_directory() {
            hand.sync_directory(directory.at())?;
        }
        Ok(right)
    }
}

/// Opens a directory, and makes it only if it is missing: one call in the usual case.
fn enter_or_make(top: Borrowed<'_>, path: &[u8]) -> Result<Owned, Outcome> {
    let opened = match open(top, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_directories(top, path)?;
            open(top, path)
        }
        opened => opened,
    };
    opened.map_err(met("opening a directory", Step::MakeDirectory))
}

/// One operation by path. `makes_directories` is part of the work of programs that cannot know which
/// directories exist.
#[inline]
pub(crate) fn by_name(
    top: Borrowed<'_>,
    file: &Planned<'_>,
    hand: &mut FileOps<'_>,
    makes_directories: bool,
) -> Result<bool, Outcome> {
    if makes_directories && !file.directory().is_empty() {
        make_directories(top, file.directory())?;
    }
    let right = hand.work(top, os::name(file.path), file)?;
    if hand.syncs_directory() {
        sync_directory(top, file.directory(), hand)?;
    }
    Ok(right)
}

fn sync_directory(top: Borrowed<'_>, directory: &[u8], hand: &FileOps<'_>) -> Result<(), Outcome> {
    if directory.is_empty() {
        return hand.sync_directory(top);
    }
    let opened = os::open_below(top, directory).map_err(met("opening a directory", Step::Create))?;
    hand.sync_directory(opened.at())
}

/// Every `step`-th directory from `first` on: the share of one worker, so that workers never meet in a
/// directory. `buffer` holds the path of the current one, which is computed and not stored.
pub(crate) struct Directories<'a> {
    top: Borrowed<'a>,
    all: dataset::Directories<'a>,
    first: u64,
    step: u64,
    buffer: PlaceBuffer,
}

impl<'a> Directories<'a> {
    /// Every `step`-th directory from `first`; `None` if only a pass over all names reveals them.
    pub(crate) fn new(top: Borrowed<'a>, set: &'a Set, first: u64, step: u64) -> Option<Self> {
        Some(Self { top, all: set.files.directories()?, first, step, buffer: PlaceBuffer::new() })
    }

    pub(crate) fn count(&self) -> u64 {
        self.all.count().saturating_sub(self.first).div_ceil(self.step)
    }

    /// 1 if there is no such directory.
    pub(crate) fn make(&mut self, index: u64) -> Result<u64> {
        let Some(path) = self.all.path(self.first + index * self.step, &mut self.buffer) else {
            return Ok(1);
        };
        make_directories(self.top, path).map(|()| 0).map_err(|met| explained(self.top, b"", met))
    }
}

pub(crate) fn make_all(top: Borrowed<'_>, set: &Set, control: RunControl<'_>) -> Result<()> {
    let Some(mut directories) = Directories::new(top, set, 0, 1) else { return Ok(()) };
    for index in 0..directories.count() {
        control.check_every(256, index)?;
        directories.make(index)?;
    }
    Ok(())
}

/// The C library's directory stream, as most programs use it.
#[cfg(target_os = "linux")]
mod stream {
    use std::io;

    use megadir_sys::readdir::DirStream;

    use crate::os::{Borrowed, Owned};

    const KIND_DIRECTORY: u8 = 4;

    pub(super) struct Stream(DirStream);

    impl Stream {
        pub(super) fn open(directory: Owned) -> io::Result<Self> {
            DirStream::open(directory).map(Self)
        }

        /// Name of the next entry, and `true` for a directory.
        #[inline]
        pub(super) fn next_below(&mut self) -> io::Result<Option<(Borrowed<'_>, &[u8], bool)>> {
            let next = self.0.next_below()?;
            Ok(next.map(|(directory, entry)| (directory, entry.name, entry.kind == KIND_DIRECTORY)))
        }
    }
}

/// The library's default backend, one buffer per call.
#[cfg(windows)]
mod stream {
    use std::io;
    use std::sync::Arc;

    use megadir::{Dir, FileType, ReadOptions, Reader};

    use crate::os::{self, At, Borrowed, Owned};

    /// Buffer of one call, bytes; FindFirstFileExW with `LARGE_FETCH` uses the same.
    const BUFFER_BYTES: usize = 64 << 10;

    /// One buffer of entries, as the C library's readdir(3) has it: `names` and `entries` are filled by one
    /// call and used up before the next one. `begins` is the start of the current name, and `next` the index
    /// of its entry.
    pub(super) struct Stream {
        directory: Arc<Dir>,
        reader: Box<dyn Reader>,
        names: Vec<u8>,
        /// End of each name, and `true` for a directory.
        entries: Vec<(usize, bool)>,
        next: usize,
        begins: usize,
    }

    impl Stream {
        pub(super) fn open(directory: Owned) -> io::Result<Self> {
            let directory = Arc::new(Dir::from_descriptor(directory, "."));
            let options = ReadOptions::serial(BUFFER_BYTES);
            let reader = megadir::backend(os::LISTED_BY)?.open_once(&directory, &options)?;
            Ok(Self { directory, reader, names: Vec::new(), entries: Vec::new(), next: 0, begins: 0 })
        }

        pub(super) fn next_below(&mut self) -> io::Result<Option<(Borrowed<'_>, &[u8], bool)>> {
            while self.next == self.entries.len() {
                self.names.clear();
                self.entries.clear();
                (self.next, self.begins) = (0, 0);
                let Some(batch) = self.reader.next_batch()? else { return Ok(None) };
                for entry in batch.entries() {
                    self.names.extend_from_slice(entry.name);
                    self.entries.push((self.names.len(), entry.kind == FileType::Directory));
                }
            }
            let (ends, is_directory) = self.entries[self.next];
            let name = &self.names[self.begins..ends];
            (self.next, self.begins) = (self.next + 1, ends);
            Ok(Some(((*self.directory).at(), name, is_directory)))
        }
    }
}
