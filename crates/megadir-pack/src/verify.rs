//! Reads a pack again: every member by its place in the index, in the order of the shards, and nothing between the members. Then any tar reads
//! the same members from the shards. With a tree, the rows of the index are compared with it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use megadir::{Dir, Error, ErrorKind, Listing, Result, TreeEvent, names};
use megadir_inventory::{ContentHash, PackIndex, Row, ScanOptions, Sink, Sorter, Stored, scan, spill_error};
use sha2::{Digest, Sha256};

use crate::entry::{Bytes, Entry, is_unchanged, not_an_entry};
use crate::layout::{END_BYTES, index_path, number_in, padded};
use crate::member::MemberKind;
use crate::read::{OpenShards, Pack};

const SORT_BYTES: usize = 16 << 20;
/// Entries between two looks at a request to stop.
const WATCH_ENTRIES: u64 = 256;

/// Settings of a verification.
pub struct VerifyOptions<'o> {
    /// Compare with this tree too.
    pub source: Option<&'o Path>,
    /// Number of threads that read the tree.
    pub threads: usize,
}

/// Result of a verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Entries whose place and contents are as the index has them.
    pub entries: u64,
    /// Length of their contents, bytes; of hard links once.
    pub bytes: u64,
    /// Number of problems.
    pub problems: u64,
}

/// Callback of a verification: a problem, or `None` with the number of entries read so far. May request a stop.
pub type VerifyWatch<'w> = dyn FnMut(Option<&Error>, u64) -> ControlFlow<()> + 'w;

/// Reads all members of a pack, compares them with the index, and the index with a tree. Returns `None` if `watch` requested a stop.
///
/// Errors: the index cannot be read, or the tree cannot be opened. Everything else is a problem for `watch`.
pub fn verify(
    path: &Path,
    options: &VerifyOptions<'_>,
    watch: &mut VerifyWatch<'_>,
) -> Result<Option<Verified>> {
    let index = index_path(path);
    let source = options.source.map(Dir::open).transpose()?;
    let Pack { shards, .. } = Pack::open(path)?;
    let mut check = Check::new(shards, watch);
    check.members(&index, Unpacked::IsProblem)?;
    if check.flow.is_continue() {
        check.strangers()?;
    }
    if let (Some(source), ControlFlow::Continue(())) = (&source, check.flow) {
        check.tree(&index, source, options)?;
    }
    Ok(check.flow.is_continue().then_some(check.verified))
}

/// Rows of the index without a place in the shards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unpacked {
    IsProblem,
    IsIgnored,
}

/// Members that are not as the index has them.
///
/// If a shard has very many of these, as a missing one has, only its number is kept: then all of its
/// members count as damaged. So memory is bounded, whatever is damaged.
#[derive(Debug, Default)]
pub(crate) struct Damaged {
    shards: HashSet<u32>,
    places: HashSet<(u32, u64)>,
    /// Number of places in each shard.
    counts: HashMap<u32, usize>,
}

/// Damaged members of a shard that are kept one by one.
const DAMAGED_MAX: usize = 10_000;

impl Damaged {
    fn add(&mut self, stored: &Stored) {
        let count = self.counts.entry(stored.shard).or_default();
        *count += 1;
        if *count > DAMAGED_MAX {
            self.add_shard(stored.shard);
        } else {
            self.places.insert((stored.shard, stored.header_offset));
        }
    }

    fn add_shard(&mut self, shard: u32) {
        if self.shards.insert(shard) {
            self.places.retain(|(of, _)| *of != shard);
        }
    }

    pub(crate) fn has(&self, stored: &Stored) -> bool {
        self.shards.contains(&stored.shard) || self.places.contains(&(stored.shard, stored.header_offset))
    }
}

/// Reads all members as [`verify`] does, and returns which are damaged, with the number of problems; `None` if `watch` requested a stop.
/// Entries without a place are no problems here. Errors: the index cannot be read.
pub(crate) fn damaged(path: &Path, watch: &mut VerifyWatch<'_>) -> Result<Option<(Damaged, u64)>> {
    let Pack { shards, .. } = Pack::open(path)?;
    let mut check = Check::new(shards, watch);
    check.members(&index_path(path), Unpacked::IsIgnored)?;
    Ok(check.flow.is_continue().then_some((check.damaged, check.verified.problems)))
}

pub(crate) const PLACE_BYTES: usize = 12;

/// Sorts by shard and place.
pub(crate) fn place_key(stored: &Stored) -> [u8; PLACE_BYTES] {
    let mut key = [0; PLACE_BYTES];
    key[..4].copy_from_slice(&stored.shard.to_be_bytes());
    key[4..].copy_from_slice(&stored.header_offset.to_be_bytes());
    key
}

pub(crate) fn shown(entry: &Entry) -> std::path::PathBuf {
    match entry.path() {
        path if path.is_empty() => Path::new(".").to_owned(),
        path => names::to_os(&path)
            .map_or_else(|_| Path::new("?").to_owned(), |path| Path::new(&*path).to_owned()),
    }
}

/// Where the members that were read end, and the file that links may follow.
#[derive(Default)]
struct Last {
    shard: u32,
    end: u64,
    /// Place and path of the last file.
    file: Option<(Stored, Entry)>,
    /// Number of shards that were begun.
    begun: u32,
}

/// A verification in progress. Problems go to `watch` one by one and are counted in `verified`; `damaged` has their places, for a
/// removal that must leave the files of these. `flow` keeps a stop that was requested in the middle of a pass.
struct Check<'w> {
    shards: OpenShards,
    watch: &'w mut VerifyWatch<'w>,
    verified: Verified,
    damaged: Damaged,
    flow: ControlFlow<()>,
}

impl<'w> Check<'w> {
    fn new(shards: OpenShards, watch: &'w mut VerifyWatch<'w>) -> Self {
        let (verified, damaged) = (Verified::default(), Damaged::default());
        Self { shards, watch, verified, damaged, flow: ControlFlow::Continue(()) }
    }

    /// Reads every member in the order of the shards, and the ends of these. A stop that was requested leaves it early.
    ///
    /// The rows of the index ascend by path, so they are sorted by their places first, in temporary files if there are many.
    fn members(&mut self, index: &Path, unpacked: Unpacked) -> Result<()> {
        let spill = |error| spill_error(&std::env::temp_dir(), error);
        let mut places = Sorter::new(SORT_BYTES, std::env::temp_dir());
        let (mut rows, mut bytes) = (PackIndex::open(index)?, Bytes::default());
        while let Some((row, stored)) = rows.next_row()? {
            let entry = Entry::of(&row, stored);
            match stored {
                Some(stored) => {
                    let (key, item) = bytes.by_path(&place_key(&stored), &entry);
                    places.add(key, item).map_err(spill)?;
                    if let Some(error) = entry.error.as_ref().filter(|_| unpacked == Unpacked::IsProblem) {
                        let reason = format!("not all of its contents are in the pack ({error})");
                        self.problem(&shown(&entry), &reason);
                    }
                }
                None if unpacked == Unpacked::IsProblem => {
                    let reason = entry.error.as_deref().unwrap_or("its row has no place");
                    self.problem(&shown(&entry), &format!("it is not in the pack ({reason})"));
                }
                None => {}
            }
            if self.flow.is_break() {
                return Ok(());
            }
        }
        let mut last = Last::default();
        places.finish(spill, |key, item| {
            let entry = key.get(PLACE_BYTES..).and_then(|key| Entry::from_path(key, item));
            self.member(&entry.ok_or_else(|| not_an_entry("read", index))?, &mut last)?;
            Ok(self.flow.is_continue())
        })?;
        self.ends(&last);
        Ok(())
    }

    fn problem(&mut self, path: &Path, reason: &str) {
        self.report(&Error::new("verify", path, ErrorKind::Malformed, reason));
    }

    fn report(&mut self, error: &Error) {
        self.verified.problems += 1;
        if (self.watch)(Some(error), self.verified.entries).is_break() {
            self.flow = ControlFlow::Break(());
        }
    }

    /// Verifies one member. An error about it is a problem, and its place is noted as damaged; the next member may be whole, so
    /// that reading continues with that.
    fn member(&mut self, entry: &Entry, last: &mut Last) -> Result<()> {
        let Some(stored) = entry.stored else { return Ok(()) };
        if last.begun == 0 || stored.shard != last.shard {
            self.end(last);
            for skipped in last.begun..stored.shard.min(self.shards.lengths.len() as u32) {
                self.problem(&self.shards.path(skipped), "the index has no member of this shard");
            }
            *last = Last { shard: stored.shard, begun: stored.shard.saturating_add(1), ..Last::default() };
        }
        match self.whole(entry, &stored, last) {
            Ok(Ok(bytes)) => {
                self.verified.entries += 1;
                self.verified.bytes += bytes;
            }
            Ok(Err(reason)) => {
                self.damaged.add(&stored);
                self.problem(&shown(entry), &reason);
            }
            Err(error) => {
                self.damaged.add(&stored);
                let error = Error::new("verify", &shown(entry), ErrorKind::Malformed, error.to_string());
                self.report(&error);
            }
        }
        if self.verified.entries.is_multiple_of(WATCH_ENTRIES)
            && (self.watch)(None, self.verified.entries).is_break()
        {
            self.flow = ControlFlow::Break(());
        }
        Ok(())
    }

    /// Returns the length of contents that were read.
    ///
    /// An inner error is a problem of this member, an outer one a failure to read its shard. Members are
    /// visited in the order of their places, so each must begin where the one before it ended:
    ///
    /// ```text
    /// shard: | headers | contents | padding | headers | ...      last.end moves by headers + padded size, after a problem too
    ///                                       ^ last.end            if the headers are readable: one damaged file is one message
    /// ```
    ///
    /// A hard link has no contents of its own. No other file may lie between it and its file, whose path and
    /// hash it must have: tar extracts members in their order and links to what exists by then.
    fn whole(
        &mut self,
        entry: &Entry,
        stored: &Stored,
        last: &mut Last,
    ) -> Result<std::result::Result<u64, String>> {
        let (parsed, end) = (self.shards.member(stored), last.end);
        let after = parsed.as_ref().ok().and_then(|(member, headers)| {
            stored.header_offset.checked_add(*headers)?.checked_add(padded(member.size_bytes)?)
        });
        // Even after a problem it is known where the next one should begin.
        last.end = after.unwrap_or(end);
        if stored.header_offset != end {
            return Ok(Err(format!(
                "its place in shard {} is byte {}, but the member before it ends at {end}",
                stored.shard, stored.header_offset
            )));
        }
        let (member, headers) = parsed.and_then(|_| self.shards.member_of(entry, stored))?;
        let data = stored.header_offset + headers;
        match &member.kind {
            MemberKind::HardLink(first) => {
                let is_link = last.file.as_ref().is_some_and(|(there, file)| {
                    (there.data_offset, there.data_length) == (stored.data_offset, stored.data_length)
                        && file.path() == *first
                        && file.facts.hash == entry.facts.hash
                });
                return Ok(if is_link {
                    Ok(0)
                } else {
                    Err("it is not a link to the file before it".to_owned())
                });
            }
            MemberKind::Symlink(target) => {
                if entry.facts.hash != Some(ContentHash::Sha256(Sha256::digest(target).into())) {
                    return Ok(Err("its target is not the one that was packed".to_owned()));
                }
            }
            MemberKind::Directory | MemberKind::File => {}
        }
        let size = if member.kind == MemberKind::File { entry.facts.size_bytes.unwrap_or(0) } else { 0 };
        if (stored.data_offset, stored.data_length, member.size_bytes) != (data, size, size) {
            return Ok(Err("the place of its contents does not fit its header".to_owned()));
        }
        if member.kind == MemberKind::File {
            let mut hash = Sha256::new();
            self.shards.pieces(stored, |bytes| {
                hash.update(bytes);
                Ok(())
            })?;
            if entry.facts.hash != Some(ContentHash::Sha256(hash.finalize().into())) {
                return Ok(Err("its contents are not those that were packed".to_owned()));
            }
            last.file = Some((*stored, entry.clone()));
            let (ended, padding) = (stored.data_offset + size, padded(size).unwrap_or(size) - size);
            if self.shards.bytes(stored.shard, ended, padding as usize)?.iter().any(|byte| *byte != 0) {
                return Ok(Err("the padding after its contents is damaged".to_owned()));
            }
        }
        Ok(Ok(size))
    }

    /// Tar files beside the pack that are none of its shards: who extracts all tar files has them too.
    fn strangers(&mut self) -> Result<()> {
        let mut listing = Listing::open(&self.shards.directory)?;
        let mut strangers = Vec::new();
        while let Some(batch) = listing.next_batch()? {
            let numbers = batch.entries().filter_map(|entry| number_in(entry.name, "pack-", ".tar"));
            strangers.extend(numbers.filter(|number| *number as usize >= self.shards.lengths.len()));
        }
        for number in strangers {
            self.problem(&self.shards.path(number), "it is no part of the pack");
        }
        Ok(())
    }

    /// The end of the last shard, and shards without members.
    fn ends(&mut self, last: &Last) {
        if self.flow.is_break() {
            return;
        }
        self.end(last);
        for skipped in last.begun..self.shards.lengths.len() as u32 {
            self.problem(&self.shards.path(skipped), "the index has no member of this shard");
        }
    }

    /// A shard ends with two blocks of zeros after its last member, and with nothing else: bytes in between
    /// would be members that the index does not have, and which any tar would extract.
    fn end(&mut self, last: &Last) {
        if last.begun == 0 {
            return;
        }
        let ended = self.shards.length(last.shard).and_then(|length| {
            let rest = length.saturating_sub(last.end);
            if length < last.end || rest != END_BYTES {
                let reason = format!("its members end at byte {}, but it has {length} bytes", last.end);
                return Err(self.shards.malformed(last.shard, &reason));
            }
            let zeros =
                self.shards.bytes(last.shard, last.end, END_BYTES as usize)?.iter().all(|byte| *byte == 0);
            match zeros {
                true => Ok(()),
                false => Err(self.shards.malformed(last.shard, "its end is damaged")),
            }
        });
        if let Err(error) = ended {
            self.damaged.add_shard(last.shard);
            self.report(&error);
        }
    }

    fn tree(&mut self, index: &Path, source: &Dir, options: &VerifyOptions<'_>) -> Result<()> {
        let mut rows = PackIndex::open(index)?;
        let next = next(&mut rows)?;
        let scan_options = ScanOptions::new(options.threads, SORT_BYTES, std::env::temp_dir());
        let mut unread = Vec::new();
        let mut compare = Compare { rows, next, check: self };
        let mut watch = |event: TreeEvent<'_>| {
            if let TreeEvent::Failed(error) = event {
                unread.push(Error::new("verify", error.path(), ErrorKind::Unavailable, error.reason()));
            }
            ControlFlow::Continue(())
        };
        let scanned = scan(&[source.path().to_owned()], &scan_options, &mut watch, &mut compare);
        // The comparison ends the scan by an error.
        if compare.check.flow.is_continue() {
            scanned?;
            compare.rest()?;
        }
        unread.iter().for_each(|error| self.report(error));
        Ok(())
    }
}

/// Compares the rows of a scan with those of the index; both ascend.
struct Compare<'c, 'w> {
    rows: PackIndex,
    next: Option<Entry>,
    check: &'c mut Check<'w>,
}

impl Compare<'_, '_> {
    fn rest(&mut self) -> Result<()> {
        while let Some(missing) = self.next.take() {
            self.missing(&missing);
            self.next = next(&mut self.rows)?;
        }
        Ok(())
    }

    fn missing(&mut self, entry: &Entry) {
        self.check.problem(&shown(entry), "it is no longer in the tree");
    }
}

impl Sink for Compare<'_, '_> {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        // A merge of two ascending sequences. `next` is the first row of the index that is not compared yet,
        // and `row` comes from the scan. Rows of the index before `row` are missing in the tree. An equal row
        // counts as changed only if it was packed: the others are problems already, by their errors. The scan
        // ends only by an error, so a stop is returned as one, which `tree` takes back by looking at `flow`
        // first.
        loop {
            let order = self.next.as_ref().map_or(Ordering::Greater, |next| next.row().key.cmp(&row.key));
            match order {
                Ordering::Less => {
                    if let Some(missing) = self.next.take() {
                        self.missing(&missing);
                    }
                    self.next = next(&mut self.rows)?;
                }
                Ordering::Greater => {
                    self.check
                        .problem(&shown(&Entry::of(row, None)), "it is in the tree, but not in the pack");
                    break;
                }
                Ordering::Equal => {
                    if let Some(packed) = self.next.take()
                        && packed.stored.is_some()
                        && !is_unchanged(&packed.facts, &row.facts)
                    {
                        self.check.problem(&shown(&packed), "it changed since it was packed");
                    }
                    self.next = next(&mut self.rows)?;
                    break;
                }
            }
        }
        match self.check.flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::new("verify", "".as_ref(), ErrorKind::Io, "stopped")),
        }
    }
}

fn next(rows: &mut PackIndex) -> Result<Option<Entry>> {
    Ok(rows.next_row()?.map(|(row, stored)| Entry::of(&row, stored)))
}
