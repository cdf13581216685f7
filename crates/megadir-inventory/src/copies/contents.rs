//! Contents and link targets of pairs that agree otherwise.
//!
//! A file whose size or times are not those of its row, or change while it is read, is reported as such: what was read
//! then is no evidence.

use std::sync::atomic::{AtomicBool, Ordering};

use megadir::Error;

use crate::contents::hasher::{Function, Hasher};
use crate::contents::opened::{Opened, TreeFiles};
use crate::row::{ContentHash, Facts, Key};

const CHUNK_BYTES: usize = 128 << 10;
const CHANGED: &str = "changed while it was compared";

/// Outcome of a comparison; an unreadable side with the reason.
pub(super) enum Outcome {
    Same,
    Different,
    Unreadable(usize, String),
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
        match [facts[0].hash, facts[1].hash] {
            [Some(a), Some(b)] => of_hashes(a, b),
            [Some(hash), None] => of_hash(hash, (1, b.as_mut()), (key, facts[1]), (&mut chunks[0], stop)),
            [None, Some(hash)] => of_hash(hash, (0, a.as_mut()), (key, facts[0]), (&mut chunks[0], stop)),
            [None, None] => match (a, b) {
                (Some(a), Some(b)) => match [a.open(key), b.open(key)] {
                    [Ok(a), Ok(b)] => by_bytes([a, b], facts, chunks, stop),
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
        if let [Some(a), Some(b)] = [facts[0].hash, facts[1].hash] {
            return of_hashes(a, b);
        }
        let function =
            facts.iter().find_map(|facts| facts.hash).map_or(Function::Sha256, |hash| Function::of(&hash));
        let mut hashes = [None; 2];
        for (side, (tree, hash)) in self.trees.iter_mut().zip(&mut hashes).enumerate() {
            *hash = match (facts[side].hash, tree) {
                (Some(hash), _) => Some(hash),
                (None, Some(tree)) => match tree.target(key) {
                    Ok(target) => Some(function.hash(&target)),
                    Err(error) => return unreadable(side, &error),
                },
                (None, None) => return Outcome::Unreadable(side, NO_HASH.to_owned()),
            };
        }
        same(hashes[0] == hashes[1])
    }
}

const OTHER_FUNCTION: &str =
    "its hash is of another function (SHA-256, BLAKE3) than that of the first inventory";
const NO_HASH: &str = "the inventory has no hash";

fn same(is_same: bool) -> Outcome {
    if is_same { Outcome::Same } else { Outcome::Different }
}

/// Both sides are inventories.
fn of_hashes(a: ContentHash, b: ContentHash) -> Outcome {
    match Function::of(&a) == Function::of(&b) {
        true => same(a == b),
        false => Outcome::Unreadable(1, OTHER_FUNCTION.to_owned()),
    }
}

fn unreadable(side: usize, error: &Error) -> Outcome {
    Outcome::Unreadable(side, format!("{}: {}", error.operation(), error.reason()))
}

fn of_hash(
    hash: ContentHash,
    (side, tree): (usize, Option<&mut TreeFiles>),
    (key, facts): (&Key<'_>, &Facts),
    (chunk, stop): (&mut [u8], &AtomicBool),
) -> Outcome {
    let Some(tree) = tree else { return Outcome::Unreadable(side, NO_HASH.to_owned()) };
    let hashed = tree.open(key).and_then(|mut opened| {
        if !opened.before.is_of(facts) {
            return Ok(None);
        }
        let mut hasher = Hasher::new(Function::of(&hash));
        while !stop.load(Ordering::Relaxed) {
            match opened.fill(chunk)? {
                0 => break,
                filled => hasher.update(&chunk[..filled]),
            }
        }
        Ok(opened.is_unchanged().then(|| hasher.finish()))
    });
    match hashed {
        Ok(Some(now)) => same(now == hash),
        Ok(None) => Outcome::Unreadable(side, CHANGED.to_owned()),
        Err(error) => unreadable(side, &error),
    }
}

/// Reads both files in step, up to the first difference, and has no outcome for a file that changed meanwhile. One file with two names, as in
/// snapshots of hard links, is equal without being read; after a stop the outcome is none.
fn by_bytes(
    mut files: [Opened; 2],
    facts: [&Facts; 2],
    chunks: &mut [Vec<u8>; 2],
    stop: &AtomicBool,
) -> Outcome {
    let changed = |files: &[Opened; 2]| files.iter().position(|file| !file.is_unchanged());
    if let Some(side) = files.iter().zip(facts).position(|(file, facts)| !file.before.is_of(facts)) {
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
