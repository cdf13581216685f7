//! Data sets: names, paths, sizes and contents computed from a seed and an index ([`Files`]), and directories filled with them.
//!
//! Everything about the n-th file of any worker is computed when needed, so that 10^8 files take no memory. The laws
//! are in the record (`megadir_record::data`) and have one syntax in study files and on the command line (`syntax.rs`).
//! `needs.rs` computes space and inodes before anything is made.
//!
//! ```text
//!  Made (laws, from study or arguments) + seed + entries -> Files
//!    Files: index -> name (names.rs) -> path (places.rs), size (sizes.rs), content (content.rs)
//!    fill.rs: creates them in a directory       dry_run.rs: the same, only looking
//!    profile.rs: a user's tree -> Made, for a data set like it
//! ```
//!
//! The values are a promise: a record of today is repeated in years with the same bytes, on another machine
//! and system. Hence no library that might change its algorithm decides a value; the tests compare names and
//! contents with md5sum, printf and the published numbers of SplitMix64.

mod content;
mod dry_run;
mod files;
mod fill;
mod names;
mod needs;
mod places;
mod profile;
mod sizes;
mod syntax;

use std::path::PathBuf;

use megadir::layout::Refused;
use megadir::limits::Explanation;
use megadir_stats::permutation::SplitMix64;

use crate::control::words;

pub use content::Content;
pub use dry_run::rehearse;
pub use files::Files;
pub(crate) use fill::Filling;
pub use fill::fill;
pub use names::{NAME_BYTES_MAX, Names};
pub use needs::Needs;
pub use places::{Directories, FilePlace, LEVELS_MAX, PlaceBuffer};
pub use profile::{Look, LookError, look_at};
pub use sizes::{SIGMA_MAX, SIZE_BYTES_MAX, Sizes};
pub use syntax::{
    CONTENTS, Chosen, SIZE_LAWS, names_of, parse_content, parse_sizes, parse_spread, write_content,
    write_sizes, write_spread,
};

/// Names in the message about files that were left alone.
const TAKEN_NAMES_MAX: usize = 5;

/// Generator for one property of one file. Sizes, names and contents of a file have generators of their
/// own, so that a draw more in one changes nothing in the others.
fn stream(seed: u64, purpose: u64, index: u64) -> SplitMix64 {
    let of_purpose = SplitMix64::new(seed ^ purpose).next_u64();
    SplitMix64::new(SplitMix64::new(of_purpose ^ index).next_u64())
}

/// Numbers of files, for a display: those made so far, and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillProgress {
    pub done: u64,
    pub of: u64,
}

/// Counts of a filling by the fate of a file: created, complete already, completed after a kill, or left
/// alone because something else has the name. Their sum is the number of files that were reached.
/// `taken_names` has the first few of `taken` for the message, and `taken_named` counts the
/// files that these names stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    pub made: u64,
    pub already: u64,
    pub completed: u64,
    /// Files skipped because another entry has their name, or the name of their directory.
    pub taken: u64,
    pub taken_names: Vec<Vec<u8>>,
    pub taken_named: u64,
    pub directories_made: u64,
    pub stopped: bool,
}

impl Filled {
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rehearsed {
    pub filled: Filled,
    /// `true` if the count of directories to be made reached its limit.
    pub more_directories: bool,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    #[error("layout {layout}: {reason}")]
    Layout { layout: String, reason: String },
    #[error("layout {layout} does not accept the name '{name}': {reason}")]
    Refused { name: String, layout: String, reason: Refused },
    #[error("{0}")]
    Contradiction(String),
}

/// Reason for an early end. The files made stay, and filling again continues there.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    #[error("cannot open '{}': {}{}", .path.display(), words(.source), missing(.source))]
    Open { path: PathBuf, source: std::io::Error },
    #[error("cannot create the directory '{}': {}{}", .path.display(), words(.source), missing(.source))]
    Directory { path: PathBuf, source: std::io::Error },
    #[error("no more files fit after {made} of {of}: {}", with_cure(.met))]
    NoRoom { made: u64, of: u64, met: Box<Explanation> },
    #[error("cannot create '{name}' (after {made} of {of}): {}", words(.source))]
    Make { name: String, made: u64, of: u64, source: std::io::Error },
    #[error(transparent)]
    Files(#[from] FilesError),
}

/// Hint after an error of opening a directory.
fn missing(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::NotFound => " (its parent directory, or the target of the link, must exist)",
        std::io::ErrorKind::NotADirectory => " (expected a directory)",
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            " ('megadir limits' on its parent directory shows which limit was reached)"
        }
        _ => "",
    }
}

fn with_cure(met: &Explanation) -> String {
    match met.cures.first() {
        Some(cure) => format!("{met} ({})", cure.text),
        None => met.to_string(),
    }
}
