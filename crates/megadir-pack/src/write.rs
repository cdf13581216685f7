//! Packs a tree: reads it in the order of inodes, writes shards, and at the end the index.
//!
//! ```text
//! scan -> Sorter (inode) -> groups (names of a file) -> threads: read, hash, headers -> chunks in order -> shards, journals
//!                             journals of kept shards -^                                            `-> Sorter (path) -> index
//! ```
//!
//! Both sorts spill to temporary files in the directory of the pack; a chunk holds at most [`CHUNK_BYTES`] and one group more. Inodes that
//! are near each other are read one after the other, which is the order of the disk on ext4, XFS and btrfs.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, bounded};
use megadir::{Dir, Error, ErrorKind, FileType, Result, TreeEvent};
use megadir_inventory::{
    ContentHash, Facts, Metadata, PackIndex, Sorter, Stored, WriteOptions, Writer, spill_error,
};
use sha2::{Digest, Sha256};

use crate::entry::{Bytes, Entry, Origin, is_unchanged, not_an_entry};
use crate::journal;
use crate::layout::{INDEX, NOTE_KEY, Note};
use crate::member::{Attributes, Member, MemberKind, attributes_hash};
use crate::order::{Order, SORT_BYTES, scan_in_order};
use crate::read::OpenShards;
use crate::shard::Shards;
use crate::source::{Chunk, First, Group, Opened, Place, Read, Source, TRIES, Unread};
use crate::unfinished::Unfinished;

const CHUNK_BYTES: usize = 512 << 10;
const BATCH_ENTRIES: usize = 256;
/// A file with more names is stored more than once.
const GROUP_ENTRIES: usize = 1 << 14;
/// Fewer than in an inventory, so that one member is found quickly.
const GROUP_ROWS: usize = 1 << 14;
const PIECE_BYTES: usize = 1 << 20;
const ZERO: [u8; 4096] = [0; 4096];

/// Settings of a pack.
pub struct PackOptions {
    /// Largest size of a shard, bytes, unless a single file is larger.
    pub shard_bytes: u64,
    /// Number of threads that read files.
    pub threads: usize,
}

/// Event while a tree is packed.
pub enum PackEvent<'e> {
    /// The tree is scanned.
    Scan(TreeEvent<'e>),
    /// Shards of an interrupted run are kept: their number.
    Kept(u32),
    /// Number of entries packed so far, with those of kept shards.
    Packed(u64),
    /// An entry is not in the pack, or a directory could not be read.
    Failed(&'e Error),
}

/// Result of packing.
///
/// Counts of entries are names, so a file with three hard links counts three times; `bytes` is the length of
/// the tar files with headers and padding, not of the contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// Entries in the shards.
    pub entries: u64,
    /// Number of shards.
    pub shards: u32,
    /// Length of all shards, bytes.
    pub bytes: u64,
    /// Entries of the tree that are not in the pack, and directories that could not be read.
    pub failed: u64,
    /// Shards of an interrupted run among them.
    pub kept_shards: u32,
    /// The pack was finished before, by a run that was killed just then. Other numbers are of its index.
    pub was_finished: bool,
}

/// Callback of packing, which may request a stop.
pub type PackWatch<'w> = dyn FnMut(PackEvent<'_>) -> ControlFlow<()> + 'w;

/// Packs the tree `source` into the directory `destination`, which is created if it is missing. Continues a pack of the same tree that was
/// interrupted. Returns `None` if `watch` requested a stop; the next run continues.
///
/// The index is written last. If an entry cannot be read, or changes each time that it is read, its row has an error and no place.
///
/// Errors: the tree cannot be opened, the directory is not empty or lies in the tree, or a file of the pack cannot be written.
pub fn pack(
    source: &Path,
    destination: &Path,
    options: &PackOptions,
    watch: &mut PackWatch<'_>,
) -> Result<Option<Packed>> {
    let top = Dir::open(source)?;
    let unfinished = Unfinished::begin(destination, &top)?;
    if unfinished.has_index {
        return was_finished(unfinished).map(Some);
    }
    packed_into(unfinished, &top, destination, options, watch).map_err(|error| {
        // Of other errors the reason names what to do.
        let is_of_writing = matches!(error.kind(), ErrorKind::Io | ErrorKind::NoSpace);
        let continues = is_of_writing && !destination.join(INDEX).exists();
        if continues {
            error.with_note("the pack has no index yet: the same command continues")
        } else {
            error
        }
    })
}

/// Scans the tree `top` and packs what no kept shard has. An error leaves finished shards, which the next run keeps.
fn packed_into(
    unfinished: Unfinished,
    top: &Dir,
    destination: &Path,
    options: &PackOptions,
    watch: &mut PackWatch<'_>,
) -> Result<Option<Packed>> {
    let mut reader = Source::new(top)?;
    let kept = unfinished.keep(&mut reader)?;
    let kept_shards = kept.len() as u32;
    if kept_shards > 0 && watch(PackEvent::Kept(kept_shards)).is_break() {
        return Ok(None);
    }
    let spill = |error| spill_error(destination, error);
    let sorter = || Sorter::new(SORT_BYTES, unfinished.directory.path().to_owned());
    let mut shards = Vec::new();
    let mut order = Order::new(sorter(), &unfinished.directory, top)?;
    for (mut file, bytes) in kept {
        shards.push(bytes);
        let read = journal::read(&mut file, |key, item, _| order.sorter.add(key, item).map(|()| true));
        read.map_err(spill)?;
    }
    let mut watch_scan = |event: TreeEvent<'_>| watch(PackEvent::Scan(event));
    let spill_directory = unfinished.directory.path();
    let scanned =
        scan_in_order(top, &mut order, (options.threads, spill_directory), kept_shards > 0, &mut watch_scan)?;
    let Some(mut metadata) = scanned else { return Ok(None) };
    let shards = Shards::new(unfinished.directory.again()?, options.shard_bytes, shards);
    let mut work = Work {
        reader,
        shards,
        paths: sorter(),
        watch,
        readers: Readers::start(top, options.threads)?,
        ready: VecDeque::new(),
        group: Vec::new(),
        batch: Batch::default(),
        kept: None,
        packed: Packed { kept_shards, ..Packed::default() },
        failed_rows: 0,
        newest_ns: None,
        bytes: Bytes::default(),
        spill: &spill,
    };
    let flow = work.all(order.sorter)?;
    if flow.is_break() {
        return Ok(None);
    }
    let Work { shards, paths, mut packed, failed_rows, newest_ns, .. } = work;
    packed.shards = shards.finished.len() as u32;
    packed.bytes = shards.finished.iter().sum();
    metadata.failed = failed_rows;
    metadata.roots.iter_mut().for_each(|root| root.newest_ns = root.newest_ns.max(newest_ns));
    packed.failed = failed_rows;
    unfinished.check_in_place()?;
    write_index(&unfinished, paths, &shards.finished, metadata, &spill)?;
    unfinished.check_in_place()?;
    unfinished.finish()?;
    Ok(Some(packed))
}

fn was_finished(unfinished: Unfinished) -> Result<Packed> {
    let (index, mut packed) = (unfinished.index(), Packed { was_finished: true, ..Packed::default() });
    let note = Note::read(&index)?;
    (packed.shards, packed.bytes) = (note.shards.len() as u32, note.shards.iter().sum());
    let mut shards = OpenShards::of(&index)?;
    (0..packed.shards).try_for_each(|shard| shards.length(shard).map(|_| ()))?;
    let rows = PackIndex::open(&index)?;
    packed.failed = rows.metadata().failed;
    packed.entries = rows.metadata().rows.saturating_sub(packed.failed);
    unfinished.finish()?;
    Ok(packed)
}

fn write_index(
    unfinished: &Unfinished,
    paths: Sorter,
    shards: &[u64],
    mut metadata: Metadata,
    spill: &dyn Fn(std::io::Error) -> Error,
) -> Result<()> {
    let options = WriteOptions { threads: 1, level: 1, group_rows: GROUP_ROWS };
    let roots = metadata.roots.iter().map(|root| root.path.clone()).collect();
    let index = unfinished.index();
    let mut writer = Writer::of_pack(&index, roots, options)?;
    metadata.rows = 0;
    paths.finish(spill, |key, item| {
        let entry = Entry::from_path(key, item).ok_or_else(|| not_an_entry("write", &index))?;
        writer.add_stored(&entry.row(), entry.stored)?;
        metadata.rows += 1;
        Ok(true)
    })?;
    let note = serde_json::to_string(&Note::new(shards.to_vec()))
        .map_err(|error| Error::new("write", &index, ErrorKind::Io, error.to_string()))?;
    writer.add_note(NOTE_KEY, note);
    writer.finish(&metadata).map(|_| ())
}

/// Groups that a thread reads at once.
#[derive(Default)]
struct Batch {
    groups: Vec<Vec<Entry>>,
    entries: usize,
}

/// State of the pass over the sorted entries, on the caller's thread. Threads read and hash; only this thread
/// writes, so that the order of members in the shards is the order of the sort whatever thread is faster.
///
/// ```text
/// entry -> group (names of one inode) -> batch -> readers (a queue each) -> ready: chunks in the order sent -> append -> shards
///   |                                                                                                            `-> paths
///   `-- kept row followed by the same row of the tree: no reading, straight to `paths`
/// ```
///
/// Memory is bounded by the chunks in flight, two for each thread. `paths` collects the rows of the index,
/// sorted by path.
struct Work<'w> {
    /// For what is not read by the threads.
    reader: Source,
    shards: Shards,
    paths: Sorter,
    watch: &'w mut PackWatch<'w>,
    readers: Readers,
    /// Threads whose chunks are still to be taken, in order.
    ready: VecDeque<usize>,
    group: Vec<Entry>,
    batch: Batch,
    /// The last row of a kept shard.
    kept: Option<Entry>,
    packed: Packed,
    failed_rows: u64,
    /// Newest change of a packed entry, as in [`Root::newest_ns`].
    newest_ns: Option<i64>,
    bytes: Bytes,
    spill: &'w dyn Fn(std::io::Error) -> Error,
}

impl Work<'_> {
    fn all(&mut self, order: Sorter) -> Result<ControlFlow<()>> {
        let mut flow = ControlFlow::Continue(());
        let spill = self.spill;
        order.finish(spill, |key, item| {
            let entry = Entry::from_order(key, item).ok_or_else(|| not_an_entry("write", "".as_ref()))?;
            let is_kept = key.last() == Some(&(Origin::Shard as u8));
            flow = self.entry(entry, is_kept)?;
            Ok(flow.is_continue())
        })?;
        if flow.is_break() {
            return Ok(flow);
        }
        self.end_group()?;
        flow = self.send()?;
        while flow.is_continue() && !self.ready.is_empty() {
            flow = self.take()?;
        }
        if flow.is_continue() {
            if let Some(kept) = self.kept.take() {
                return Err(self.changed(&kept));
            }
            self.shards.finish_shard()?;
        }
        Ok(flow)
    }

    /// A row of a kept shard sorts directly before the row of the tree with the same key ([`Origin`]), so a
    /// pair of them means that the entry needs no reading. A kept row without its partner, or with other
    /// times, means that the tree changed between `Unfinished::keep` and the scan: that is an error, because
    /// the shard with that member was kept already. The next run finds the change and does not keep the
    /// shard.
    ///
    /// Names of one inode follow each other and become a group: one name is read, and the others
    /// become links. A group has at most [`GROUP_ENTRIES`] names and is never divided between two batches. A
    /// batch is sent when it has enough entries.
    fn entry(&mut self, entry: Entry, is_kept: bool) -> Result<ControlFlow<()>> {
        if is_kept {
            match self.kept.replace(entry) {
                Some(before) => return Err(self.changed(&before)),
                None => return Ok(ControlFlow::Continue(())),
            }
        }
        if let Some(kept) = self.kept.take() {
            let is_it = (&kept.parent, &kept.name) == (&entry.parent, &entry.name);
            if !is_it || !is_unchanged(&kept.facts, &entry.facts) {
                return Err(self.changed(&kept));
            }
            self.packed.entries += 1;
            return self.row(&Entry { error: entry.error, ..kept }).map(|()| ControlFlow::Continue(()));
        }
        if entry.facts.kind == FileType::Unknown && entry.error.is_some() {
            self.row(&entry)?;
            return Ok(ControlFlow::Continue(()));
        }
        let continues = self.group.last().is_some_and(|last| {
            last.facts.kind == FileType::File
                && (last.facts.kind, last.facts.inode, last.facts.device)
                    == (entry.facts.kind, entry.facts.inode, entry.facts.device)
                && self.group.len() < GROUP_ENTRIES
        });
        if !continues {
            self.end_group()?;
            if self.batch.entries >= BATCH_ENTRIES {
                let flow = self.send()?;
                self.group.push(entry);
                return Ok(flow);
            }
        }
        self.group.push(entry);
        Ok(ControlFlow::Continue(()))
    }

    fn end_group(&mut self) -> Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        self.batch.entries += self.group.len();
        let group = std::mem::take(&mut self.group);
        self.batch.groups.push(group);
        Ok(())
    }

    /// Hands the batch to the next thread. If all have enough to do, the oldest batch is written first, which
    /// bounds the memory and keeps the order.
    fn send(&mut self) -> Result<ControlFlow<()>> {
        let groups = std::mem::take(&mut self.batch).groups;
        if groups.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        if self.ready.len() == self.readers.in_flight_max() {
            let flow = self.take()?;
            if flow.is_break() {
                // The rest of that batch is not taken: its thread may wait with it, and would take no other.
                return Ok(flow);
            }
        }
        let thread = self.readers.send(groups);
        self.ready.push_back(thread);
        Ok(ControlFlow::Continue(()))
    }

    /// Writes the chunks of the oldest batch. A file that is written in pieces ends its chunk, so `watch` is called after each.
    fn take(&mut self) -> Result<ControlFlow<()>> {
        let Some(thread) = self.ready.pop_front() else { return Ok(ControlFlow::Continue(())) };
        loop {
            let mut chunk = self.readers.receive(thread)?;
            self.append(&mut chunk)?;
            let is_last = chunk.is_last;
            self.readers.spare(chunk);
            let flow = (self.watch)(PackEvent::Packed(self.packed.entries));
            if is_last || flow.is_break() {
                return Ok(flow);
            }
        }
    }

    /// Writes a chunk with as few calls as possible: members of several groups that fit into the current
    /// shard are written together. A group is never divided between two shards, because a hard link in
    /// another shard would link to nothing. A large group in the middle is read now, after what precedes it
    /// was written.
    fn append(&mut self, chunk: &mut Chunk) -> Result<()> {
        let (mut written, mut start) = (0, 0);
        for group in &mut chunk.groups {
            let Group { end, entries, large } = group;
            if !large.is_empty() {
                self.shards_write(&chunk.bytes[written..start])?;
                written = start;
                self.large(std::mem::take(large))?;
                continue;
            }
            if *end > start {
                let (waiting, more) = ((start - written) as u64, (*end - start) as u64);
                if !self.shards.has_room(waiting + more) {
                    // What waits belongs to the current shard.
                    self.shards_write(&chunk.bytes[written..start])?;
                    written = start;
                    self.shards.make_room(more)?;
                }
            }
            let base = self.shards.position() + (start - written) as u64;
            for read in entries {
                self.read(read, base, start)?;
            }
            start = *end;
        }
        self.shards_write(&chunk.bytes[written..])
    }

    fn shards_write(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() { Ok(()) } else { self.shards.write(bytes) }
    }

    /// The group of the entry begins at `start` in its chunk, and at `base` in the shard.
    fn read(&mut self, read: &mut Read, base: u64, start: usize) -> Result<()> {
        match &read.place {
            Ok(Place { header, data, data_length, attributes_hash }) => {
                let from = |at: usize| base + (at - start) as u64;
                let stored = Stored {
                    shard: self.shards.number(),
                    header_offset: from(*header),
                    data_offset: from(*data),
                    data_length: *data_length,
                    attributes_hash: *attributes_hash,
                };
                self.packed(&mut read.entry, stored)
            }
            Err(error) => self.fail(&mut read.entry, error),
        }
    }

    fn packed(&mut self, entry: &mut Entry, stored: Stored) -> Result<()> {
        self.packed.entries += 1;
        let Facts { changed_ns, modified_ns, .. } = entry.facts;
        self.newest_ns = self.newest_ns.max(changed_ns.or(modified_ns));
        entry.stored = Some(stored);
        // Of a directory that could not be listed completely; the next run finds that by itself.
        let error = entry.error.take();
        let (key, item) = self.bytes.in_order(entry, Origin::Shard);
        self.shards.note(key, item)?;
        entry.error = error;
        self.row(entry)
    }

    /// The row of an entry that is not packed has its attributes all the same, if they can be queried.
    fn fail(&mut self, entry: &mut Entry, error: &Error) -> Result<()> {
        if entry.facts.mode.is_none()
            && let Ok(facts) = self.reader.examine(entry)
            && [FileType::Unknown, facts.kind].contains(&entry.facts.kind)
        {
            entry.facts = facts;
        }
        // An error that is there is of the scan, which has reported it.
        if entry.error.is_none() {
            entry.error = Some(format!("{}: {}", error.operation(), error.reason()));
            let _ = (self.watch)(PackEvent::Failed(error));
        }
        entry.stored = None;
        self.row(entry)
    }

    fn row(&mut self, entry: &Entry) -> Result<()> {
        self.failed_rows += u64::from(entry.error.is_some());
        let (key, item) = self.bytes.by_path(b"", entry);
        self.paths.add(key, item).map_err(self.spill)
    }

    fn changed(&self, kept: &Entry) -> Error {
        let path = self.reader.shown(kept);
        let reason = "it changed while an interrupted pack was continued: run the same command again";
        Error::new("pack", &path, ErrorKind::Unavailable, reason)
    }

    /// Names of a file that is written in pieces.
    ///
    /// These files are read on this thread: a chunk of their size would not fit into memory. Each name is
    /// checked to be a link to the first one still. If the first one cannot be read, the next name is tried
    /// as a file of its own.
    fn large(&mut self, group: Vec<Entry>) -> Result<()> {
        let mut first: Option<First> = None;
        // Places of these are in the shard, not in a chunk.
        let stored_at = |shard, header_offset, place: &Place| Stored {
            shard,
            header_offset,
            data_offset: place.data as u64,
            data_length: place.data_length,
            attributes_hash: place.attributes_hash,
        };
        for mut entry in group {
            let mut link = Vec::new();
            if let Some(place) = self.reader.link(&mut entry, first.as_ref(), &mut link) {
                // A link stays in the shard of its file, even if that becomes a little longer.
                let header = self.shards.position();
                self.shards.write(&link)?;
                self.packed(&mut entry, stored_at(self.shards.number(), header, &place))?;
                continue;
            }
            // Another file may begin another shard, where links to the first are none.
            first = None;
            let mut done = Err(Unread::Changed);
            for _ in 0..TRIES {
                done = self.pieces(&mut entry)?;
                if !matches!(done, Err(Unread::Changed)) {
                    break;
                }
            }
            match done {
                Ok((place, attributes)) => {
                    first = Some(First { path: entry.path(), facts: entry.facts, place, attributes });
                    self.packed(&mut entry, stored_at(self.shards.number(), place.header as u64, &place))?;
                }
                Err(unread) => {
                    let error = match unread {
                        Unread::Failed(error) => error,
                        Unread::Changed | Unread::Large => self.reader.changing(&entry),
                    };
                    self.fail(&mut entry, &error)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a file in pieces; takes them back if it cannot be read as a whole.
    ///
    /// The outer error is a failure of the pack, which ends it; the inner one concerns this file only, and
    /// the shard is cut back to where the file began. The header has the size of the first examination, so
    /// exactly that many bytes are read; the file is examined again at the end. Contents are hashed as they
    /// are written, since a second reading could return other bytes than those in the shard.
    fn pieces(&mut self, entry: &mut Entry) -> Result<std::result::Result<(Place, Attributes), Unread>> {
        let opened = match self.reader.open(entry) {
            Ok(opened) => opened,
            Err(unread) => return Ok(Err(unread)),
        };
        let Opened { file, facts, attributes } = opened;
        let size = facts.size_bytes.unwrap_or(0);
        let mut headers = Vec::new();
        let member = Member { kind: MemberKind::File, path: entry.path(), size_bytes: size, attributes };
        member.write(&facts, &mut headers);
        self.shards.make_room(size.saturating_add(headers.len() as u64))?;
        let start = self.shards.position();
        self.shards.write(&headers)?;
        let data = self.shards.position();
        let is_sparse = facts.allocated_bytes.is_some_and(|allocated| allocated < size);
        let (mut hash, mut piece, mut rest) = (Sha256::new(), vec![0; PIECE_BYTES], size);
        while rest > 0 {
            let most = rest.min(PIECE_BYTES as u64) as usize;
            let read = match rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut piece[..most])) {
                Ok(0) => {
                    self.shards.take_back(start)?;
                    return Ok(Err(Unread::Changed));
                }
                Ok(read) => read,
                Err(error) => {
                    self.shards.take_back(start)?;
                    return Ok(Err(Unread::Failed(self.reader.at("read", entry, error))));
                }
            };
            let bytes = &piece[..read];
            hash.update(bytes);
            self.sparsely(bytes, is_sparse)?;
            rest -= read as u64;
        }
        match self.reader.is_same(entry, &file, &facts) {
            Ok(true) => {}
            Ok(false) => {
                self.shards.take_back(start)?;
                return Ok(Err(Unread::Changed));
            }
            Err(error) => {
                self.shards.take_back(start)?;
                return Ok(Err(Unread::Failed(error)));
            }
        }
        self.shards.pad()?;
        entry.facts = Facts { hash: Some(ContentHash::Sha256(hash.finalize().into())), ..facts };
        let attributes_hash = attributes_hash(&member.attributes);
        let (header, data) = (start as usize, data as usize);
        Ok(Ok((Place { header, data, data_length: size, attributes_hash }, member.attributes)))
    }

    /// Blocks of zeros of a sparse file take no space in the shard either.
    fn sparsely(&mut self, bytes: &[u8], is_sparse: bool) -> Result<()> {
        if !is_sparse {
            return self.shards.write(bytes);
        }
        for block in bytes.chunks(ZERO.len()) {
            match block == &ZERO[..block.len()] {
                true => self.shards.skip(block.len() as u64)?,
                false => self.shards.write(block)?,
            }
        }
        Ok(())
    }
}

/// Threads that read groups; the results come in the order in which they were sent.
///
/// Threads take batches in turn, so the thread of a batch follows from its number. A batch becomes one chunk or, because sizes are known
/// only when files are opened, several, which come from the same thread in their order: nothing is sorted. `spare` are chunks whose
/// memory is used again.
struct Readers {
    threads: Vec<Reader>,
    /// Without threads, the caller's reads.
    inline: Option<(Source, VecDeque<Groups>)>,
    sent: usize,
    spare: Vec<Chunk>,
}

/// Groups of a batch that are still to be read.
struct Groups {
    rest: std::vec::IntoIter<Vec<Entry>>,
    is_ahead: bool,
}

struct Reader {
    tasks: Option<Sender<(Groups, Chunk)>>,
    chunks: Receiver<Chunk>,
    handle: Option<JoinHandle<()>>,
}

impl Readers {
    fn start(top: &Dir, threads: usize) -> Result<Self> {
        let mut readers = Self { threads: Vec::new(), inline: None, sent: 0, spare: Vec::new() };
        for _ in 0..threads {
            let mut source = Source::new(top)?;
            let (tasks, tasks_out) = bounded::<(Groups, Chunk)>(1);
            let (chunks_in, chunks) = bounded(1);
            let work = move || {
                for (mut groups, chunk) in tasks_out {
                    let mut spare = Some(chunk);
                    while groups.rest.len() > 0 {
                        let mut chunk = spare.take().unwrap_or_default();
                        fill(&mut source, &mut groups, &mut chunk);
                        if chunks_in.send(chunk).is_err() {
                            return;
                        }
                    }
                }
            };
            // If the system allows no thread, the caller's reads.
            let Ok(handle) = std::thread::Builder::new().name("megadir-pack".to_owned()).spawn(work) else {
                break;
            };
            readers.threads.push(Reader { tasks: Some(tasks), chunks, handle: Some(handle) });
        }
        if readers.threads.is_empty() {
            readers.inline = Some((Source::new(top)?, VecDeque::new()));
        }
        Ok(readers)
    }

    /// Two for each thread: one that it reads, and one that waits.
    fn in_flight_max(&self) -> usize {
        2 * self.threads.len().max(1)
    }

    fn send(&mut self, groups: Vec<Vec<Entry>>) -> usize {
        let groups = Groups { rest: groups.into_iter(), is_ahead: false };
        if let Some((_, waiting)) = &mut self.inline {
            waiting.push_back(groups);
            return 0;
        }
        let thread = self.sent % self.threads.len();
        self.sent += 1;
        if let Some(tasks) = &self.threads[thread].tasks {
            // A thread that has ended is found when its chunk is taken.
            let _ = tasks.send((groups, self.spare.pop().unwrap_or_default()));
        }
        thread
    }

    /// The next chunk of the oldest batch of a thread.
    fn receive(&mut self, thread: usize) -> Result<Chunk> {
        let ended = || Error::new("pack", "".as_ref(), ErrorKind::Io, "a thread that reads has ended");
        let Some((source, waiting)) = &mut self.inline else {
            return self.threads[thread].chunks.recv().map_err(|_| ended());
        };
        let groups = waiting.front_mut().ok_or_else(ended)?;
        let mut chunk = self.spare.pop().unwrap_or_default();
        fill(source, groups, &mut chunk);
        if chunk.is_last {
            waiting.pop_front();
        }
        Ok(chunk)
    }

    fn spare(&mut self, chunk: Chunk) {
        if self.spare.len() < self.in_flight_max() {
            self.spare.push(chunk);
        }
    }
}

/// Reads groups until the chunk is full, or has files that are written in pieces. If the first few wait for the device, the others are
/// read ahead.
fn fill(source: &mut Source, groups: &mut Groups, chunk: &mut Chunk) {
    chunk.bytes.clear();
    chunk.groups.clear();
    let (begun, before) = (Instant::now(), groups.rest.len());
    loop {
        if !groups.is_ahead && source.waits(&begun, before - groups.rest.len()) {
            groups.is_ahead = true;
            source.read_ahead(groups.rest.as_slice());
        }
        let Some(group) = groups.rest.next() else { break };
        let is_read = source.group(group, chunk);
        if chunk.bytes.len() >= CHUNK_BYTES || !is_read {
            break;
        }
    }
    source.chunk_took(begun.elapsed(), before - groups.rest.len());
    chunk.is_last = groups.rest.len() == 0;
}

impl Drop for Readers {
    fn drop(&mut self) {
        for reader in &mut self.threads {
            reader.tasks = None;
            // Dropping the receiver releases a thread that waits to send a chunk.
            let (_, nobody) = bounded(0);
            reader.chunks = nobody;
            if let Some(handle) = reader.handle.take() {
                let _ = handle.join();
            }
        }
    }
}
