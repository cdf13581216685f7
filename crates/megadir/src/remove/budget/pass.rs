//! One pass over the tree: what it holds, and the oldest files that may go.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::mem::take;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::began::{change_since, is_renamed, last_sign};
use super::request::Measure;
use super::rows::{Amount, Key, Oldest, print};
use crate::attribute_listing::policy as attribute_policy;
use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Batch;
use crate::conditions::Conditions;
use crate::dir::Dir;
use crate::dir_path::DirPath;
use crate::error::{At, Result};
use crate::file_type::FileType;
use crate::policy::processors;
use crate::remove::progress::FileId;
use crate::threads::lock;
use crate::walk::collect::{Collect, Message, Progress, Unexamined, collect};
use crate::walk::{TreeEvent, Walk, WalkItem, WalkOptions};

const WANT: StatMask = StatMask::TYPE
    .union(StatMask::SIZE)
    .union(StatMask::ALLOCATED)
    .union(StatMask::LINKS)
    .union(StatMask::INODE)
    .union(StatMask::DEVICE)
    .union(StatMask::MOUNT)
    .union(StatMask::ACCESSED)
    .union(StatMask::MODIFIED)
    .union(StatMask::CHANGED)
    .union(StatMask::BORN);

/// About 50 MB. Of further files with several names, each name counts as its share.
const LINKED_MAX: usize = 1_000_000;

/// About 50 MB. Further directories are not noticed if they are renamed while the tree is read.
const DIRECTORIES_MAX: usize = 1_000_000;

/// Excluded directories are remembered up to this number; with more, only what the first pass has collected may go.
pub(super) const EXCLUDED_MAX: usize = 1_000_000;

/// Settings of all passes over a tree.
///
/// It is the same for the selection and for all later counts: a count by other rules would make files go, or stay,
/// that the question did not name.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) measure: Measure,
    /// As the caller gave them.
    pub(super) conditions: Arc<Conditions>,
    /// Exclusions alone: what other conditions protect, a greatest depth as well, counts.
    pub(super) sight: Arc<Conditions>,
    /// Start of the run. Files with this time or a later one stay.
    pub(super) began: Time,
    pub(super) threads: Option<usize>,
    pub(super) mount: Option<u64>,
    /// Excluded directories of all passes: they are not entered by another name either.
    pub(super) excluded: Arc<Mutex<HashSet<FileId>>>,
}

/// Sums of a pass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// A directory was found at two places, because it was renamed meanwhile: its files may have counted twice.
    pub(super) is_unsound: bool,
    /// Entries and directories that could not be read.
    pub(super) unread: u64,
    /// All regular files.
    pub(super) held: Amount,
    /// Files among these that have not changed since the start. Only they make others go: a file that is renamed while the tree is read may
    /// be found twice, and new files are left to the next run.
    pub(super) settled: Amount,
    /// Files among these with several names.
    pub(super) linked: Amount,
    /// Files among these that could go if all met the conditions.
    pub(super) movable: Amount,
    /// Files among these that may go and have not been judged before.
    pub(super) removable: Amount,
}

/// State of a pass that its threads share under one mutex, taken once a batch. `linked`, `directories` and `renamed`
/// are bounded by `LINKED_MAX` and `DIRECTORIES_MAX`; paths are kept as hashes, which take 8 bytes whatever their
/// length.
#[derive(Debug)]
struct Found {
    sums: Sums,
    /// `None` if the pass only counts.
    oldest: Option<Oldest>,
    linked: HashSet<FileId>,
    directories: HashSet<FileId>,
    /// Hashes of the second paths of directories that were found twice, or that are excluded by another name: files in them do not count.
    hidden: HashSet<u64>,
    /// Hashes of the paths of directories that were renamed since the start: files in them make nothing else go.
    renamed: HashSet<u64>,
}

/// Result of a pass: the sums, and the files if it collects them.
pub(super) type Passed = (Sums, Option<Oldest>);

pub(super) type Watch<'w> = dyn FnMut(TreeEvent<'_>) -> ControlFlow<()> + 'w;

/// Files to be collected: memory for them, and the place in the order that they follow.
pub(super) type Collected = (usize, Option<Key>);

impl Reading {
    /// Reads the tree. Returns `None` if `watch` requested a stop.
    ///
    /// With `files`, the pass also collects the oldest files after a place in the order; without it, the pass only
    /// counts. The walk examines all entries and limits its sight by exclusions alone, because a file that is merely
    /// protected counts. `threads` of a caller replaces both numbers of threads, so it is kept exactly. Failures are
    /// counted here as they pass to `watch`: entries that could not be read may hold more than the budget allows,
    /// which the outcome has to show.
    pub(super) fn pass(
        &self,
        directory: &Dir,
        files: Option<Collected>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Passed>> {
        let oldest = files.map(|(bytes_max, after)| Oldest::new(bytes_max, after));
        let found = Mutex::new(Found {
            sums: Sums::default(),
            oldest,
            linked: HashSet::new(),
            directories: HashSet::new(),
            hidden: HashSet::new(),
            renamed: HashSet::new(),
        });
        let file_system = directory.file_system();
        let most = self.threads.unwrap_or_else(|| attribute_policy::threads_max(file_system, processors()));
        let threads = self.threads.unwrap_or_else(|| attribute_policy::threads(file_system, processors()));
        let want = WANT | self.conditions.by.want() | self.conditions.want();
        let stat_backend = attribute_policy::stat_backend(directory, want, None)?;
        let options = WalkOptions {
            examine: Some((stat_backend, want)),
            conditions: Some(Arc::clone(&self.sight)),
            threads,
            threads_max: most.max(threads),
            ..WalkOptions::new(1)
        };
        let parts = Walk::parts_with(directory.again_for_reader()?, (), &options)?;
        let begin = || Scanning { reading: self, found: &found, path: Vec::new() };
        let mut unread = 0;
        let watch = &mut |event: TreeEvent<'_>| {
            unread += match event {
                TreeEvent::Failed(_) => 1,
                TreeEvent::Unexamined { count, .. } => count,
                _ => 0,
            };
            watch(event)
        };
        let read = collect(parts, begin, &Progress::default(), false, watch);
        let (flow, _) = read.at("start a thread to read", directory.path())?;
        let Found { mut sums, mut oldest, .. } = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        oldest.iter_mut().for_each(Oldest::sort);
        sums.unread = unread;
        Ok(flow.is_continue().then_some((sums, oldest)))
    }

    /// The time that orders a file; `None` if it stays because that is unknown or not before the start.
    pub(super) fn time(&self, file: &Attributes) -> Option<Time> {
        let needed = self.conditions.by.want() | StatMask::CHANGED | StatMask::INODE | StatMask::DEVICE;
        let time = last_sign(self.conditions.by, self.began, file);
        // Whatever orders them: none of its times may show a use since.
        let last = [file.modified, file.accessed].into_iter().fold(time, Time::max);
        (file.have.contains(needed) && last < self.began).then_some(time)
    }
}

struct Scanning<'s> {
    reading: &'s Reading,
    found: &'s Mutex<Found>,
    path: Vec<u8>,
}

impl Collect<()> for Scanning<'_> {
    const THREAD: &'static str = "megadir-budget";

    type Collected = ();

    fn beside(&self) -> Self {
        Self { path: Vec::new(), ..*self }
    }

    fn item(
        &mut self,
        item: WalkItem<'_>,
        _: Option<&()>,
        progress: &Progress,
    ) -> io::Result<Option<Message>> {
        let (directory, batch, attributes) = match item {
            WalkItem::Batch { directory, batch, attributes } => (directory, batch, attributes),
            WalkItem::Error(error) => return Ok(Some(Message::Failed(error))),
            WalkItem::OtherMount(path) => return Ok(Some(Message::OtherMount(path))),
            WalkItem::End { .. } => return Ok(None),
        };
        progress.read.fetch_add(batch.len() as u64, Ordering::Relaxed);
        Ok(self.files(directory, batch, attributes))
    }

    fn end(self) -> io::Result<()> {
        Ok(())
    }
}

impl Scanning<'_> {
    /// Adds the files of a batch. Returns the files that could not be examined.
    ///
    /// The order of the checks decides what counts. Excluded entries are not seen at all, and directories among them
    /// are remembered, for they may have another name. What is mounted on an entry is another file system. Files with
    /// several names count once. Then come three sums, each a part of the one before: all files, those that could go
    /// if all met the conditions, and those that may go. The lock is held for the whole batch, because taking it for
    /// each file would have the threads wait for each other.
    fn files(&mut self, directory: &DirPath, batch: Batch<'_>, attributes: &[Attributes]) -> Option<Message> {
        let (reading, conditions) = (self.reading, &*self.reading.conditions);
        let (place, sight) = (conditions.place(directory.below()), reading.sight.place(directory.below()));
        let (mut path, mut above, mut unread) = (take(&mut self.path), None, Unexamined::default());
        let mut found = lock(self.found);
        if is_below(&found.hidden, directory) {
            self.path = path;
            return None;
        }
        let is_renamed_since = is_below(&found.renamed, directory);
        for (entry, row) in batch.entries().zip(attributes) {
            if !reading.sight.sees(&sight, entry.name) {
                note_excluded(reading, row);
                continue;
            }
            // One that has vanished is no failure, and holds nothing.
            if row.error != 0 && !row.has_vanished() {
                unread.note(entry.name, row.error);
            }
            if row.error != 0 || self.is_mounted(row) {
                continue;
            }
            if row.kind == FileType::Directory {
                let is_excluded = lock(&reading.excluded).contains(&(row.device, row.inode));
                found.add_directory((directory, entry.name), row, is_excluded, reading.began);
            }
            if row.kind != FileType::File {
                continue;
            }
            let amount = Amount { files: 1, bytes: row.allocated_bytes };
            let is_settled = !is_renamed_since && change_since(reading.began, row).is_none();
            if row.links > 1 {
                found.add_linked(row, &amount, is_settled);
                continue;
            }
            found.sums.held.add(&amount);
            if is_settled {
                found.sums.settled.add(&amount);
            }
            let Some(time) = reading.time(row).filter(|_| reading.measure.of(&amount) > 0) else { continue };
            found.sums.movable.add(&amount);
            if found.oldest.is_none() || !conditions.accepts(&place, entry.name, entry.kind, row) {
                continue;
            }
            // Only where there are files: to build each path takes time quadratic in the depth of a tree.
            let above = *above.get_or_insert_with(|| path_above(directory, &mut path));
            path.truncate(above);
            path.extend_from_slice(entry.name);
            found.add(time, &path, row, &amount);
        }
        self.path = path;
        unread.message(directory)
    }

    /// `true` for a file or directory that is mounted there.
    fn is_mounted(&self, row: &Attributes) -> bool {
        row.have.contains(StatMask::MOUNT) && self.reading.mount.is_some_and(|mount| mount != row.mount)
    }
}

impl Found {
    fn add(&mut self, time: Time, path: &[u8], row: &Attributes, amount: &Amount) {
        let Some(oldest) = &mut self.oldest else { return };
        if oldest.add(time, path, amount.bytes, print(row)) {
            self.sums.removable.add(amount);
        }
    }

    fn add_directory(
        &mut self,
        (above, name): (&DirPath, &[u8]),
        row: &Attributes,
        is_excluded: bool,
        began: Time,
    ) {
        let is_first =
            self.directories.len() >= DIRECTORIES_MAX || self.directories.insert((row.device, row.inode));
        self.sums.is_unsound |= !is_first;
        let of_path = || hash(&above.below().join(name).to_vec());
        if is_excluded || !is_first {
            self.hidden.insert(of_path());
        }
        // With more, files in them count as others do.
        if is_renamed(began, row) && self.renamed.len() < DIRECTORIES_MAX {
            self.renamed.insert(of_path());
        }
    }

    /// A file with several names counts once, and stays.
    fn add_linked(&mut self, row: &Attributes, amount: &Amount, is_settled: bool) {
        let id = (row.device, row.inode);
        let counted = if self.linked.len() < LINKED_MAX || self.linked.contains(&id) {
            if !self.linked.insert(id) {
                return;
            }
            *amount
        } else {
            Amount { files: 0, bytes: amount.bytes / row.links.max(1) }
        };
        self.sums.held.add(&counted);
        if is_settled {
            self.sums.settled.add(&counted);
        }
        self.sums.linked.add(&counted);
    }
}

/// `true` for a directory at or below one of the paths with these hashes.
fn is_below(hashes: &HashSet<u64>, directory: &DirPath) -> bool {
    if hashes.is_empty() {
        return false;
    }
    let path = directory.below().to_vec();
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    ends.chain([path.len()]).any(|end| hashes.contains(&hash(&path[..end])))
}

fn hash(path: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(path)
}

fn note_excluded(reading: &Reading, row: &Attributes) {
    if row.kind == FileType::Directory && row.error == 0 {
        let mut excluded = lock(&reading.excluded);
        if excluded.len() <= EXCLUDED_MAX {
            excluded.insert((row.device, row.inode));
        }
    }
}

/// Sets the path to the directory's, with a slash at its end, and returns its length.
fn path_above(directory: &DirPath, path: &mut Vec<u8>) -> usize {
    path.clear();
    directory.below().push_to(path);
    if !path.is_empty() {
        path.push(b'/');
    }
    path.len()
}
