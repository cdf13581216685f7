//! Content hashes: they resolve suspects, and are added to the rows of a scan.

use std::path::Path;

use megadir::mount_traits::Clock;
use megadir::{Dir, Error, FileType, MountTraits, Result};

use super::known::Known;
use super::proof::{Racy, has_contents};
use super::{Change, ChangeKind, Compared, Fields, interrupted};
use crate::contents::hasher::Function;
use crate::contents::journal::Journal;
use crate::contents::opened::Trusted;
use crate::contents::window::{BYTES_MAX, Contents, ROWS_MAX, ReadOptions, Reader, Wanted};
use crate::file::Inventory;
use crate::packed::PackedRows;
use crate::row::{ContentHash, Facts, Key, Row};
use crate::rows::{Rows, Sink};
use crate::scan::{Excluded, granule_ns};
use crate::waiting::WaitingRows;

/// Resolves suspects that have a recorded hash. Returns the number of unresolved suspects: without a hash, unreadable, or gone in the meantime.
/// They are read one after the other in the order of their paths, since there are few, and whatever their size and times are now.
/// After a stop the rest is unresolved.
pub fn verify(compared: &mut Compared, roots: &[Option<Dir>], read: &ReadOptions) -> Result<u64> {
    let reader = Reader::new(read);
    let mut hands = reader.hands(roots)?;
    let mut undecided = 0;
    let Compared { changes, failed, failures, .. } = compared;
    changes.retain_mut(|change| {
        if !change.suspect {
            return true;
        }
        let (Some(old), Some(new)) = (change.old.and_then(|old| old.hash), change.new) else {
            undecided += 1;
            return true;
        };
        let (parent, name) = change.path.split();
        let key = Key { root: change.root, parent: &parent.to_vec(), name: &name };
        // Whatever the file is now, its contents decide.
        let facts = Facts { kind: new.kind, ..Facts::NOTHING };
        let wanted = Wanted { function: Function::of(&old), trusted: Trusted::ALL, from_device: false };
        match hands.hash(&Row { key, facts, error: None }, wanted) {
            Contents::Hashed(now) => decide(change, old == now),
            Contents::Changed | Contents::Stopped => {
                undecided += 1;
                true
            }
            Contents::Unreadable(error) => {
                undecided += 1;
                *failed += 1;
                failures.push(error);
                true
            }
        }
    });
    Ok(undecided)
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

/// Entries that get a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashed {
    /// Files and links that were modified within a tick of the clock before they were examined, or later: another write could
    /// leave their times as they are, and the next comparison could only call them suspect. SHA-256.
    Suspects,
    /// All files with contents and all links. BLAKE3.
    All,
}

/// Numbers of entries of [`Hashing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashCounts {
    /// Read and hashed.
    pub hashed: u64,
    /// With a hash of an earlier inventory or an interrupted scan.
    pub known: u64,
    /// Without a hash, because they changed meanwhile.
    pub changed: u64,
    /// Without a hash, because they could not be read.
    pub unreadable: u64,
    /// Bytes of contents read.
    pub read_bytes: u64,
}

/// Adds hashes to rows before another sink.
///
/// With [`Hashed::All`], rows wait in a window of bounded size, are read in the order of their inodes, and are passed on in their own
/// order. Hashes of an earlier inventory are used for entries that are the same by all their numbers, so that each version of a file is
/// read once. A file that is not that of its row any more, or changes while it is read, gets no hash: the next comparison finds the change by itself.
pub struct Hashing<'h, S> {
    sink: S,
    hashed: Hashed,
    roots: Vec<Option<Dir>>,
    racy: Vec<Racy>,
    /// Attributes that prove on each root's mount that a file is the one of its row.
    trusted: Vec<Trusted>,
    reader: Reader,
    waiting: WaitingRows,
    known: Known,
    journal: Option<Journal>,
    /// Receives each entry that cannot be read.
    failed: Box<dyn FnMut(Error) + 'h>,
    counts: HashCounts,
}

impl<'h, S: Sink> Hashing<'h, S> {
    /// Wraps `sink` for a scan that began at `started_ns` (nanoseconds since 1970-01-01 UTC) or later;
    /// `roots` in the order of the scan. Errors: the attributes of a root cannot be read.
    pub fn new(
        sink: S,
        hashed: Hashed,
        roots: Vec<Option<Dir>>,
        started_ns: i64,
        options: &ReadOptions,
    ) -> Result<Self> {
        let (mut racy, mut trusted) = (Vec::new(), Vec::new());
        for root in &roots {
            let Some(root) = root else {
                racy.push(Racy::NEVER);
                trusted.push(Trusted::ALL);
                continue;
            };
            let facts = Facts::new(FileType::Directory, &root.attributes(Facts::WANT)?);
            let traits = MountTraits::of(root);
            trusted.push(Trusted { inode: traits.has_lasting_inodes(), ..Trusted::ALL });
            racy.push(match traits.clock {
                Clock::Stopped => Racy::NEVER,
                // A server's newest time is not known yet.
                _ => Racy::new(started_ns, granule_ns(&traits, &facts), Some(started_ns)),
            });
        }
        Ok(Self {
            sink,
            hashed,
            racy,
            roots,
            trusted,
            reader: Reader::new(options),
            waiting: WaitingRows::default(),
            known: Known::default(),
            journal: None,
            failed: Box::new(|_| ()),
            counts: HashCounts::default(),
        })
    }

    /// Uses the hashes of an earlier inventory of the same trees (their absolute paths in `roots`) for entries that are the same.
    /// If it is damaged, its hashes are not used from there on, and the receiver of failures gets the error.
    pub fn use_earlier(&mut self, rows: Box<dyn Rows + Send>, roots: &[Vec<u8>]) {
        self.known.earlier(rows, roots);
    }

    /// Keeps hashes in a hidden file next to `output` until the [`JournalEnd`] of [`Hashing::finish`] ends it, and uses those that an interrupted scan left there.
    /// Returns their number, and the file, which a scan must leave out. Call it while the output is being written. Errors: another program's
    /// file or a journal of other trees has its name.
    pub fn keep_journal(
        &mut self,
        output: &Path,
        roots: &[Vec<u8>],
        memory_bytes: usize,
    ) -> Result<(u64, Option<Excluded>)> {
        let (journal, kept, records) = Journal::open(output, roots, memory_bytes)?;
        let excluded = journal.excluded();
        self.known.keep(kept);
        self.journal = Some(journal);
        Ok((records, excluded))
    }

    /// Prepares a scan that replaces `output`, if all entries are hashed: uses the hashes of the inventory that is there, and keeps the new ones in a journal.
    /// Returns as [`Self::keep_journal`], with the same errors. A pipe or a device has neither.
    pub fn continue_from(
        &mut self,
        output: &Path,
        roots: &[Vec<u8>],
        memory_bytes: usize,
    ) -> Result<(u64, Option<Excluded>)> {
        let is_special = std::fs::metadata(output).is_ok_and(|status| !status.is_file());
        if self.hashed != Hashed::All || is_special {
            return Ok((0, None));
        }
        if let Ok(earlier) = Inventory::open(output) {
            self.use_earlier(Box::new(earlier), roots);
        }
        self.keep_journal(output, roots, memory_bytes)
    }

    /// Calls `failed` for each entry that cannot be read.
    #[must_use]
    pub fn reporting(mut self, failed: impl FnMut(Error) + 'h) -> Self {
        self.failed = Box::new(failed);
        self
    }

    /// Borrows the wrapped sink.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Hashes what waits, and returns the wrapped sink with the counts and what ends the journal. Errors: as [`Sink::add`].
    pub fn finish(mut self) -> Result<(S, HashCounts, JournalEnd)> {
        self.flush()?;
        let counts = HashCounts { read_bytes: self.reader.read_bytes(), ..self.counts };
        Ok((self.sink, counts, JournalEnd(self.journal)))
    }

    fn is_suspect(&self, row: &Row<'_>) -> bool {
        self.racy.get(row.key.root as usize).is_some_and(|racy| racy.is_suspect(&row.facts))
    }

    fn is_wanted(&self, row: &Row<'_>) -> bool {
        let has_contents =
            matches!(row.facts.kind, FileType::File | FileType::Symlink) && has_contents(&row.facts);
        let is_known = row.facts.errno.is_none() && row.facts.hash.is_some();
        let has_root = self.roots.get(row.key.root as usize).is_some_and(Option::is_some);
        has_root
            && has_contents
            && match self.hashed {
                Hashed::Suspects => self.is_suspect(row),
                Hashed::All => !is_known || self.is_suspect(row),
            }
    }

    /// Passes all waiting rows on, with hashes. Known hashes are looked up in the order of keys, and the rest is read in the order
    /// of inodes. Hashes of suspects are not kept in the journal. After a stop nothing more is passed on.
    fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        let mut hashes: Vec<Option<ContentHash>> = Vec::with_capacity(rows.len());
        let mut wanted = Vec::new();
        for index in 0..rows.len() {
            let row = rows.row(index);
            let is_wanted = self.is_wanted(&row);
            let hash = match (is_wanted, self.is_suspect(&row)) {
                (false, _) => row.facts.hash,
                (true, true) => None,
                (true, false) => self.known.find(&row)?,
            };
            match hash {
                None if is_wanted => wanted.push(index),
                Some(_) => self.counts.known += 1,
                None => {}
            }
            hashes.push(hash);
        }
        let function = if self.hashed == Hashed::All { Function::Blake3 } else { Function::Sha256 };
        let (journal, racy, trusted) = (self.journal.as_ref(), &self.racy, &self.trusted);
        let how = |row: &Row<'_>| {
            let trusted = trusted.get(row.key.root as usize).copied().unwrap_or(Trusted::ALL);
            Wanted { function, trusted, from_device: false }
        };
        let is_suspect = |row: &Row<'_>| racy[row.key.root as usize].is_suspect(&row.facts);
        let read = self.reader.in_disk_order(&rows, wanted, &self.roots, |hands, row| {
            let contents = hands.hash(row, how(row));
            let kept = match (&contents, journal) {
                (Contents::Hashed(ContentHash::Blake3(hash)), Some(journal)) if !is_suspect(row) => {
                    journal.add(row, hash)
                }
                _ => Ok(()),
            };
            (contents, kept)
        })?;
        self.count(read, &mut hashes);
        if self.reader.is_stopped() {
            return Err(interrupted("hash"));
        }
        for (index, hash) in hashes.into_iter().enumerate() {
            let row = rows.row(index);
            self.sink.add(&Row { facts: Facts { hash, ..row.facts }, ..row })?;
        }
        self.waiting = rows;
        self.waiting.clear();
        Ok(())
    }

    /// Counts what was read, and puts the hashes in their places. Failures go to their receiver: those of entries, damage of the earlier
    /// inventory, and a journal that cannot be written, as on a full disk: hashes go into the output all the same, and an interrupted
    /// scan begins again.
    fn count(&mut self, read: Vec<(usize, (Contents, Result<()>))>, hashes: &mut [Option<ContentHash>]) {
        // Its journal is kept: a scan that is repeated finds the same damage.
        if let Some(error) = self.known.take_damage() {
            (self.failed)(error);
        }
        let mut unkept = None;
        for (index, (contents, kept)) in read {
            unkept = unkept.or(kept.err());
            match contents {
                Contents::Hashed(hash) => {
                    self.counts.hashed += 1;
                    hashes[index] = Some(hash);
                }
                Contents::Changed => self.counts.changed += 1,
                Contents::Unreadable(error) => {
                    self.counts.unreadable += 1;
                    (self.failed)(error);
                }
                Contents::Stopped => {}
            }
        }
        if let Some(error) = unkept {
            if let Some(journal) = self.journal.take() {
                let _ = journal.remove();
            }
            (self.failed)(error);
        }
    }
}

/// Ends the journal of a scan whose output is complete.
#[must_use]
#[derive(Debug)]
pub struct JournalEnd(Option<Journal>);

impl JournalEnd {
    /// Removes the file. Errors: unlink(2).
    pub fn remove(self) -> Result<()> {
        self.0.map_or(Ok(()), Journal::remove)
    }
}

impl<S: Sink> Sink for Hashing<'_, S> {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        // On a quiet tree there are few suspects, and other rows do not wait for them.
        if self.hashed == Hashed::Suspects && !self.is_wanted(row) {
            return self.sink.add(row);
        }
        self.waiting.push(row);
        let is_full = self.hashed == Hashed::Suspects || self.waiting.is_full(ROWS_MAX, BYTES_MAX);
        if is_full { self.flush() } else { Ok(()) }
    }

    fn add_packed(&mut self, rows: &PackedRows<'_>) -> Result<()> {
        let is_plain = self.hashed == Hashed::Suspects
            && self.racy.get(rows.root as usize).is_none_or(|racy| {
                *racy == Racy::NEVER || !rows.iter().any(|row| racy.is_suspect(&row.facts))
            });
        if is_plain { self.sink.add_packed(rows) } else { rows.iter().try_for_each(|row| self.add(&row)) }
    }
}
