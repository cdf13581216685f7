//! Sort key of a directory.

pub use megadir::TreePath;

pub(crate) type Place = (u32, TreePath);

pub(crate) fn split_bytes(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}
