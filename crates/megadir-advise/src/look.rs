//! Looking at the directory that was named: its limits, and some of its names.

use megadir::limits::{Asked, Limits, limits};
use megadir::{Dir, FileType, Listing};

use crate::ground::ready;

/// So many names show how they are spread.
const NAMES_MAX: usize = 4096;

/// What was seen of a directory.
#[derive(Clone, Debug)]
pub struct Look {
    /// How many entries fit, and what runs out first.
    pub limits: Limits,
    /// Whether the length of names to come is nobody's word, but the usual one.
    pub names_assumed: bool,
    /// Some of the names that those to come are like; none where there are too few to tell anything.
    pub names: Vec<Vec<u8>>,
}

/// Looks at a directory; the cost does not grow with it.
///
/// # Errors
///
/// Whatever opening and reading the directory, or the one that further entries are like, gives.
pub fn look(directory: &Dir, asked: &Asked<'_>) -> megadir::Result<Look> {
    let found = limits(directory, asked)?;
    let (facts, names_assumed) = ready(found.facts);
    let names = match asked.names {
        // Of names only their length was said.
        Some(_) => Vec::new(),
        None if names_assumed => Vec::new(),
        None => names(asked.like.unwrap_or(directory))?,
    };
    Ok(Look { limits: Limits::judge(facts, asked.churn), names_assumed, names })
}

/// Returns the first names of a directory that are no directories.
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
