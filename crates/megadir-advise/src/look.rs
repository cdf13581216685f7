//! Limits of the given directory, and a sample of its names.

use megadir::limits::{Asked, Limits, limits};
use megadir::{Dir, FileType, Listing};

use crate::new_dir::ready;

/// Enough to judge how names are spread.
const NAMES_MAX: usize = 4096;

#[derive(Clone, Debug)]
pub struct Look {
    pub limits: Limits,
    /// Neither given nor measured.
    pub names_assumed: bool,
    /// Empty if there are too few.
    pub names: Vec<Vec<u8>>,
}

/// The cost does not grow with the directory.
pub fn look(directory: &Dir, asked: &Asked<'_>) -> megadir::Result<Look> {
    let found = limits(directory, asked)?;
    let (facts, names_assumed) = ready(found.facts);
    let names = match asked.names {
        // The user gave only lengths.
        Some(_) => Vec::new(),
        None if names_assumed => Vec::new(),
        None => names(asked.like.unwrap_or(directory))?,
    };
    Ok(Look { limits: Limits::judge(facts, asked.churn), names_assumed, names })
}

/// In listing order, without directories.
fn names(directory: &Dir) -> megadir::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut listing = Listing::open(directory.path())?;
    while let Some(batch) = listing.next_batch()? {
        for entry in batch {
            if entry.kind != FileType::Directory {
                names.push(entry.name.to_vec());
            }
            if names.len() >= NAMES_MAX {
                return Ok(names);
            }
        }
    }
    Ok(names)
}
