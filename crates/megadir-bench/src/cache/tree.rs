//! Walks a data set once, in bounded memory: relative to open directories, following no links, crossing no mounts.
//!
//! One pass serves three ends: it warms a data set, it draws the names with which a drop is verified, and
//! it visits the files that `data-cold` evicts.

use std::io;

use megadir::FileType;
use megadir_record::CacheState;
use megadir_stats::permutation::SplitMix64;

use super::refused;
use crate::control::{RunControl, WorkError};
use crate::os::{self, At, Borrowed};

/// Each level holds an open directory and a buffer.
const DEPTH_MAX: usize = 64;
/// Names of a sample. If a tenth of all names stayed cached, two or more of 64 would be among them in 99 of
/// 100 drops.
const SAMPLE_MAX: usize = 64;
const STAGE: &str = "pass over the data set";

/// An entry while it is visited; `below` is the path of its directory from the data set, with a slash at
/// its end.
pub(super) struct TreeEntry<'a> {
    pub(super) parent: Borrowed<'a>,
    pub(super) name: &'a [u8],
    pub(super) below: &'a [u8],
    pub(super) kind: FileType,
}

impl TreeEntry<'_> {
    pub(super) fn path(&self) -> String {
        String::from_utf8_lossy(&[self.below, self.name].concat()).into_owned()
    }
}

/// Path of a file relative to its data set.
pub(super) type Sampled = Vec<u8>;

/// Visits every entry of a data set; with `deep`, of its subdirectories too. Directories of the user are
/// flat data: only their own entries are part of the study.
pub(super) fn each(
    top: Borrowed<'_>,
    deep: bool,
    control: RunControl<'_>,
    visit: &mut dyn FnMut(&TreeEntry<'_>) -> Result<(), WorkError>,
) -> Result<(), WorkError> {
    let depth = if deep { DEPTH_MAX } else { 0 };
    each_below(top, &mut Vec::new(), depth, control, visit)
}

/// Depth first and by recursion: `depth` bounds the number of open descriptors and the stack. `below` is the
/// path of `directory` from the data set, which grows and shrinks with the recursion, so that no path is
/// allocated for each entry. A directory that vanished or is a mount is skipped, as an arm that walks the
/// tree would skip it.
fn each_below(
    directory: Borrowed<'_>,
    below: &mut Vec<u8>,
    depth: usize,
    control: RunControl<'_>,
    visit: &mut dyn FnMut(&TreeEntry<'_>) -> Result<(), WorkError>,
) -> Result<(), WorkError> {
    os::each_entry_of_run(directory, (STAGE, control), &mut |name, kind| {
        if kind == FileType::Unknown {
            return Ok(());
        }
        visit(&TreeEntry { parent: directory, name, below, kind })?;
        if kind != FileType::Directory || depth == 0 {
            return Ok(());
        }
        let child = match os::open_on_this_mount(directory, name) {
            Ok(child) => child,
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::CrossesDevices => return Ok(()),
                _ => return Err(WorkError::at(STAGE)(error)),
            },
        };
        let length = below.len();
        below.extend_from_slice(name);
        below.push(b'/');
        let inside = each_below(child.at(), below, depth - 1, control, visit);
        below.truncate(length);
        inside
    })?;
    Ok(control.check()?)
}

/// `true` if all sampled names exist; looking them up brings them into the cache.
pub(super) fn are_there(directory: Borrowed<'_>, sample: &[Sampled]) -> Result<bool, WorkError> {
    for path in sample {
        match os::status(directory, path.as_slice()) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(false);
            }
            Err(error) => return Err(refused(CacheState::VfsCold, error.to_string())),
        }
    }
    Ok(!sample.is_empty())
}

/// A pass that stats every entry and samples some of them (Vitter's algorithm R).
pub(super) struct Pass<'a> {
    pub(super) seen: u64,
    pub(super) sample: Vec<Sampled>,
    random: &'a mut SplitMix64,
}

impl<'a> Pass<'a> {
    pub(super) fn new(random: &'a mut SplitMix64) -> Self {
        Self { seen: 0, sample: Vec::new(), random }
    }

    pub(super) fn see(&mut self, found: &TreeEntry<'_>) -> Result<(), WorkError> {
        if os::if_there(os::status(found.parent, found.name)).map_err(WorkError::at(STAGE))?.is_some() {
            self.draw(found);
        }
        Ok(())
    }

    /// Gives every entry seen so far the same chance, whatever their number turns out to be.
    pub(super) fn draw(&mut self, found: &TreeEntry<'_>) {
        self.seen += 1;
        let place = match self.sample.len() {
            length if length < SAMPLE_MAX => length,
            _ => self.random.below(self.seen).unwrap_or(0) as usize,
        };
        if place < SAMPLE_MAX {
            let path = [found.below, found.name].concat();
            match self.sample.get_mut(place) {
                Some(old) => *old = path,
                None => self.sample.push(path),
            }
        }
    }
}
