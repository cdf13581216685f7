//! State that a walk passes from each directory to the directories in it.

use std::sync::Arc;

use crate::dir::Dir;

/// State of a directory of a walk, derived from its parent's.
///
/// The walk keeps it until the directory is read and each directory in it was opened. A state that refers to its
/// parent's by an [`Arc`] is therefore dropped when everything below has been read.
pub trait WalkContext: Send + Sync + 'static {
    /// Makes the state of the directory `name` in this directory.
    #[must_use]
    fn below(&self, name: &[u8]) -> Self;
}

/// No state.
impl WalkContext for () {
    fn below(&self, _name: &[u8]) -> Self {}
}

/// Open directory and its state.
#[derive(Debug)]
pub(super) struct Opened<C> {
    /// Shared with its reader.
    pub(super) dir: Arc<Dir>,
    pub(super) context: C,
}
