//! Folder of parts: inventories of the same roots, merged by key.
//!
//! A part waits as its first key, and is opened again when that key is the next; then it holds one row group.
//!
//! Open parts hold one row group and no descriptor, so that only overlapping keys take memory, and no number of parts
//! takes descriptors. Of several rows of a directory the one of the latest scan with attributes counts, and an error in
//! any of them passes to it: the task that found a directory may run again after the task that could not read it.
//! The check that each directory has a row comes after the merge, because the row may be in another part.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, FileType, Result};

use super::contained::Contained;
use super::open::{Part, malformed};
use crate::metadata::{Metadata, Root, Scanned, Volume};
use crate::open_at_once::open_to_read;
use crate::row::{Facts, Key, Row};
use crate::rows::Rows;

/// File in a folder of parts that is written after the last one: JSON, `{"version":1,"parts":N}` with their number.
pub const PARTS_FILE: &str = "megadir-parts.json";

const PARTS_VERSION: u64 = 1;
/// Parts whose first row group is kept instead of read again. Most folders have no more.
const KEPT_MAX: usize = 16;

type OwnedKey = (u32, Vec<u8>, Vec<u8>);

/// A merge of ascending parts, by a heap of their next keys. The part of the current row is outside the heap,
/// since its next row is nearly always the least again: parts rarely overlap, so a row usually costs one
/// comparison.
pub(super) struct Folder {
    pub(super) is_unfinished: bool,
    pub(super) has_footer_checksum: bool,
    pub(super) has_access_times: bool,
    metadata: Metadata,
    parts: Vec<Entry>,
    waiting: BinaryHeap<Reverse<(OwnedKey, usize)>>,
    /// Part of the next row; not in `waiting`.
    active: Option<usize>,
    /// Error of the next row in another part.
    error: Option<String>,
    contained: Contained,
}

/// `part` is absent while the part waits with its next key only, beyond the first few, so that a folder of
/// thousands of parts takes little memory. `started_ns` decides which of two rows of a directory is the later
/// one.
struct Entry {
    path: PathBuf,
    started_ns: i64,
    part: Option<Box<Part>>,
}

pub(super) fn is_folder(path: &Path) -> bool {
    path.join(PARTS_FILE).is_file()
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let paths = part_paths(path)?;
        let Some(first) = paths.first() else {
            return Err(malformed(path, "a directory, not an inventory: it has no part '*.parquet'"));
        };
        let is_unfinished = !is_folder(path);
        if !is_unfinished {
            check_number(path, paths.len())?;
        }
        let first = Part::open_briefly(first)?;
        let mut folder = Self {
            is_unfinished,
            has_footer_checksum: true,
            has_access_times: first.has_access_times(),
            metadata: none_of(first.metadata()),
            parts: Vec::new(),
            waiting: BinaryHeap::new(),
            active: None,
            error: None,
            contained: Contained::new(first.metadata().roots.len()),
        };
        paths.into_iter().try_for_each(|part| folder.add(&first, part))?;
        Ok(folder)
    }

    fn add(&mut self, first: &Part, path: PathBuf) -> Result<()> {
        let mut part = Part::open_briefly(&path)?;
        if let Some(difference) = difference(first, &part) {
            let first = first.path().display();
            let reason =
                format!("its {difference} differ from those of '{first}': parts must be of one scan");
            return Err(malformed(&path, &reason));
        }
        self.has_footer_checksum &= part.has_footer_checksum();
        add(&mut self.metadata, part.metadata());
        let started_ns = part.metadata().started_ns;
        if let Some(key) = part.peek()?.as_ref().map(owned) {
            self.waiting.push(Reverse((key, self.parts.len())));
        }
        let part = (self.parts.len() < KEPT_MAX).then(|| Box::new(part));
        self.parts.push(Entry { path, started_ns, part });
        Ok(())
    }

    /// Rows with equal keys in several parts are rows of one directory: one by the task that found it, one by
    /// each task that tried to read it. All but the best are left out here, so that a reader sees every key
    /// once.
    fn advance(&mut self) -> Result<Option<usize>> {
        self.error = None;
        if let Some(index) = self.active.take() {
            let least = self.waiting.peek().map(|Reverse((key, _))| borrowed(key));
            match self.parts[index].peek()? {
                None => self.parts[index].part = None,
                Some(key) if least.is_none_or(|least| key < least) => {
                    self.active = Some(index);
                    return Ok(self.active);
                }
                Some(key) => self.waiting.push(Reverse((owned(&key), index))),
            }
        }
        let Some(Reverse((key, mut index))) = self.waiting.pop() else { return Ok(None) };
        self.parts[index].begin(&key)?;
        while self.waiting.peek().is_some_and(|Reverse((next, _))| *next == key) {
            let Some(Reverse((_, other))) = self.waiting.pop() else { break };
            self.parts[other].begin(&key)?;
            let lesser = self.lesser(index, other)?;
            index = if lesser == index { other } else { index };
            self.leave_out(lesser, index)?;
        }
        self.active = Some(index);
        Ok(self.active)
    }

    fn row(&self, index: usize) -> Option<Row<'_>> {
        self.parts[index].part.as_ref().and_then(|part| part.peeked())
    }

    /// The row that does not count: without facts, else the earlier one.
    fn lesser(&self, a: usize, b: usize) -> Result<usize> {
        let has_facts = |row: &Row<'_>| row.facts.kind == FileType::Directory;
        // Only a directory has an error without facts, from the task that could not read it.
        let is_error = |row: &Row<'_>| row.error.is_some() && row.facts == Facts::NOTHING;
        let is_directory =
            |index| self.row(index).is_some_and(|row| row.key.is_root() || has_facts(&row) || is_error(&row));
        if !is_directory(a) && !is_directory(b) {
            let name = self.row(a).map(|row| String::from_utf8_lossy(row.key.name).into_owned());
            let (name, first) = (name.unwrap_or_default(), self.parts[a].path.display());
            let reason = format!("'{name}' is in '{first}' too: only directories may be in several parts");
            return Err(malformed(&self.parts[b].path, &reason));
        }
        let rank = |index: &usize| {
            let has_facts = self.row(*index).is_some_and(|row| has_facts(&row));
            (has_facts, self.parts[*index].started_ns, *index)
        };
        Ok([a, b].into_iter().min_by_key(rank).unwrap_or(a))
    }

    /// The error of the row that is left out passes to the row that stays: that some task could not read the directory
    /// remains true, whichever task came last.
    fn leave_out(&mut self, index: usize, stays: usize) -> Result<()> {
        let has_error = self.error.is_some() || self.row(stays).is_some_and(|row| row.error.is_some());
        let Some(part) = &mut self.parts[index].part else { return Ok(()) };
        if let Some(row) = part.next_row()? {
            self.metadata.rows = self.metadata.rows.saturating_sub(1);
            if let Some(error) = row.error {
                // An error of reading says more than one of examining.
                if !has_error || row.facts.kind == FileType::Unknown {
                    self.error = Some(error.to_owned());
                }
                let twice = u64::from(has_error);
                self.metadata.failed -= twice.min(self.metadata.failed);
                let unread = twice * u64::from(row.facts.errno.is_none());
                self.metadata.unread_directories -= unread.min(self.metadata.unread_directories);
            }
        }
        match part.peek()? {
            Some(key) => self.waiting.push(Reverse((owned(&key), index))),
            None => self.parts[index].part = None,
        }
        Ok(())
    }

    fn check(&mut self, index: usize) -> Result<()> {
        let Entry { path, part, .. } = &self.parts[index];
        let Some(row) = part.as_ref().and_then(|part| part.peeked()) else { return Ok(()) };
        self.contained.admit(&row).map_err(|fault| {
            malformed(path, &format!("{fault}; a part may be missing, or was not written by a scan"))
        })
    }
}

impl Entry {
    fn peek(&mut self) -> Result<Option<Key<'_>>> {
        self.part.as_mut().map_or(Ok(None), |part| part.peek())
    }

    fn begin(&mut self, key: &OwnedKey) -> Result<()> {
        if self.part.is_none() {
            self.part = Some(Box::new(Part::open_briefly(&self.path)?));
        }
        let is_same = self.peek()?.is_some_and(|there| there == borrowed(key));
        if is_same { Ok(()) } else { Err(malformed(&self.path, "it was replaced while it was read")) }
    }
}

/// Not to be read after an error, unlike other [`Rows`]: [`Inventory`](super::Inventory) sees to it.
impl Rows for Folder {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        let Some(index) = self.advance()? else { return Ok(None) };
        self.check(index)?;
        let Self { parts, error, .. } = self;
        let Some(part) = &mut parts[index].part else { return Ok(None) };
        let row = part.next_row()?;
        Ok(row.map(|row| Row { error: error.as_deref().or(row.error), ..row }))
    }
}

fn owned(key: &Key<'_>) -> OwnedKey {
    (key.root, key.parent.to_vec(), key.name.to_vec())
}

fn borrowed((root, parent, name): &OwnedKey) -> Key<'_> {
    Key { root: *root, parent, name }
}

/// Sorted by name: the order decides between parts of one moment.
fn part_paths(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| Error::io("read", folder, error);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.extension().is_some_and(|ending| ending == "parquet") && !is_hidden {
            paths.push(path);
        }
    }
    paths.sort();
    match paths.iter().find(|path| path.is_dir()) {
        Some(directory) => Err(malformed(directory, "a directory, not a part of an inventory")),
        None => Ok(paths),
    }
}

/// The file with the number of parts is written when the scan is complete. A folder without it is an
/// unfinished scan; one with another number has lost parts, which no later check would find, because each
/// part is whole.
fn check_number(folder: &Path, parts: usize) -> Result<()> {
    let path = folder.join(PARTS_FILE);
    let mut text = Vec::new();
    open_to_read(&path)?.read_to_end(&mut text).map_err(|error| Error::io("read", &path, error))?;
    let json: serde_json::Value = serde_json::from_slice(&text)
        .map_err(|error| malformed(&path, &format!("damaged ({error}); scan again")))?;
    match (json["version"].as_u64(), json["parts"].as_u64()) {
        (Some(version), _) if version > PARTS_VERSION => {
            let reason = format!(
                "version {version}, but this program reads up to {PARTS_VERSION}: use a newer program"
            );
            Err(Error::new("read", &path, ErrorKind::Unavailable, reason))
        }
        (_, Some(number)) if number == parts as u64 => Ok(()),
        (_, Some(number)) => {
            Err(malformed(folder, &format!("{parts} parts instead of {number} ({PARTS_FILE}); scan again")))
        }
        _ => Err(malformed(&path, "damaged: it has no number of parts; scan again")),
    }
}

/// Parts of different scans in one folder would be merged into a tree that never was. Tasks of one scan
/// differ only in what they have met. The same device number with another file system means that the parts
/// were made on different machines or mounts.
fn difference(first: &Part, other: &Part) -> Option<&'static str> {
    let (first_metadata, other_metadata) = (first.metadata(), other.metadata());
    // Parts may differ in these only.
    let roots = |metadata: &Metadata| -> Vec<_> {
        metadata.roots.iter().map(|root| Root { newest_ns: None, ..root.clone() }).collect()
    };
    let settings = |scanned: &Scanned| Scanned { threads: 0, mounts_not_entered: 0, ..scanned.clone() };
    let devices = |volume: &Volume| {
        let same = |other: &&Volume| other.device == volume.device;
        other_metadata.volumes.iter().flatten().find(same).is_some_and(|other| other.fsid != volume.fsid)
    };
    if roots(first_metadata) != roots(other_metadata) {
        return Some("roots");
    }
    if settings(&first_metadata.scanned) != settings(&other_metadata.scanned) {
        return Some("settings");
    }
    if first.columns() != other.columns()
        || first_metadata.volumes.is_some() != other_metadata.volumes.is_some()
    {
        return Some("columns");
    }
    first_metadata.volumes.iter().flatten().any(devices).then_some("devices")
}

fn none_of(first: &Metadata) -> Metadata {
    let mut none = first.clone();
    (none.rows, none.failed, none.unread_directories, none.scanned.mounts_not_entered) = (0, 0, 0, 0);
    none
}

/// The description of the whole: counts are added, times are the earliest and the latest. Each part lists the
/// volumes that it has met, so equal ones are merged.
fn add(all: &mut Metadata, part: &Metadata) {
    all.started_ns = all.started_ns.min(part.started_ns);
    all.ended_ns = all.ended_ns.max(part.ended_ns);
    all.rows = all.rows.saturating_add(part.rows);
    all.failed = all.failed.saturating_add(part.failed);
    all.unread_directories = all.unread_directories.saturating_add(part.unread_directories);
    let (scanned, other) = (&mut all.scanned, &part.scanned);
    scanned.threads = scanned.threads.max(other.threads);
    scanned.mounts_not_entered = scanned.mounts_not_entered.saturating_add(other.mounts_not_entered);
    for (root, other) in all.roots.iter_mut().zip(&part.roots) {
        root.newest_ns = root.newest_ns.max(other.newest_ns);
    }
    if let (Some(volumes), Some(others)) = (&mut all.volumes, &part.volumes) {
        volumes.extend(others.iter().cloned());
        volumes.sort_by_key(|volume| volume.device);
        volumes.dedup_by(|other, first| {
            let is_same =
                (other.device, &other.fsid, &other.identity) == (first.device, &first.fsid, &first.identity);
            if is_same {
                match (&mut first.mount, other.mount.take()) {
                    (Some(mount), Some(other)) => mount.newest_ns = mount.newest_ns.max(other.newest_ns),
                    (mount, other) => *mount = mount.take().or(other),
                }
            }
            is_same
        });
    }
}
