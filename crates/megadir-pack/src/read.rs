//! Members of a finished pack: found by the index, read from their shards.
//!
//! Index and shards may be damaged or hostile: every place is checked against the length of its shard, and contents against their hash.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};
use megadir_inventory::{ContentHash, Facts, Key, Metadata, PackIndex, Stored, open_to_read, split_bytes};
use sha2::{Digest, Sha256};

use crate::entry::Entry;
use crate::layout::{Note, index_path, shard_name};
use crate::member::{Member, attributes_hash};

const OPEN_MAX: usize = 64;
/// Read at once, so that small members that follow each other need one call.
const WINDOW_BYTES: usize = 256 << 10;
const PIECE_BYTES: u64 = 1 << 20;

/// An entry of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedEntry {
    /// Path below the packed tree; empty for the tree itself.
    pub path: Vec<u8>,
    /// Attributes when it was packed, with the hash of the contents.
    pub facts: Facts,
    /// Place in the shards; `None` if they do not hold it.
    pub stored: Option<Stored>,
}

/// A finished pack.
pub struct Pack {
    pub(crate) index: PackIndex,
    pub(crate) shards: OpenShards,
}

impl Pack {
    /// Opens a pack by its index or its directory. Errors: as [`PackIndex::open`], or its directory holds an unfinished pack.
    pub fn open(path: &Path) -> Result<Self> {
        let index = index_path(path);
        if path.is_dir() && !index.exists() {
            let reason = "it has no index.parquet: it is no pack, or one that is not finished (run its `megadir pack create` again)";
            return Err(Error::new("open", path, ErrorKind::Unavailable, reason));
        }
        let shards = OpenShards::of(&index)?;
        let rows = PackIndex::open(&index)?;
        match rows.metadata().roots.len() {
            1 => Ok(Self { index: rows, shards }),
            roots => {
                let reason = format!("the index of a pack has one tree, but this one has {roots}");
                Err(Error::new("read", &index, ErrorKind::Malformed, reason))
            }
        }
    }

    /// Describes the index.
    pub fn metadata(&self) -> &Metadata {
        self.index.metadata()
    }

    /// Looks up an entry by its path below the packed tree. Errors: the index is damaged.
    pub fn find(&mut self, path: &[u8]) -> Result<Option<PackedEntry>> {
        let (parent, name) = split_bytes(path);
        let found = self.index.find(&Key { root: 0, parent, name })?;
        Ok(found.map(|(row, stored)| PackedEntry { path: path.to_vec(), facts: row.facts, stored }))
    }

    /// Looks up several entries, in the order that is fastest. Errors: the index is damaged.
    pub fn find_all(&mut self, paths: &[Vec<u8>]) -> Result<Vec<Option<PackedEntry>>> {
        let mut order: Vec<usize> = (0..paths.len()).collect();
        order.sort_by_key(|at| split_bytes(&paths[*at]));
        let mut found = vec![None; paths.len()];
        for at in order {
            found[at] = self.find(&paths[at])?;
        }
        Ok(found)
    }

    /// Writes the contents of a file to `out`. Errors: it has no contents in the pack, its place or contents are damaged ([`ErrorKind::Malformed`],
    /// after the contents were written), or writing failed.
    pub fn write_to(&mut self, entry: &PackedEntry, out: &mut dyn Write) -> Result<()> {
        let name = match &entry.path[..] {
            b"" => ".".to_owned(),
            path => String::from_utf8_lossy(path).into_owned(),
        };
        let refused = |reason: &str| Error::new("read", name.as_ref(), ErrorKind::Unavailable, reason);
        if entry.facts.kind != megadir::FileType::File {
            return Err(refused(&format!("only files have contents (type {})", entry.facts.kind.name())));
        }
        let stored = entry
            .stored
            .ok_or_else(|| refused("it is not in the pack: it could not be read when the tree was packed"))?;
        let mut hash = Sha256::new();
        self.shards.pieces(&stored, |bytes| {
            hash.update(bytes);
            out.write_all(bytes).map_err(|error| Error::io("write", "".as_ref(), error))
        })?;
        match entry.facts.hash == Some(ContentHash::Sha256(hash.finalize().into())) {
            true => Ok(()),
            false => {
                Err(self.shards.malformed(stored.shard, &format!("the contents of '{name}' are damaged")))
            }
        }
    }
}

impl std::fmt::Debug for Pack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pack").field("shards", &self.shards.lengths.len()).finish_non_exhaustive()
    }
}

/// Shards of a pack, opened when they are needed.
pub(crate) struct OpenShards {
    pub(crate) directory: PathBuf,
    pub(crate) lengths: Vec<u64>,
    open: HashMap<u32, File>,
    window: Window,
}

/// Bytes of a shard that were read last.
#[derive(Default)]
struct Window {
    shard: u32,
    start: u64,
    bytes: Vec<u8>,
}

impl OpenShards {
    pub(crate) fn of(index: &Path) -> Result<Self> {
        let directory =
            index.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let lengths = Note::read(index)?.shards;
        Ok(Self { directory: directory.to_owned(), lengths, open: HashMap::new(), window: Window::default() })
    }

    pub(crate) fn path(&self, shard: u32) -> PathBuf {
        self.directory.join(shard_name(shard))
    }

    pub(crate) fn malformed(&self, shard: u32, reason: &str) -> Error {
        Error::new("read", &self.path(shard), ErrorKind::Malformed, reason)
    }

    fn malformed_at(&self, stored: &Stored, reason: &str) -> Error {
        self.malformed(stored.shard, &format!("{reason} (at byte {})", stored.header_offset))
    }

    /// Length of a shard by the index, after its file was found to have it.
    pub(crate) fn length(&mut self, shard: u32) -> Result<u64> {
        let Some(&length) = self.lengths.get(shard as usize) else {
            return Err(self.malformed(shard, "the index has a place in a shard that the pack does not have"));
        };
        if !self.open.contains_key(&shard) {
            if self.open.len() >= OPEN_MAX {
                self.open.clear();
            }
            let path = self.path(shard);
            let file = open_shard(&path, length)?;
            self.open.insert(shard, file);
        }
        Ok(length)
    }

    /// Bytes of a shard, which must lie in it.
    pub(crate) fn bytes(&mut self, shard: u32, start: u64, length: usize) -> Result<&[u8]> {
        let whole = self.length(shard)?;
        let end = start.checked_add(length as u64).filter(|end| *end <= whole);
        let Some(end) = end else {
            return Err(self.malformed(shard, "the index has a place beyond the end of the shard"));
        };
        let Window { shard: held, start: from, bytes } = &self.window;
        if *held != shard || start < *from || end > from + bytes.len() as u64 {
            let path = self.path(shard);
            let most = (whole - start).min((WINDOW_BYTES as u64).max(length as u64));
            let mut bytes = std::mem::take(&mut self.window.bytes);
            bytes.resize(most as usize, 0);
            let read = self.open.get(&shard).map(|file| file.read_exact_at(&mut bytes, start));
            match read {
                Some(Ok(())) => self.window = Window { shard, start, bytes },
                Some(Err(error)) => return Err(unread(&path, error)),
                None => unreachable!("it was opened above"),
            }
        }
        let from = (start - self.window.start) as usize;
        Ok(&self.window.bytes[from..from + length])
    }

    /// Passes the contents of a member to `each`, in pieces.
    pub(crate) fn pieces(
        &mut self,
        stored: &Stored,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let Stored { shard, data_offset, data_length, .. } = *stored;
        let mut done = 0;
        while done < data_length {
            let piece = (data_length - done).min(PIECE_BYTES);
            let start = data_offset.saturating_add(done);
            each(self.bytes(shard, start, piece as usize)?)?;
            done += piece;
        }
        Ok(())
    }

    /// Reads the headers of a member, which must be those that packing its row gives. Returns their length too.
    pub(crate) fn member_of(&mut self, entry: &Entry, stored: &Stored) -> Result<(Member, u64)> {
        let (member, headers) = self.member(stored)?;
        if member.path != entry.path() || !member.fits(entry.facts.kind) {
            return Err(self.malformed_at(stored, "there is another member than the index has"));
        }
        let mut written = Vec::new();
        member.write(&entry.facts, &mut written);
        if attributes_hash(&member.attributes) != stored.attributes_hash {
            return Err(self.malformed_at(stored, "the extended attributes are not those that were packed"));
        }
        let is_same = written.len() as u64 == headers
            && self.bytes(stored.shard, stored.header_offset, written.len())? == written;
        match is_same {
            true => Ok((member, headers)),
            false => Err(self.malformed_at(stored, "the headers are not those that were packed")),
        }
    }

    /// Reads the headers of a member, and their length.
    pub(crate) fn member(&mut self, stored: &Stored) -> Result<(Member, u64)> {
        let Stored { shard, header_offset, .. } = *stored;
        let read = Member::read(|at, length| {
            let start = header_offset.saturating_add(at);
            self.bytes(shard, start, length).map(<[u8]>::to_vec).map_err(Fault::Unreadable)
        });
        read.map_err(|fault| match fault {
            Fault::Unreadable(error) => error,
            Fault::Damaged(reason) => self.malformed_at(stored, &reason),
        })
    }
}

/// Opens a shard. Errors: it has another length than the index has.
pub(crate) fn open_shard(path: &Path, length: u64) -> Result<File> {
    let file = open_to_read(path)?;
    let there = file.metadata().map_err(|error| Error::io("examine", path, error))?.len();
    match there == length {
        true => Ok(file),
        false => {
            let reason = format!("it has {there} bytes instead of {length}");
            Err(Error::new("read", path, ErrorKind::Malformed, reason))
        }
    }
}

/// Error of a read at a place that lay in the shard when it was opened.
pub(crate) fn unread(path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Error::new("read", path, ErrorKind::Malformed, "it became shorter while it was read")
        }
        _ => Error::io("read", path, error),
    }
}

/// Reason why the headers of a member were not read.
pub(crate) enum Fault {
    Unreadable(Error),
    Damaged(String),
}

impl From<String> for Fault {
    fn from(reason: String) -> Self {
        Self::Damaged(reason)
    }
}
