//! Sort key of a directory; parts and common beginnings of paths.

pub use megadir::TreePath;

/// Index of a root, and a path below it.
pub(crate) type Place = (u32, TreePath);

/// Parent and name of a path; the parent of a single name is empty.
pub fn split_bytes(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

const PAGE_BYTES: usize = 4096;
const LINE_BYTES: usize = 256;

/// Called for each directory with paths that may have kilobytes in common: long ones are compared in large
/// chunks first, then by eight bytes, whose first difference is found by counting zero bits.
#[inline]
pub(crate) fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let mut at = if most < LINE_BYTES { 0 } else { common_chunks_bytes(a, b) };
    while let (Some(Ok(left)), Some(Ok(right))) =
        (a.get(at..at + 8).map(<[u8; 8]>::try_from), b.get(at..at + 8).map(<[u8; 8]>::try_from))
    {
        let differ = u64::from_le_bytes(left) ^ u64::from_le_bytes(right);
        if differ != 0 {
            return at + differ.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < most && a[at] == b[at] {
        at += 1;
    }
    at
}

/// Out of line, to keep the code for names small.
#[cold]
#[inline(never)]
fn common_chunks_bytes(a: &[u8], b: &[u8]) -> usize {
    let equal = |left: &[u8], right: &[u8], chunk_bytes: usize| {
        let chunks = left.chunks_exact(chunk_bytes).zip(right.chunks_exact(chunk_bytes));
        chunk_bytes * chunks.take_while(|(left, right)| left == right).count()
    };
    let pages = equal(a, b, PAGE_BYTES);
    pages + equal(&a[pages..], &b[pages..], LINE_BYTES)
}

/// `./` for a relative path that begins with `#` or `;`, which rsync takes for a comment in a list of files, even with `--from0`, and
/// leaves out without a message (rsync 3.5); nothing for other paths. With it, rsync, tar and restic take the same entry.
pub fn list_prefix(path: &[u8]) -> &'static [u8] {
    if matches!(path.first(), Some(b'#' | b';')) { b"./" } else { b"" }
}
