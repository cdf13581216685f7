//! Content hashes resolve suspects.

use std::io::Read;
use std::path::Path;

use megadir::mount_traits::Clock;
use megadir::{Dir, Error, ErrorKind, FileType, MountTraits, Result, names};
use sha2::{Digest, Sha256};

use super::proof::Racy;
use super::{Change, ChangeKind, Compared, Fields};
use crate::packed::PackedRows;
use crate::row::{Facts, Row};
use crate::rows::Sink;
use crate::scan::granule_ns;

const CHUNK_BYTES: usize = 128 << 10;

/// Resolves suspects that have a recorded hash. Returns the number of unresolved suspects.
pub fn verify(compared: &mut Compared, roots: &[Option<Dir>]) -> u64 {
    let mut open = Parents::default();
    let mut undecided = 0;
    compared.changes.retain_mut(|change| {
        if !change.suspect {
            return true;
        }
        let root = roots.get(change.root as usize).and_then(Option::as_ref);
        let (Some(root), Some(old)) = (root, change.old.and_then(|old| old.sha256)) else {
            undecided += 1;
            return true;
        };
        let kind = change.new.map_or(FileType::Unknown, |new| new.kind);
        let (parent, name) = change.path.split();
        match open.hash(root, change.root, (&parent.to_vec(), &name), kind) {
            Ok((now, _)) => decide(change, old == now),
            Err(error) => {
                undecided += 1;
                compared.failed += 1;
                compared.failures.push(error);
                true
            }
        }
    });
    undecided
}

fn decide(change: &mut Change, is_same: bool) -> bool {
    change.suspect = false;
    if !is_same {
        change.fields = change.fields.with(Fields::CONTENTS);
        if change.kind == ChangeKind::Suspect {
            change.kind = ChangeKind::Modified;
        }
    }
    change.kind != ChangeKind::Suspect
}

/// Adds hashes to racy rows before another sink.
///
/// A row is racy if its file was modified within a tick of the clock before it was examined or later: another
/// write could leave its times as they are, and the next comparison could only call it suspect. The hash of
/// its contents settles that then. Files are read while rows are written, one after the other, by the thread
/// that writes.
#[derive(Debug)]
pub struct Hashing<S> {
    sink: S,
    roots: Vec<Option<(Dir, Racy)>>,
    open: Parents,
    /// Number of rows with a hash.
    pub hashed: u64,
    /// Number of files that could not be read or changed meanwhile.
    pub unhashed: u64,
}

impl<S: Sink> Hashing<S> {
    /// Wraps `sink` for a scan that began at `started_ns` (nanoseconds since 1970-01-01 UTC) or later;
    /// `roots` in the order of the scan. Errors: the attributes of a root cannot be read.
    pub fn new(sink: S, roots: Vec<Option<Dir>>, started_ns: i64) -> Result<Self> {
        let roots = roots.into_iter().map(|root| {
            let Some(root) = root else { return Ok(None) };
            let facts = Facts::new(FileType::Directory, &root.attributes(Facts::WANT)?);
            let traits = MountTraits::of(&root);
            let racy = match traits.clock {
                Clock::Stopped => Racy::NEVER,
                // A server's newest time is not known yet.
                _ => Racy::new(started_ns, granule_ns(&traits, &facts), Some(started_ns)),
            };
            Ok(Some((root, racy)))
        });
        Ok(Self {
            sink,
            roots: roots.collect::<Result<_>>()?,
            open: Parents::default(),
            hashed: 0,
            unhashed: 0,
        })
    }

    /// Borrows the wrapped sink.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Returns the wrapped sink.
    pub fn into_inner(self) -> S {
        self.sink
    }
}

impl<S: Sink> Sink for Hashing<S> {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        // Only suspects are read, so a scan with hashes costs little on a quiet tree. A file that has another
        // size when it is read has changed since its row was made, and a hash of it would belong to no row.
        // The next comparison finds the change by itself.
        let mut row = *row;
        row.facts.sha256 = None;
        if let Some(Some((root, racy))) = self.roots.get(row.key.root as usize)
            && racy.is_suspect(&row.facts)
            && matches!(row.facts.kind, FileType::File | FileType::Symlink)
        {
            match self.open.hash(root, row.key.root, (row.key.parent, row.key.name), row.facts.kind) {
                Ok((hash, now)) if now.is_none_or(|now| now == row.facts.size_bytes.unwrap_or(now)) => {
                    self.hashed += 1;
                    row.facts.sha256 = Some(hash);
                }
                _ => self.unhashed += 1,
            }
        }
        self.sink.add(&row)
    }

    fn add_packed(&mut self, rows: &PackedRows<'_>) -> Result<()> {
        match self.roots.get(rows.root as usize) {
            Some(Some((_, racy))) if rows.iter().any(|row| racy.is_suspect(&row.facts)) => {
                rows.iter().try_for_each(|row| self.add(&row))
            }
            _ => self.sink.add_packed(rows),
        }
    }
}

#[derive(Debug, Default)]
struct Parents {
    last: Option<((u32, Vec<u8>), Dir)>,
}

impl Parents {
    fn hash(
        &mut self,
        root: &Dir,
        number: u32,
        (parent, name): (&[u8], &[u8]),
        kind: FileType,
    ) -> Result<([u8; 32], Option<u64>)> {
        // Rows come by directory, so the directory of the last one stays open. Both are opened without
        // following links, from the root down: a directory that was replaced by a link since the scan leads
        // nowhere else.
        if !names::is_component(name) {
            let reason = "the path does not end in a name";
            return Err(Error::new("hash", root.path(), ErrorKind::BadOption, reason));
        }
        let is_last = self.last.as_ref().is_some_and(|((of, last), _)| *of == number && last == parent);
        if !is_last {
            self.last = Some(((number, parent.to_vec()), open_directory(root, parent)?));
        }
        let Some((_, parent)) = &self.last else { unreachable!("it was opened above") };
        let at = parent.path().join(names::to_os(name)?);
        let failed = |error| Error::io("hash", &at, error);
        match kind {
            FileType::Symlink => {
                let target = read_link(parent, name, &at).map_err(failed)?;
                Ok((Sha256::digest(&target).into(), Some(target.len() as u64)))
            }
            FileType::File => hash_file(open_file(parent, name, &at).map_err(failed)?).map_err(failed),
            _ => {
                let reason = "this type of file has no contents";
                Err(Error::new("hash", &at, ErrorKind::Unavailable, reason))
            }
        }
    }
}

pub(crate) fn open_directory(root: &Dir, path: &[u8]) -> Result<Dir> {
    let mut directory = root.again()?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        directory = directory.open_below(name)?;
    }
    Ok(directory)
}

fn hash_file(mut file: std::fs::File) -> std::io::Result<([u8; 32], Option<u64>)> {
    // A FIFO would block, and a device may never end.
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("no longer a regular file"));
    }
    let (mut hash, mut chunk, mut total) = (Sha256::new(), vec![0; CHUNK_BYTES], 0);
    loop {
        let read = match file.read(&mut chunk) {
            Ok(0) => return Ok((hash.finalize().into(), Some(total))),
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&chunk[..read]);
        total += read as u64;
    }
}

#[cfg(unix)]
pub(crate) fn open_file(parent: &Dir, name: &[u8], _path: &Path) -> std::io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    Ok(openat(parent, name, flags, Mode::empty())?.into())
}

#[cfg(windows)]
pub(crate) fn open_file(parent: &Dir, name: &[u8], _path: &Path) -> std::io::Result<std::fs::File> {
    parent.open_file_below(name)
}

#[cfg(unix)]
pub(crate) fn read_link(parent: &Dir, name: &[u8], _path: &Path) -> std::io::Result<Vec<u8>> {
    Ok(rustix::fs::readlinkat(parent, name, Vec::new())?.into_bytes())
}

#[cfg(windows)]
pub(crate) fn read_link(_parent: &Dir, _name: &[u8], path: &Path) -> std::io::Result<Vec<u8>> {
    Ok(names::from_os(std::fs::read_link(path)?.as_os_str()).to_vec())
}
