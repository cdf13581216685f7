//! Traps: what applies to a directory and is not what one would expect, each with its cures.

use super::cure::Cure;

/// Something to know of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// A short name, the same for ever.
    pub name: &'static str,
    /// What it is and what it does here, in a sentence or two.
    pub text: String,
    /// What can be done, the best first.
    pub cures: Vec<Cure>,
}
