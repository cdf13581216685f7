//! Data sets: names and contents computed from a seed and an index, and directories filled with them.
//!
//! Nothing is held in memory: the n-th name is computed when it is needed, so a data set of any size
//! costs a few hundred bytes, and a run can be repeated from its seed.

#[cfg(target_os = "linux")]
mod fill;
mod names;
#[cfg(target_os = "linux")]
mod rehearse;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(not(target_os = "linux"))]
mod unavailable;

use std::path::PathBuf;

use megadir::layout::{PathBuffer, Placed, Placer, Refused};
use megadir::limits::Explanation;
use megadir_record::NameScheme;

#[cfg(target_os = "linux")]
pub use fill::fill;
#[cfg(target_os = "linux")]
pub(crate) use fill::fill_at;
pub use names::{Content, NAME_BYTES_MAX, Names};
#[cfg(target_os = "linux")]
pub use rehearse::rehearse;
#[cfg(not(target_os = "linux"))]
pub use unavailable::{fill, rehearse};

/// How many taken names are kept for the report.
#[cfg(target_os = "linux")]
const TAKEN_NAMES_MAX: usize = 5;

/// The files that a directory is to be filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillSpec {
    /// How many.
    pub entries: u64,
    /// How their names are computed.
    pub names: NameScheme,
    /// The size of each, bytes.
    pub size_bytes: u64,
    /// The seed of names and contents.
    pub seed: u64,
    /// Where each file goes, at the depth that the layout has for so many.
    pub layout: Placer,
}

impl FillSpec {
    /// Writes the path of a name into a buffer.
    ///
    /// # Errors
    ///
    /// [`FillError::Refused`] if the layout has no place for it.
    pub fn place<'a>(&self, name: &[u8], buffer: &'a mut PathBuffer) -> Result<Placed<'a>, FillError> {
        self.layout.place(name, buffer).map_err(|reason| FillError::Refused {
            name: String::from_utf8_lossy(name).into_owned(),
            layout: self.layout.layout().to_string(),
            reason,
        })
    }

    /// Refuses names that the layout has no place for, before anything is made.
    ///
    /// Whether a layout accepts the names of a scheme depends on their length, so one of each length is tried.
    #[cfg(target_os = "linux")]
    fn check_names(&self) -> Result<(), FillError> {
        let names = Names { scheme: self.names, seed: self.seed };
        let (mut name, mut path) = ([0; NAME_BYTES_MAX], PathBuffer::new());
        let powers = |base: u64| std::iter::successors(Some(1_u64), move |power| power.checked_mul(base));
        let indices = powers(10).chain(powers(16)).filter(|index| *index < self.entries);
        for index in std::iter::once(0).chain(indices).chain(self.entries.checked_sub(1)) {
            self.place(names.write(index, &mut name), &mut path)?;
        }
        Ok(())
    }
}

/// How far the filling has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillProgress {
    /// Names gone through.
    pub done: u64,
    /// Names in all.
    pub of: u64,
}

/// What filling a directory did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Files made.
    pub made: u64,
    /// Files that were there already, whole.
    pub already: u64,
    /// Files that were there and cut short, and were completed.
    pub completed: u64,
    /// Files not made because something else has their name or that of their directory, which was left alone.
    pub taken: u64,
    /// The first few paths of such things.
    pub taken_names: Vec<Vec<u8>>,
    /// Files not made because of those.
    pub taken_named: u64,
    /// Directories of the layout made.
    pub directories_made: u64,
    /// Whether the filling was stopped before its end.
    pub stopped: bool,
}

impl Filled {
    /// Counts a file that was not made because of what has this path.
    #[cfg(target_os = "linux")]
    fn take(&mut self, path: &[u8]) {
        self.taken += 1;
        let mut named = self.taken_names.iter().any(|taken| taken == path);
        if !named && self.taken_names.len() < TAKEN_NAMES_MAX {
            self.taken_names.push(path.to_vec());
            named = true;
        }
        self.taken_named += u64::from(named);
    }
}

/// What filling a directory would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// What filling would have to tell.
    pub filled: Filled,
    /// Whether there are more directories to be made than were counted.
    pub more_directories: bool,
    /// Bytes that would be written into files.
    pub bytes: u64,
}

/// Why filling ended early; what was made stays, and filling again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The directory cannot be made or opened.
    #[error("cannot open '{}': {source}", .path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no room, and what of.
    #[error("no room for more files after {made} of {of}: {}", with_cure(.met))]
    NoRoom {
        /// Names gone through without trouble.
        made: u64,
        /// Names in all.
        of: u64,
        /// The limit that was met.
        met: Box<Explanation>,
    },
    /// A file could not be made for another reason.
    #[error("cannot make '{name}' (after {made} of {of}): {source}")]
    Make {
        /// The name.
        name: String,
        /// Names gone through without trouble.
        made: u64,
        /// Names in all.
        of: u64,
        /// Why.
        source: std::io::Error,
    },
    /// The layout has no place for a name; nothing was made.
    #[error("layout {layout} has no place for the name '{name}': {reason}")]
    Refused {
        /// The name.
        name: String,
        /// The layout.
        layout: String,
        /// Why.
        reason: Refused,
    },
    /// Not on this system.
    #[error("making files is not available on this system")]
    Unavailable,
}

/// Returns what was met and the first thing that can be done about it.
fn with_cure(met: &Explanation) -> String {
    match met.cures.first() {
        Some(cure) => format!("{met} ({})", cure.text),
        None => met.to_string(),
    }
}
