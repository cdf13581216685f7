//! Paths that share their beginnings: memory grows with the depth of a tree, not with its square.
//!
//! A path shares its beginning with its parent's in pieces of 1 KiB. It becomes a `Path` only where one is printed: a
//! copy for each directory would take time quadratic in the depth of a tree.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

const PIECE_BYTES: usize = 1024;

/// Path relative to the root of a tree, in bytes separated by `/`; empty for the root itself.
///
/// Clones share their memory; an entry's path shares all but the last KiB with its directory.
///
/// ```
/// use megadir::TreePath;
/// let path = TreePath::from(b"usr/bin").join(b"env");
/// assert_eq!(path.to_vec(), b"usr/bin/env");
/// assert_eq!(path.split(), (TreePath::from(b"usr/bin"), b"env".to_vec()));
/// assert_eq!(path.to_string(), "usr/bin/env");
/// ```
#[derive(Clone, Default)]
pub struct TreePath {
    full: Option<Arc<Piece>>,
    last: Arc<[u8]>,
}

struct Piece {
    before: Option<Arc<Self>>,
    bytes: Arc<[u8]>,
    number: usize,
    hash: u64,
}

impl Piece {
    fn after(before: Option<Arc<Self>>, bytes: Arc<[u8]>) -> Arc<Self> {
        debug_assert_eq!(bytes.len(), PIECE_BYTES);
        let mut hasher = DefaultHasher::new();
        before.as_ref().map(|before| before.hash).hash(&mut hasher);
        bytes.hash(&mut hasher);
        let number = number(before.as_ref()) + 1;
        Arc::new(Self { before, bytes, number, hash: hasher.finish() })
    }
}

/// Recursion could overflow the stack.
impl Drop for Piece {
    fn drop(&mut self) {
        let mut before = self.before.take();
        while let Some(mut piece) = before.and_then(Arc::into_inner) {
            before = piece.before.take();
        }
    }
}

fn number(piece: Option<&Arc<Piece>>) -> usize {
    piece.map_or(0, |piece| piece.number)
}

impl TreePath {
    /// Path of a root.
    pub fn root() -> Self {
        Self::default()
    }

    /// `true` for the path of a root.
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        number(self.full.as_ref()) * PIECE_BYTES + self.last.len()
    }

    /// Returns the path of an entry of this directory.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        let separator: &[u8] = if self.is_empty() { b"" } else { b"/" };
        Self::append(self.full.clone(), &self.last, &[separator, name])
    }

    /// Splits into directory and name. A path without `/` is a name in the root.
    pub fn split(&self) -> (Self, Vec<u8>) {
        let (mut full, mut last) = (self.full.as_ref(), &self.last);
        let mut names = Vec::new();
        loop {
            if let Some(at) = last.iter().rposition(|byte| *byte == b'/') {
                names.push(&last[at + 1..]);
                let directory = Self::append(full.cloned(), &[], &[&last[..at]]);
                return (directory, names.into_iter().rev().flatten().copied().collect());
            }
            names.push(last);
            let Some(piece) = full else {
                return (Self::root(), names.into_iter().rev().flatten().copied().collect());
            };
            (full, last) = (piece.before.as_ref(), &piece.bytes);
        }
    }

    /// Returns the directory; empty for an entry of the root.
    #[must_use]
    pub fn parent(&self) -> Self {
        self.split().0
    }

    /// Appends the path to `bytes`.
    pub fn push_to(&self, bytes: &mut Vec<u8>) {
        self.push_from(0, bytes);
    }

    /// Appends the path from offset `start` on, without visiting earlier pieces.
    pub fn push_from(&self, start: usize, bytes: &mut Vec<u8>) {
        let mut end = self.len();
        let mut pieces = Vec::new();
        for piece in self.pieces_from_end() {
            let before = end - piece.len();
            pieces.push(&piece[start.saturating_sub(before).min(piece.len())..]);
            end = before;
            if end <= start {
                break;
            }
        }
        pieces.into_iter().rev().for_each(|piece| bytes.extend_from_slice(piece));
    }

    /// Changes `bytes` from `other` to this path without copying shared pieces.
    pub fn replace(&self, other: &Self, bytes: &mut Vec<u8>) {
        let start = self.shared_bytes(other);
        bytes.truncate(start);
        self.push_from(start, bytes);
    }

    /// Length of the memory that both paths share, bytes. The paths may agree in more.
    pub fn shared_bytes(&self, other: &Self) -> usize {
        let (mut shared, mut theirs) = (self.full.as_ref(), other.full.as_ref());
        while let Some(piece) = shared {
            while number(theirs) > piece.number {
                theirs = theirs.and_then(|theirs| theirs.before.as_ref());
            }
            if theirs.is_some_and(|theirs| Arc::ptr_eq(theirs, piece)) {
                break;
            }
            shared = piece.before.as_ref();
        }
        number(shared) * PIECE_BYTES
    }

    /// Returns the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.push_to(&mut bytes);
        bytes
    }

    /// Compares with a path in bytes.
    pub fn cmp_bytes(&self, bytes: &[u8]) -> Ordering {
        let mut ordering = self.len().cmp(&bytes.len());
        let mut start = self.len();
        for piece in self.pieces_from_end() {
            start -= piece.len();
            let other = bytes.get(start..bytes.len().min(start + piece.len())).unwrap_or_default();
            ordering = if start > bytes.len() { ordering } else { piece.cmp(other).then(ordering) };
        }
        ordering
    }

    /// Makes a path that shares pieces with `other`, e.g. its predecessor in sorted order.
    #[must_use]
    pub fn sharing(bytes: &[u8], other: &Self) -> Self {
        let mut piece = other.full.as_ref();
        // The last piece is never empty.
        while number(piece) * PIECE_BYTES >= bytes.len().max(1) {
            piece = piece.and_then(|piece| piece.before.as_ref());
        }
        let mut shared = piece;
        while let Some(at) = piece {
            let end = at.number * PIECE_BYTES;
            if *at.bytes != bytes[end - PIECE_BYTES..end] {
                shared = at.before.as_ref();
            }
            piece = at.before.as_ref();
        }
        Self::append(shared.cloned(), &[], &[&bytes[number(shared) * PIECE_BYTES..]])
    }

    /// Length of the last piece, bytes; the others may be shared.
    pub fn own_bytes(&self) -> usize {
        self.last.len()
    }

    fn append(mut full: Option<Arc<Piece>>, last: &[u8], rest: &[&[u8]]) -> Self {
        let length = last.len() + rest.iter().map(|rest| rest.len()).sum::<usize>();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend_from_slice(last);
        rest.iter().for_each(|rest| bytes.extend_from_slice(rest));
        let mut bytes = &bytes[..];
        while let Some((piece, after)) = bytes.split_at_checked(PIECE_BYTES)
            && !after.is_empty()
        {
            full = Some(Piece::after(full, piece.into()));
            bytes = after;
        }
        if bytes.is_empty()
            && let Some(piece) = full
        {
            return Self { full: piece.before.clone(), last: Arc::clone(&piece.bytes) };
        }
        Self { full, last: bytes.into() }
    }

    fn pieces_from_end(&self) -> impl Iterator<Item = &[u8]> {
        let full = std::iter::successors(self.full.as_ref(), |piece| piece.before.as_ref());
        std::iter::once(&*self.last).chain(full.map(|piece| &*piece.bytes))
    }
}

impl<B: AsRef<[u8]> + ?Sized> From<&B> for TreePath {
    fn from(bytes: &B) -> Self {
        Self::append(None, &[], &[bytes.as_ref()])
    }
}

impl Ord for TreePath {
    fn cmp(&self, other: &Self) -> Ordering {
        let numbers = [self, other].map(|path| number(path.full.as_ref()));
        let mut ordering = numbers[0].cmp(&numbers[1]);
        let [mut a, mut b] = [self, other].map(|path| (&path.last, path.full.as_ref()));
        let up = |from: &mut (_, Option<_>), to: usize| {
            while let Some(piece) = from.1.filter(|piece: &&Arc<Piece>| piece.number > to) {
                *from = (&piece.bytes, piece.before.as_ref());
            }
        };
        up(&mut a, numbers[1]);
        up(&mut b, numbers[0]);
        loop {
            ordering = a.0.cmp(b.0).then(ordering);
            match (a.1, b.1) {
                (Some(x), Some(y)) if !Arc::ptr_eq(x, y) => {
                    (a, b) = ((&x.bytes, x.before.as_ref()), (&y.bytes, y.before.as_ref()));
                }
                _ => return ordering,
            }
        }
    }
}

impl PartialOrd for TreePath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for TreePath {
    fn eq(&self, other: &Self) -> bool {
        self.last == other.last && self.cmp(other).is_eq()
    }
}

impl Eq for TreePath {}

impl PartialEq<[u8]> for TreePath {
    fn eq(&self, other: &[u8]) -> bool {
        self.len() == other.len() && self.cmp_bytes(other).is_eq()
    }
}

impl Hash for TreePath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.full.as_ref().map(|piece| piece.hash).hash(state);
        self.last.hash(state);
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.to_vec().utf8_chunks() {
            out.write_str(chunk.valid())?;
            chunk.invalid().iter().try_for_each(|byte| write!(out, "\\x{byte:02x}"))?;
        }
        Ok(())
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}", self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::{PIECE_BYTES, TreePath};
    use std::collections::HashSet;

    /// Returns paths with names of several lengths, whose ends lie around the ends of pieces.
    fn paths() -> Vec<Vec<u8>> {
        let mut paths = vec![Vec::new()];
        for name_bytes in [1, 2, 255, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            for letter in [b'!', b'a', 0xff] {
                let mut path = Vec::new();
                while path.len() < 4 * PIECE_BYTES {
                    let from = path.len();
                    path.extend((!path.is_empty()).then_some(b'/'));
                    path.resize(from + name_bytes, letter);
                    paths.push(path.clone());
                }
            }
        }
        paths.retain(|path| !path.ends_with(b"/"));
        paths.sort();
        paths.dedup();
        paths
    }

    fn joined(path: &[u8]) -> TreePath {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        names.fold(TreePath::root(), |path, name| path.join(name))
    }

    #[test]
    fn paths_are_the_same_however_they_were_made() {
        let (mut previous, mut bytes) = (TreePath::root(), Vec::new());
        for path in paths() {
            let whole = TreePath::from(&path);
            assert_eq!(
                (whole.to_vec(), whole.len(), whole.is_empty()),
                (path.clone(), path.len(), path.is_empty())
            );
            assert!(whole == joined(&path) && whole == *path);
            let before = previous.clone();
            previous = TreePath::sharing(&path, &before);
            assert!(whole == previous);
            previous.replace(&before, &mut bytes);
            assert_eq!(bytes, path);
            assert_eq!(HashSet::from([whole.clone(), joined(&path), previous.clone()]).len(), 1);
            let slash = path.iter().rposition(|byte| *byte == b'/');
            let (directory, name) = slash.map_or((&[][..], &path[..]), |at| (&path[..at], &path[at + 1..]));
            assert_eq!(whole.split(), (TreePath::from(directory), name.to_vec()));
            for start in [0, path.len() / 3, path.len().saturating_sub(1), path.len()] {
                let mut end = Vec::new();
                whole.push_from(start, &mut end);
                assert_eq!(end, path[start..]);
            }
        }
    }

    #[test]
    fn paths_are_ordered_as_their_bytes() {
        let paths = paths();
        for a in paths.iter().step_by(31) {
            let path = joined(a);
            for b in paths.iter().step_by(61) {
                assert_eq!(path.cmp(&TreePath::from(b)), a.cmp(b));
                assert_eq!(path.cmp_bytes(b), a.cmp(b));
            }
        }
    }

    #[test]
    fn deep_paths_share_their_memory_and_are_freed_without_recursion() {
        let mut path = TreePath::root();
        for _ in 0..999 {
            path = path.join(&[b'a'; 255]);
        }
        let pieces = path.full.as_ref().unwrap();
        let below = path.join(b"b");
        assert!(std::sync::Arc::ptr_eq(pieces, below.full.as_ref().unwrap()));
        drop(TreePath::from(&vec![b'a'; 1 << 28]));
    }
}
