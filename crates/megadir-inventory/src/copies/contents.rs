//! Contents and link targets of pairs that agree otherwise.
//!
//! Files are opened relative to the descriptor of their directory, without following links. A file whose size or times
//! are not those of its row, or change while it is read, is reported as such: what was read then is no evidence.

use std::fs::{File, Metadata as Status};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use megadir::{Dir, Error, Result, Time, names};
use sha2::{Digest, Sha256};

use crate::changes::hash::{open_directory, open_file, read_link};
use crate::row::{Facts, Key, nanoseconds};

const CHUNK_BYTES: usize = 128 << 10;
const CHANGED: &str = "changed while it was compared";

/// Outcome of a comparison; an unreadable side with the reason.
pub(super) enum Outcome {
    Same,
    Different,
    Unreadable(usize, String),
}

/// Opens files of a tree. The directory of the last one stays open, because rows come by directory.
pub(super) struct TreeFiles {
    root: Dir,
    last: Option<(Vec<u8>, Dir)>,
}

impl TreeFiles {
    pub(super) fn new(root: Dir) -> Self {
        Self { root, last: None }
    }

    fn directory(&mut self, path: &[u8]) -> Result<&Dir> {
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            self.last = Some((path.to_vec(), open_directory(&self.root, path)?));
        }
        let Some((_, directory)) = &self.last else { unreachable!("it was opened above") };
        Ok(directory)
    }

    fn open(&mut self, key: &Key<'_>, facts: &Facts) -> Result<Opened> {
        let directory = self.directory(key.parent)?;
        let path = directory.path().join(names::to_os(key.name)?);
        let failed = |error| Error::io("open", &path, error);
        let file = open_file(directory, key.name, &path).map_err(failed)?;
        let before = State::of(&file.metadata().map_err(failed)?);
        Ok(Opened { is_as_scanned: before.is_of(facts), file, before, path })
    }

    fn target(&mut self, key: &Key<'_>) -> Result<Vec<u8>> {
        let directory = self.directory(key.parent)?;
        let path = directory.path().join(names::to_os(key.name)?);
        read_link(directory, key.name, &path).map_err(|error| Error::io("read the link", &path, error))
    }
}

/// Attributes that change when a file is written to, and the identity of the file. Two states of one open file are compared, from before
/// and after it was read: if they differ, what was read is no evidence.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    is_file: bool,
    /// Device and inode; `None` where these are not at hand.
    id: Option<(u64, u64)>,
    size_bytes: u64,
    modified_ns: Option<i64>,
    changed: (i64, i64),
}

impl State {
    fn of(status: &Status) -> Self {
        #[cfg(unix)]
        let (changed, id) = {
            use std::os::unix::fs::MetadataExt;
            ((status.ctime(), status.ctime_nsec()), Some((status.dev(), status.ino())))
        };
        #[cfg(not(unix))]
        let (changed, id) = ((0, 0), None);
        let modified_ns = status.modified().ok().map(|time| nanoseconds(Time::from_system(time)));
        Self { is_file: status.is_file(), id, size_bytes: status.len(), modified_ns, changed }
    }

    fn is_of(&self, facts: &Facts) -> bool {
        let is_same =
            |row: Option<i64>| row.is_none() || self.modified_ns.is_none() || row == self.modified_ns;
        self.is_file && facts.size_bytes == Some(self.size_bytes) && is_same(facts.modified_ns)
    }
}

struct Opened {
    file: File,
    before: State,
    is_as_scanned: bool,
    path: PathBuf,
}

impl Opened {
    fn fill(&mut self, chunk: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < chunk.len() {
            match self.file.read(&mut chunk[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.path, error)),
            }
        }
        Ok(filled)
    }

    /// `false` if the file changed since its row was made.
    fn is_unchanged(&self) -> bool {
        self.is_as_scanned && self.file.metadata().is_ok_and(|status| State::of(&status) == self.before)
    }
}

/// Reads what the rows do not have: `None` for a side that is an inventory. The buffers are used for every file.
pub(super) struct Contents<'c> {
    trees: [Option<TreeFiles>; 2],
    chunks: [Vec<u8>; 2],
    /// Looked at before each chunk, since a single file may take minutes.
    stop: &'c AtomicBool,
}

impl<'c> Contents<'c> {
    pub(super) fn new(trees: [Option<TreeFiles>; 2], stop: &'c AtomicBool) -> Self {
        Self { trees, chunks: [Vec::new(), Vec::new()], stop }
    }

    /// `true` if a stop was requested: the outcome of the last files is no result then.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Compares two files of equal size, of the same path. A side whose row has a hash is not read. Two files are compared byte by byte, up
    /// to the first difference.
    pub(super) fn of_files(&mut self, key: &Key<'_>, facts: [&Facts; 2]) -> Outcome {
        self.chunks.iter_mut().for_each(|chunk| chunk.resize(CHUNK_BYTES, 0));
        let Self { trees: [a, b], chunks, stop } = self;
        match [facts[0].sha256, facts[1].sha256] {
            [Some(a), Some(b)] => same(a == b),
            [Some(hash), None] => of_hash(hash, (1, b.as_mut()), (key, facts[1]), (&mut chunks[0], stop)),
            [None, Some(hash)] => of_hash(hash, (0, a.as_mut()), (key, facts[0]), (&mut chunks[0], stop)),
            [None, None] => match (a, b) {
                (Some(a), Some(b)) => match [a.open(key, facts[0]), b.open(key, facts[1])] {
                    [Ok(a), Ok(b)] => by_bytes([a, b], chunks, stop),
                    [Err(error), _] => unreadable(0, &error),
                    [_, Err(error)] => unreadable(1, &error),
                },
                (None, _) => Outcome::Unreadable(0, NO_HASH.to_owned()),
                (_, None) => Outcome::Unreadable(1, NO_HASH.to_owned()),
            },
        }
    }

    /// Compares the targets of two symbolic links: those of trees are read, those of inventories are known by their hash.
    pub(super) fn of_links(&mut self, key: &Key<'_>, facts: [&Facts; 2]) -> Outcome {
        if let [Some(a), Some(b)] = [facts[0].sha256, facts[1].sha256] {
            return same(a == b);
        }
        let mut hashes = [[0; 32]; 2];
        for (side, (tree, hash)) in self.trees.iter_mut().zip(&mut hashes).enumerate() {
            *hash = match (facts[side].sha256, tree) {
                (Some(hash), _) => hash,
                (None, Some(tree)) => match tree.target(key) {
                    Ok(target) => Sha256::digest(&target).into(),
                    Err(error) => return unreadable(side, &error),
                },
                (None, None) => return Outcome::Unreadable(side, NO_HASH.to_owned()),
            };
        }
        same(hashes[0] == hashes[1])
    }
}

const NO_HASH: &str = "the inventory has no hash";

fn same(is_same: bool) -> Outcome {
    if is_same { Outcome::Same } else { Outcome::Different }
}

fn unreadable(side: usize, error: &Error) -> Outcome {
    Outcome::Unreadable(side, format!("{}: {}", error.operation(), error.reason()))
}

fn of_hash(
    hash: [u8; 32],
    (side, tree): (usize, Option<&mut TreeFiles>),
    (key, facts): (&Key<'_>, &Facts),
    (chunk, stop): (&mut [u8], &AtomicBool),
) -> Outcome {
    let Some(tree) = tree else { return Outcome::Unreadable(side, NO_HASH.to_owned()) };
    let hashed = tree.open(key, facts).and_then(|mut opened| {
        if !opened.is_as_scanned {
            return Ok(None);
        }
        let mut sha256 = Sha256::new();
        while !stop.load(Ordering::Relaxed) {
            match opened.fill(chunk)? {
                0 => break,
                filled => sha256.update(&chunk[..filled]),
            }
        }
        Ok(opened.is_unchanged().then(|| <[u8; 32]>::from(sha256.finalize())))
    });
    match hashed {
        Ok(Some(now)) => same(now == hash),
        Ok(None) => Outcome::Unreadable(side, CHANGED.to_owned()),
        Err(error) => unreadable(side, &error),
    }
}

/// Reads both files in step, up to the first difference, and has no outcome for a file that changed meanwhile. One file with two names, as in
/// snapshots of hard links, is equal without being read; after a stop the outcome is none.
fn by_bytes(mut files: [Opened; 2], chunks: &mut [Vec<u8>; 2], stop: &AtomicBool) -> Outcome {
    let changed = |files: &[Opened; 2]| files.iter().position(|file| !file.is_unchanged());
    if let Some(side) = files.iter().position(|file| !file.is_as_scanned) {
        return Outcome::Unreadable(side, CHANGED.to_owned());
    }
    if files[0].before.id.is_some() && files[0].before.id == files[1].before.id {
        return Outcome::Same;
    }
    let is_same = loop {
        if stop.load(Ordering::Relaxed) {
            break false;
        }
        let mut filled = [0; 2];
        for (side, ((file, chunk), filled)) in
            files.iter_mut().zip(chunks.iter_mut()).zip(&mut filled).enumerate()
        {
            match file.fill(chunk) {
                Ok(read) => *filled = read,
                Err(error) => return unreadable(side, &error),
            }
        }
        if chunks[0][..filled[0]] != chunks[1][..filled[1]] {
            break false;
        }
        if filled[0] < CHUNK_BYTES {
            break true;
        }
    };
    match changed(&files) {
        Some(side) => Outcome::Unreadable(side, CHANGED.to_owned()),
        None => same(is_same),
    }
}
