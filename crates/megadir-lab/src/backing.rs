//! Storage below a file system of the lab.

use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// An image of this size in the lab's directory; memory for a file system in memory.
    Image {
        bytes: u64,
        /// Upper bound of the bytes written to it, see [`Spec::written_bytes`](super::Spec::written_bytes);
        /// this much must be free.
        written_bytes: u64,
    },
    Device {
        path: PathBuf,
        /// `true` if the user allowed erasing it (`--erase-device`).
        erase: bool,
    },
}
