//! Data sets: names, places, sizes and contents computed from a seed and an index, and directories filled with them.
//!
//! Nothing is held in memory: what the n-th file is follows from the plan when it is needed ([`Files`]), so a data set of
//! any size costs some kilobytes, and a run can be repeated from its seed.
//!
//! | subject | file |
//! |---|---|
//! | the n-th file in all respects | `files.rs` |
//! | its name, path, size, content | `names.rs`, `places.rs`, `sizes.rs`, `content.rs` |
//! | syntax of laws; the user's own choices | `syntax.rs` |
//! | the shape of a user's tree | `profile.rs` |
//! | making them; a dry run of that | `fill.rs`, `dry_run.rs` |

mod content;
mod dry_run;
mod files;
mod fill;
mod names;
mod places;
mod profile;
mod sizes;
mod syntax;

use std::path::PathBuf;

use megadir::layout::Refused;
use megadir::limits::Explanation;
use megadir_stats::permutation::SplitMix64;

use crate::control::words;

pub use crate::dataset::places::LEVELS_MAX;
pub use crate::dataset::places::{Place, PlaceBuffer};
pub use crate::dataset::syntax::{Chosen, names_of};
pub use content::Content;
pub use dry_run::rehearse;
pub use files::Files;
pub(crate) use fill::Filling;
pub use fill::fill;
pub use names::{NAME_BYTES_MAX, Names};
pub use places::Directories;
pub use profile::{Look, LookError, look_at};
pub use sizes::{SIGMA_MAX, SIZE_BYTES_MAX, Sizes};
pub use syntax::{
    CONTENTS, SIZE_LAWS, parse_content, parse_sizes, parse_spread, write_content, write_sizes, write_spread,
};

/// Limit of taken names kept for the report.
const TAKEN_NAMES_MAX: usize = 5;

/// Returns a generator for one purpose and one file, independent of all others.
fn stream(seed: u64, purpose: u64, index: u64) -> SplitMix64 {
    let of_purpose = SplitMix64::new(seed ^ purpose).next_u64();
    SplitMix64::new(SplitMix64::new(of_purpose ^ index).next_u64())
}

/// Progress of filling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillProgress {
    /// Names gone through.
    pub done: u64,
    /// Names in all.
    pub of: u64,
}

/// Result of filling a directory.
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
    /// `true` if the filling was stopped before its end.
    pub stopped: bool,
}

impl Filled {
    /// Counts a file that was not made because of what has this path.
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

/// Result of a dry run of filling a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsed {
    /// The result that filling would have.
    pub filled: Filled,
    /// `true` if there are more directories to be made than were counted.
    pub more_directories: bool,
    /// Bytes that would be written into files.
    pub bytes: u64,
}

/// Reason why there are no such files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// The layout is none.
    #[error("layout {layout}: {reason}")]
    Layout {
        /// The layout as it was written.
        layout: String,
        /// The mistake in it.
        reason: String,
    },
    /// The layout has no place for a name.
    #[error("layout {layout} has no place for the name '{name}': {reason}")]
    Refused {
        /// The name.
        name: String,
        /// The layout.
        layout: String,
        /// The reason.
        reason: Refused,
    },
    /// The laws cannot be, or not together.
    #[error("{0}")]
    Contradiction(String),
}

/// Reason why filling ended early; the files made stay, and filling again continues there.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The directory cannot be opened.
    #[error("cannot open '{}': {}{}", .path.display(), words(.source), missing(.source))]
    Open {
        /// The directory.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The directory cannot be made.
    #[error("cannot make the directory '{}': {}{}", .path.display(), words(.source), missing(.source))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The reason.
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
    #[error("cannot make '{name}' (after {made} of {of}): {}", words(.source))]
    Make {
        /// The name.
        name: String,
        /// Names gone through without trouble.
        made: u64,
        /// Names in all.
        of: u64,
        /// The reason.
        source: std::io::Error,
    },
    /// There are no such files; nothing was made.
    #[error(transparent)]
    Files(#[from] FilesError),
}

/// Returns what to do where a directory cannot be made or opened for what it would be in.
fn missing(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::NotFound => " (what it lies in, or leads to, must exist)",
        std::io::ErrorKind::NotADirectory => " (a directory is wanted)",
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            " ('megadir limits' tells of the directory that it would lie in what has run out)"
        }
        _ => "",
    }
}

/// Returns the limit that was met and its first remedy.
fn with_cure(met: &Explanation) -> String {
    match met.cures.first() {
        Some(cure) => format!("{met} ({})", cure.text),
        None => met.to_string(),
    }
}
