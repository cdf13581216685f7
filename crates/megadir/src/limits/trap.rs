//! Traps: surprising properties of a directory, each with its remedies.

use super::cure::Cure;

/// A surprising property of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Short, stable name.
    pub name: &'static str,
    /// The property and its effect here, in a sentence or two.
    pub text: String,
    /// Remedies, best first.
    pub cures: Vec<Cure>,
}
