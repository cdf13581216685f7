//! Reads from containers of a data set: the files themselves, an image of a file system, an archive, a database.
//!
//! A container is made once by its program, untimed, and kept beside the data set until the end of the run. A block
//! opens it, reads, and closes it. What is timed depends on the operation:
//!
//! ```text
//!  first     [ open  read one  close ] n times            a program that starts, needs one file, and ends
//!  random      open [ read n, drawn at random ] close     a server, a training run
//!  all       [ open  read everything  close ]            a pass over the data
//!  list      [ open  paths and sizes  close ]
//! ```
//!
//! Where an index is all that an operation needs, a container that is open would have it in memory: so only `random` begins with an
//! open one. Directories and images have no index to read: images are mounted before the clock in all but `first`. A warm
//! block does its work twice and times the second time, so that the state of the cache does not depend on what ran before; in
//! `first`, each mount of an image has an empty cache of its own above the cached image. A cold block does its work once after the drop; in
//! `random`, what opening reads is then cached.
//!
//! | file | container |
//! |---|---|
//! | `directory.rs` | files in directories, and mounted images |
//! | `image.rs` | images, mounted without a mount point: nothing is left when the process ends |
//! | `pack.rs`, `zip.rs`, `sqlite.rs` | formats that a library reads |

mod directory;
mod image;
mod pack;
mod sqlite;
mod zip;

use std::io;
use std::path::Path;

use megadir::layout::{Layout, PathBuffer, Placer};
use megadir_record::{Container, Counted, ReadOperation, Reading};
use megadir_stats::permutation::{Permutation, SplitMix64};
use megadir_sys::clock::monotonic_ns;
use megadir_sys::usage::process_usage;

use crate::control::{COMPUTING, Result, RunControl, WorkError, marked};
use crate::dataset::{Files, PlaceBuffer};
use crate::kind::{BlockKey, BlockUsage, fold, name_hash};

/// Files whose contents are compared with those of the data set before the first block.
const COMPARED: u64 = 16;
const STAGE: &str = "reading a container";
const CONTENTS_BYTES: usize = 128 << 10;

/// A container that is open for reading.
trait OpenContainer {
    /// Replaces `contents` by those of the file; `false` if there is no such file.
    fn read(&mut self, path: &[u8], contents: &mut Vec<u8>) -> io::Result<bool>;

    /// Passes the path and the size of each file to `each`, whose error ends the list.
    fn list(&mut self, each: &mut EachSize<'_>) -> io::Result<()>;

    /// Passes the path and the contents of each file to `each`, in the order that suits the container.
    fn read_all(&mut self, each: &mut EachContents<'_>) -> io::Result<()>;
}

/// Path and size, bytes.
type EachSize<'f> = dyn FnMut(&[u8], u64) -> io::Result<()> + 'f;
/// Path and contents.
type EachContents<'f> = dyn FnMut(&[u8], &[u8]) -> io::Result<()> + 'f;

/// Opens a container for an operation: not each of them needs the whole index.
fn open(reading: &Reading, operation: ReadOperation, path: &Path) -> io::Result<Box<dyn OpenContainer>> {
    Ok(match reading.container {
        Container::Directory => Box::new(directory::Directory::open(path)?),
        Container::Squashfs => Box::new(image::Image::mount("squashfs", path)?),
        Container::Erofs => Box::new(image::Image::mount("erofs", path)?),
        Container::Pack => Box::new(pack::OpenPack::open(path, operation)?),
        Container::Zip => Box::new(zip::OpenZip::open(path)?),
        Container::Sqlite => Box::new(sqlite::OpenSqlite::open(path)?),
    })
}

/// Reason why containers of this form cannot be read here.
pub(super) fn unavailable(container: Container) -> Option<String> {
    match container {
        Container::Squashfs | Container::Erofs if !rustix::process::geteuid().is_root() => {
            Some("mounting its image needs root".into())
        }
        Container::Sqlite => megadir_sys::sqlite::Library::load()
            .err()
            .map(|error| format!("libsqlite3 cannot be loaded ({error})")),
        _ => None,
    }
}

/// The reads of one arm.
///
/// `files` computes paths and contents, which nothing stores. Paths in a container with a layout of its own
/// are those of `placer`. Whether the first drawn files were compared with the data set is remembered for the whole run.
#[derive(Debug)]
pub(super) struct Reads {
    reading: Reading,
    files: Files,
    placer: Option<Placer>,
    seed: u64,
    drawn: Vec<Vec<u8>>,
    is_compared: bool,
}

impl Reads {
    /// `None` if the layout's text is none, which the plan refuses.
    pub(super) fn new(reading: &Reading, files: Files, seed: u64) -> Option<Self> {
        let layout = match &reading.layout {
            Some(text) => Some(text.parse::<Layout>().ok()?),
            None => None,
        };
        let placer = layout.map(|layout| layout.at(files.entries()));
        let reading = reading.clone();
        Some(Self { reading, files, placer, seed, drawn: Vec::new(), is_compared: false })
    }

    /// Draws the files of a block, and compares the first of them with the data set once.
    pub(super) fn draw(&mut self, key: BlockKey, path: &Path) -> Result<()> {
        let mut random = SplitMix64::new(self.seed ^ key.number());
        let order = Permutation::new(self.files.entries(), random.next_u64());
        let indices = |count: u64| (0..count).filter_map(|rank| order.get(rank));
        if !self.is_compared {
            self.compare(indices(COMPARED), path)?;
            self.is_compared = true;
        }
        self.drawn.clear();
        if matches!(self.reading.operation, ReadOperation::First | ReadOperation::Random) {
            self.drawn = indices(self.reading.files).map(|index| self.path(index)).collect::<Result<_>>()?;
        }
        Ok(())
    }

    fn path(&self, index: u64) -> Result<Vec<u8>> {
        let mut buffer = PlaceBuffer::new();
        let failed = |reason: String| WorkError::other(STAGE, reason);
        let place = self.files.placed(index, &mut buffer).map_err(|error| failed(error.to_string()))?;
        let Some(placer) = &self.placer else { return Ok(place.path().to_vec()) };
        let mut other = PathBuffer::new();
        // The plan has made sure that the data set is flat, so that its paths are names.
        let placed = placer.place(place.path(), &mut other);
        placed.map(|placed| placed.path().to_vec()).map_err(|refused| failed(refused.to_string()))
    }

    fn compare(&self, indices: impl Iterator<Item = u64>, path: &Path) -> Result<()> {
        let mut container = open(&self.reading, ReadOperation::First, path).map_err(failed)?;
        let mut contents = Vec::new();
        for index in indices {
            let path = self.path(index)?;
            let mut expected = vec![0; self.files.size_bytes(index) as usize];
            self.files.content(index).fill(&mut expected);
            let there = container.read(&path, &mut contents).map_err(failed)?;
            if !there || contents != expected {
                let name = String::from_utf8_lossy(&path).into_owned();
                let how = if there { "has other contents for" } else { "lacks" };
                return Err(WorkError::Program(format!("the container {how} '{name}'")));
            }
        }
        Ok(())
    }

    /// Does the reads of a block: once if it is cold, else twice, of which the second counts.
    pub(super) fn run(
        &self,
        path: &Path,
        is_cold: bool,
        control: RunControl<'_>,
    ) -> Result<(Counted, BlockUsage)> {
        // Made before the clock, and large enough for the files of most studies.
        let mut contents = Vec::with_capacity(CONTENTS_BYTES);
        let open = || {
            let operation = self.reading.operation;
            // An index of millions of rows takes seconds.
            marked(control.heartbeat, COMPUTING, || open(&self.reading, operation, path)).map_err(failed)
        };
        let has_index =
            !matches!(self.reading.container, Container::Directory | Container::Squashfs | Container::Erofs);
        let is_opened_before = match self.reading.operation {
            ReadOperation::First => false,
            ReadOperation::Random => true,
            ReadOperation::All | ReadOperation::List => !has_index,
        };
        let mut opened = if is_opened_before { Some(open()?) } else { None };
        let mut once = || {
            timed(|| match (&mut opened, self.reading.operation) {
                (Some(container), _) => self.work(&mut **container, &mut contents, control),
                (None, ReadOperation::First) => self.each_first(&open, &mut contents),
                (None, _) => self.work(&mut *open()?, &mut contents, control),
            })
        };
        if !is_cold {
            once()?;
        }
        once()
    }

    /// Opens the container for each file. Counts one entry if all are there, whatever their number: cold blocks have fewer.
    fn each_first(
        &self,
        open: &dyn Fn() -> Result<Box<dyn OpenContainer>>,
        contents: &mut Vec<u8>,
    ) -> Result<Counted> {
        let mut are_there = true;
        for path in &self.drawn {
            are_there &= open()?.read(path, contents).map_err(failed)?;
        }
        Ok(Counted { entries: u64::from(are_there), ..Counted::default() })
    }

    /// Files by name count if they are there with their size; a pass has also the hash of names and contents, or sizes.
    fn work(
        &self,
        container: &mut dyn OpenContainer,
        contents: &mut Vec<u8>,
        control: RunControl<'_>,
    ) -> Result<Counted> {
        let mut counted = Counted::default();
        let mut count = |path: &[u8], value: u64| {
            counted.entries += 1;
            let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
            counted.hash = counted.hash.wrapping_add(fold(name_hash(name), value | 1));
            control.check_every(256, counted.entries).map_err(|_| io::ErrorKind::Interrupted.into())
        };
        let done = match self.reading.operation {
            ReadOperation::First | ReadOperation::Random => {
                for (index, path) in (0..).zip(&self.drawn) {
                    control.check_every(256, index)?;
                    counted.entries += u64::from(container.read(path, contents).map_err(failed)?);
                }
                Ok(())
            }
            ReadOperation::All => container.read_all(&mut |path, contents| count(path, name_hash(contents))),
            ReadOperation::List => container.list(&mut count),
        };
        control.check()?;
        done.map_err(failed).map(|()| counted)
    }
}

/// A container that cannot be read ends its arm, as a program that fails does.
fn failed(error: impl Into<io::Error>) -> WorkError {
    WorkError::Program(format!("the container cannot be read: {}", error.into()))
}

fn timed(work: impl FnOnce() -> Result<Counted>) -> Result<(Counted, BlockUsage)> {
    let before = process_usage();
    let started_ns = monotonic_ns();
    let counted = work()?;
    let elapsed_ns = monotonic_ns() - started_ns;
    Ok((counted, BlockUsage::new(elapsed_ns, process_usage().since(before))))
}
