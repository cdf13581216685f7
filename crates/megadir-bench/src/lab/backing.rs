//! What a file system is made on.

use std::path::PathBuf;

/// What a file system is made on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// An image of so many bytes in the lab's directory; memory for a file system that lies there.
    Image {
        /// The size.
        bytes: u64,
        /// How much of it may come to be written, see [`Spec::written_bytes`](super::Spec::written_bytes): so much must be free for it.
        written_bytes: u64,
    },
    /// A block device, whose content is lost.
    Device {
        /// Its path.
        path: PathBuf,
        /// `true` if its owner has allowed that, by `--erase-device`.
        erase: bool,
    },
}
