//! Directories whose entries one side of a comparison does not know.

use std::collections::BTreeMap;

use megadir::{Error, ErrorKind, Result};

/// More directories that cannot be read end the comparison, bytes of their paths.
const BYTES_MAX: usize = 64 << 20;
/// Memory of a mark besides its path, bytes.
const MARK_BYTES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It could not be listed, or not completely.
    Unread,
    /// On another mount, which was not entered.
    Mount,
    /// Listed, below a directory that was not listed completely.
    Listed,
}

/// Marked directories of one tree at a time. Marks that can no longer apply to the rows to come are dropped: those of the trees before, and
/// a directory once all paths below it have passed.
#[derive(Debug, Default)]
pub(super) struct Unlisted {
    root: u32,
    marks: BTreeMap<Vec<u8>, Mark>,
    bytes: usize,
}

impl Unlisted {
    pub(super) fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Errors: [`ErrorKind::Unavailable`] if there are more marks than may take memory.
    pub(super) fn mark(&mut self, root: u32, path: Vec<u8>, mark: Mark) -> Result<()> {
        self.enter(root, b"");
        let bytes = path.len() + MARK_BYTES;
        if self.marks.insert(path, mark).is_none() {
            self.bytes += bytes;
        }
        if self.bytes <= BYTES_MAX {
            return Ok(());
        }
        let reason = "too many directories cannot be read (their paths exceed 64 MiB): run it as a user who may read them, or --exclude them";
        Err(Error::new("compare", "".as_ref(), ErrorKind::Unavailable, reason))
    }

    /// `true` if the directory was marked as a mount.
    pub(super) fn unmark_mount(&mut self, path: &[u8]) -> bool {
        let is_mount = self.marks.get(path) == Some(&Mark::Mount);
        if is_mount {
            self.marks.remove(path);
            self.bytes -= path.len() + MARK_BYTES;
        }
        is_mount
    }

    /// Called with ascending directories.
    pub(super) fn enter(&mut self, root: u32, parent: &[u8]) {
        if root != self.root {
            *self = Self { root, ..Self::default() };
        }
        // Everything below `a` is less than `a0`, because 0 follows the slash.
        let is_past = |path: &[u8]| match parent.strip_prefix(path) {
            _ if path.is_empty() => false,
            Some(rest) => rest.first().is_some_and(|next| *next > b'/'),
            None => path < parent,
        };
        while let Some(first) = self.marks.first_entry().filter(|first| is_past(first.key())) {
            self.bytes -= first.key().len() + MARK_BYTES;
            first.remove();
        }
    }

    /// Mark that applies to unknown entries of a directory: its own, or that of the nearest marked directory above.
    pub(super) fn of(&self, root: u32, directory: &[u8]) -> Option<Mark> {
        if root != self.root || self.marks.is_empty() {
            return None;
        }
        let mut path = directory;
        loop {
            match self.marks.get(path) {
                Some(Mark::Listed) => return None,
                Some(mark) => return Some(*mark),
                None if path.is_empty() => return None,
                None => path = crate::path::split_bytes(path).0,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Mark, Unlisted};

    #[test]
    fn a_mark_holds_for_everything_below_until_a_listed_directory() {
        let mut unlisted = Unlisted::default();
        unlisted.mark(0, b"a".to_vec(), Mark::Unread).unwrap();
        unlisted.mark(0, b"a/known".to_vec(), Mark::Listed).unwrap();
        unlisted.mark(0, b"m".to_vec(), Mark::Mount).unwrap();
        let of = |unlisted: &Unlisted, path: &str| unlisted.of(0, path.as_bytes());
        assert_eq!(of(&unlisted, "a"), Some(Mark::Unread));
        assert_eq!(of(&unlisted, "a/b/c"), Some(Mark::Unread));
        assert_eq!(of(&unlisted, "a/known"), None);
        assert_eq!(of(&unlisted, "a/known/x"), None);
        assert_eq!(of(&unlisted, "a-b"), None);
        assert_eq!(of(&unlisted, ""), None);
        assert_eq!(of(&unlisted, "m/x"), Some(Mark::Mount));
        for parent in ["a", "a-b", "a/b", "a/zz"] {
            unlisted.enter(0, parent.as_bytes());
            assert_eq!(of(&unlisted, "a/zz"), Some(Mark::Unread), "{parent}");
        }
        unlisted.enter(0, b"a0");
        assert_eq!((of(&unlisted, "a/zz"), of(&unlisted, "m")), (None, Some(Mark::Mount)));
        assert!(unlisted.unmark_mount(b"m") && !unlisted.unmark_mount(b"m"));
        assert!(unlisted.is_empty());
        unlisted.mark(0, Vec::new(), Mark::Unread).unwrap();
        unlisted.enter(0, b"z");
        assert_eq!(of(&unlisted, "z/y"), Some(Mark::Unread));
        unlisted.enter(1, b"");
        assert!(unlisted.is_empty() && unlisted.bytes == 0);
    }

    #[test]
    fn too_many_marks_are_an_error() {
        let mut unlisted = Unlisted::default();
        let mut number = 0u32;
        let failed = loop {
            number += 1;
            let path = [number.to_be_bytes().as_slice(), &[b'x'; 250]].concat();
            if let Err(error) = unlisted.mark(0, path, Mark::Unread) {
                break error;
            }
        };
        assert!(failed.reason().contains("64 MiB"), "{failed}");
        assert!((200_000..250_000).contains(&number), "{number}");
    }
}
