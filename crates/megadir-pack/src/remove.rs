//! Removes the files of a tree that its pack holds.
//!
//! ```text
//! pack: every member read and hashed -> damaged members
//! tree: scan by path -+
//! index: rows by path -+-> the same entry, whole in the pack, unchanged? -> Sorter (inode; directories last, the deepest first)
//!                     `-> stays: changed, not in the pack, damaged there, unread
//! (question) -> the pack is still the same, and on the disk -> each entry looked at again -> unlinkat
//! ```
//!
//! Nothing goes by the scan alone: each entry is compared with its row again, by its open directory, just before it is removed. Where equal
//! facts prove nothing (see [`Evidence`]), its contents are read and compared with the hash in the index.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use megadir::remove::single::{Fate, Judgement, Seen, SingleRemoval};
use megadir::remove::{Progress, RemoveOptions, Removed};
use megadir::{Dir, Error, ErrorKind, FileType, Result, TreeEvent, names};
use megadir_inventory::changes::{Evidence, Sameness, check_first_root};
use megadir_inventory::{
    ContentHash, Facts, Inventory, PackIndex, Row, Rows, ScanOptions, Sink, Sorter, Stored, scan, spill_error,
};
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::retry_on_intr;
use sha2::{Digest, Sha256};

use crate::entry::{Bytes, Entry, Origin, not_an_entry};
use crate::layout::index_path;
use crate::member::attributes_hash;
use crate::own_files::{FileId, OwnFiles};
use crate::read::Pack;
use crate::source;
use crate::verify::{Damaged, damaged};

const SORT_BYTES: usize = 16 << 20;
const PIECE_BYTES: usize = 1 << 20;
/// About 200 MB. A dry run takes further directories for empty.
const FILLED_MAX: usize = 10_000_000;

/// Reasons for which an entry of the tree stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// It changed or was replaced since it was packed.
    Changed,
    /// The pack does not hold it.
    NotPacked,
    /// The pack holds it, but damaged.
    Damaged,
    /// It could not be read.
    Unread,
}

/// Numbers of entries that stay, by reason. Directories count if they stay for a reason of their own, not for what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stays {
    /// Changed or replaced since they were packed.
    pub changed: u64,
    /// Not in the pack.
    pub not_packed: u64,
    /// Damaged in the pack.
    pub damaged: u64,
    /// Could not be read, among these directories whose contents are unknown.
    pub unread: u64,
}

impl Stays {
    fn count(&mut self, stay: Stay) {
        *match stay {
            Stay::Changed => &mut self.changed,
            Stay::NotPacked => &mut self.not_packed,
            Stay::Damaged => &mut self.damaged,
            Stay::Unread => &mut self.unread,
        } += 1;
    }

    /// Number for all reasons.
    pub fn all(&self) -> u64 {
        self.changed + self.not_packed + self.damaged + self.unread
    }
}

/// Figures of a selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Entries that may go and are no directories.
    pub entries: u64,
    /// Space on disk that these occupy, bytes. A file with several names counts once for each.
    pub bytes: u64,
    /// Number of problems of the pack.
    pub problems: u64,
}

/// Event of a selection and a removal.
pub enum RemoveEvent<'e> {
    /// Number of members of the pack that are verified.
    Verified(u64),
    /// Something in the pack is damaged.
    Problem(&'e Error),
    /// The tree is read.
    Scan(TreeEvent<'e>),
    /// An entry stays.
    Stays(&'e Path, Stay),
}

/// Callback of a selection and a removal, which may request a stop.
pub type RemoveWatch<'w> = dyn FnMut(RemoveEvent<'_>) -> ControlFlow<()> + 'w;

/// Entries of a tree that its pack holds, for one removal.
///
/// It holds the descriptor of the directory and not only its path, since the answer to a question may take minutes. The
/// entries lie in temporary files if there are many, in the order of their removal.
#[derive(Debug)]
pub struct PackedSelection {
    pack: OwnFiles,
    directory: Dir,
    evidence: Evidence,
    chosen: Sorter,
    selected: Selected,
    stays: Stays,
    filled: Filled,
}

/// Directory that was packed, by its path in the index. Errors: as [`Pack::open`].
pub fn packed_directory(path: &Path) -> Result<PathBuf> {
    let pack = Pack::open(path)?;
    let root = pack.metadata().roots.first().map(|root| root.path.clone()).unwrap_or_default();
    Ok(Path::new(&*names::to_os(&root)?).to_owned())
}

/// Selects the entries below `directory` that the pack at `path` holds, whole, and which are unchanged since they were packed. Reads the
/// pack and scans the tree by `threads`. Returns `None` if `watch` requested a stop.
///
/// Errors: the index cannot be read, or was made from another directory; the tree cannot be opened.
pub fn select_packed(
    path: &Path,
    directory: &Dir,
    threads: usize,
    watch: &mut RemoveWatch<'_>,
) -> Result<Option<PackedSelection>> {
    let index = index_path(path);
    // Its messages are about packs.
    let recorded = Pack::open(path)?.find(b"")?.map_or(Facts::NOTHING, |root| root.facts);
    check_directory(&index, directory)?;
    let pack = OwnFiles::find(&index)?;
    let mut watch_pack = |problem: Option<&Error>, verified| {
        watch(problem.map_or(RemoveEvent::Verified(verified), RemoveEvent::Problem))
    };
    let Some((damaged, problems)) = damaged(path, &mut watch_pack)? else { return Ok(None) };
    pack.check()?;
    let mut rows = PackIndex::open(&index)?;
    let evidence = Evidence::of(rows.metadata(), &recorded, directory)?;
    let next = next(&mut rows)?;
    let watch = RefCell::new(watch);
    let mut choose = Choose {
        rows,
        next,
        top: directory.path(),
        own: pack.ids(),
        damaged: &damaged,
        evidence: &evidence,
        chosen: Sorter::new(SORT_BYTES, std::env::temp_dir()),
        bytes: Bytes::default(),
        selected: Selected { problems, ..Selected::default() },
        stays: Stays::default(),
        filled: Filled::default(),
        watch: &watch,
        flow: ControlFlow::Continue(()),
    };
    let options = ScanOptions::new(threads, SORT_BYTES, std::env::temp_dir());
    let mut watch_scan = |event: TreeEvent<'_>| watch.borrow_mut()(RemoveEvent::Scan(event));
    let scanned = scan(&[directory.path().to_owned()], &options, &mut watch_scan, &mut choose);
    // A stop ends the scan by an error.
    if choose.flow.is_break() || scanned?.is_none() {
        return Ok(None);
    }
    let Choose { chosen, selected, stays, filled, .. } = choose;
    let directory = directory.again()?;
    Ok(Some(PackedSelection { pack, directory, evidence, chosen, selected, stays, filled }))
}

fn check_directory(index: &Path, directory: &Dir) -> Result<()> {
    let mut rows = Inventory::open(index)?;
    let packed = rows.metadata().roots.first().map(|root| root.path.clone()).unwrap_or_default();
    check_first_root(&mut rows, directory.again()?).map_err(|error| match error.kind() {
        ErrorKind::BadOption => {
            let packed = String::from_utf8_lossy(&packed);
            let packed = packed.escape_debug();
            let reason = format!(
                "the pack was made from another directory, then at '{packed}': name that one, or the pack of this one"
            );
            Error::new("remove from", directory.path(), ErrorKind::BadOption, reason)
        }
        _ => error,
    })
}

fn next(rows: &mut PackIndex) -> Result<Option<Entry>> {
    Ok(rows.next_row()?.map(|(row, stored)| Entry::of(&row, stored)))
}

/// Directories in which something stays, by the hashes of their paths: for a dry run, where the kernel cannot be asked.
#[derive(Debug, Default)]
struct Filled(HashSet<u64>);

impl Filled {
    fn hash(path: &[u8]) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(path)
    }

    fn add(&mut self, path: &[u8]) {
        if self.0.len() < FILLED_MAX {
            self.0.insert(Self::hash(path));
        }
    }

    fn has(&self, path: &[u8]) -> bool {
        self.0.contains(&Self::hash(path))
    }
}

/// Compares the rows of a scan with those of the index; both ascend. `own` are the files of the pack, which stay wherever they are;
/// `watch` is shared with the scan, which reports to it too. A stop that was requested is kept in `flow`, because only an error ends a scan.
struct Choose<'c, 'w> {
    rows: PackIndex,
    /// First row of the index that is not compared yet.
    next: Option<Entry>,
    top: &'c Path,
    own: HashSet<FileId>,
    damaged: &'c Damaged,
    evidence: &'c Evidence,
    chosen: Sorter,
    bytes: Bytes,
    selected: Selected,
    stays: Stays,
    filled: Filled,
    watch: &'c RefCell<&'c mut RemoveWatch<'w>>,
    flow: ControlFlow<()>,
}

impl Choose<'_, '_> {
    fn stays(&mut self, row: &Row<'_>, stay: Stay) {
        self.stays.count(stay);
        self.filled.add(row.key.parent);
        let mut path = Vec::new();
        row.key.path_into(&mut path);
        if self.watch.borrow_mut()(RemoveEvent::Stays(&source::shown(self.top, &path), stay)).is_break() {
            self.flow = ControlFlow::Break(());
        }
    }

    /// Reason for which an entry of the tree stays that has this row in the index; `None` if it may go.
    fn why_it_stays(&self, row: &Row<'_>, packed: Option<&Entry>) -> Option<Stay> {
        if row.error.is_some() {
            return Some(Stay::Unread);
        }
        let attributes = row.facts.attributes();
        let is_own = self.own.contains(&(attributes.device, attributes.inode));
        let stored = packed.filter(|_| !is_own).and_then(|packed| Some((packed, packed.stored?)));
        let Some((packed, stored)) = stored else { return Some(Stay::NotPacked) };
        if self.damaged.has(&stored) {
            return Some(Stay::Damaged);
        }
        (self.evidence.compare(&packed.facts, &row.facts) == Sameness::Changed).then_some(Stay::Changed)
    }

    /// The directory itself stays in any case, so that only an error to list it matters.
    fn choose(&mut self, row: &Row<'_>, packed: Option<&Entry>) -> Result<()> {
        if row.key.is_root() {
            if row.error.is_some() {
                self.stays(row, Stay::Unread);
            }
            return Ok(());
        }
        if let Some(stay) = self.why_it_stays(row, packed) {
            self.stays(row, stay);
        } else if let Some(entry) = packed {
            if !entry.is_directory() {
                self.selected.entries += 1;
                self.selected.bytes += row.facts.allocated_bytes.unwrap_or(0);
            }
            let (key, item) = self.bytes.in_order(entry, Origin::Tree);
            let added = self.chosen.add(key, item);
            added.map_err(|error| spill_error(&std::env::temp_dir(), error))?;
        }
        Ok(())
    }
}

impl Sink for Choose<'_, '_> {
    /// Rows of the index before `row` have nothing in the tree any more.
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        let packed = loop {
            let order = self.next.as_ref().map_or(Ordering::Greater, |next| next.row().key.cmp(&row.key));
            if order == Ordering::Greater {
                break None;
            }
            let passed = self.next.take();
            self.next = next(&mut self.rows)?;
            if order == Ordering::Equal {
                break passed;
            }
        };
        self.choose(row, packed.as_ref())?;
        match self.flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::new("select", "".as_ref(), ErrorKind::Io, "stopped")),
        }
    }
}

impl PackedSelection {
    /// Entries that may go, before any was removed.
    pub fn selected(&self) -> Selected {
        self.selected
    }

    /// Entries that stay so far, by reason.
    pub fn stays(&self) -> Stays {
        self.stays
    }

    /// Removes the selected entries, each compared with its row just before it goes, and the directories of the pack that are empty by then; the
    /// directory itself stays. Returns what stays, with what stayed at the selection. A removal that is cancelled or
    /// killed leaves the rest for the next one.
    ///
    /// Errors: the pack changed since it was verified, or cannot be written to the disk; the path of the directory leads to another
    /// one; of `options`, those that [`SingleRemoval::new`] refuses. Failures of single entries are reported to `options`.
    pub fn remove(
        self,
        options: &RemoveOptions<'_>,
        progress: &Progress,
        watch: &mut RemoveWatch<'_>,
    ) -> Result<(Removed, Stays)> {
        let Self { pack, directory, evidence, chosen, mut stays, mut filled, .. } = self;
        pack.check()?;
        if !options.dry_run {
            pack.sync()?;
        }
        let own = pack.ids();
        let mut removal = SingleRemoval::new(&directory, options, progress)?;
        let spill = |error| spill_error(&std::env::temp_dir(), error);
        chosen.finish(spill, |key, item| {
            let entry = Entry::from_order(key, item);
            let entry = entry.ok_or_else(|| not_an_entry("remove", directory.path()))?;
            let path = entry.path();
            // The kernel would find it filled.
            if options.dry_run && entry.is_directory() && filled.has(&path) {
                removal.note_filled();
                filled.add(&entry.parent);
                return Ok(true);
            }
            let mut stay = Stay::Changed;
            let mut judge = |seen: &Seen<'_>| {
                judge(&entry, seen, &evidence, (&own, progress)).unwrap_or_else(|why| {
                    stay = why;
                    Judgement::Stays
                })
            };
            match removal.remove(&path, &mut judge)? {
                Fate::Removed | Fate::Missing => {}
                Fate::Filled | Fate::Failed => filled.add(&entry.parent),
                Fate::Cancelled => return Ok(false),
                // The comparison of its contents was cut short.
                Fate::Stays if progress.is_cancelled() => return Ok(false),
                Fate::Stays => {
                    stays.count(stay);
                    filled.add(&entry.parent);
                    let shown = source::shown(directory.path(), &path);
                    if watch(RemoveEvent::Stays(&shown, stay)).is_break() {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        })?;
        Ok((removal.finish(), stays))
    }
}

/// Compares an entry that was looked at with its row. Errors: why it stays.
fn judge(
    entry: &Entry,
    seen: &Seen<'_>,
    evidence: &Evidence,
    (own, progress): (&HashSet<FileId>, &Progress),
) -> std::result::Result<Judgement, Stay> {
    let Some(stored) = entry.stored else { return Err(Stay::NotPacked) };
    if own.contains(&(seen.attributes.device, seen.attributes.inode)) {
        return Err(Stay::NotPacked);
    }
    let mut facts = Facts::new(seen.attributes.kind, &seen.attributes);
    if seen.is_changed_by_removal {
        facts.changed_ns = entry.facts.changed_ns;
    }
    match (evidence.compare(&entry.facts, &facts), entry.is_directory()) {
        (Sameness::Changed, _) => Err(Stay::Changed),
        (Sameness::Same, false) => Ok(Judgement::Goes),
        (_, true) => match has_attributes(&stored, seen) {
            Ok(true) => Ok(Judgement::Goes),
            Ok(false) => Err(Stay::Changed),
            Err(_) => Err(Stay::Unread),
        },
        (Sameness::Unproven, false) => match has_contents(entry, &stored, seen, progress) {
            Ok(true) => Ok(Judgement::GoesIfStill),
            Ok(false) => Err(Stay::Changed),
            Err(_) => Err(Stay::Unread),
        },
    }
}

/// `true` if a directory has the extended attributes that were packed: its time of change is no evidence, because removals in it set it.
fn has_attributes(stored: &Stored, seen: &Seen<'_>) -> rustix::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = retry_on_intr(|| openat(seen.directory, seen.name, flags, Mode::empty()))?;
    Ok(attributes_hash(&source::attributes_of(&directory)?) == stored.attributes_hash)
}

/// `true` if the contents of a file or the target of a link, and the extended attributes, are those that were packed.
///
/// The file is opened as for packing. That the file that was read is the one
/// that goes follows from the second look of the removal, which has to find the same ctime.
fn has_contents(
    entry: &Entry,
    stored: &Stored,
    seen: &Seen<'_>,
    progress: &Progress,
) -> std::io::Result<bool> {
    if entry.facts.kind == FileType::Symlink {
        let target = rustix::fs::readlinkat(seen.directory, seen.name, Vec::new())?;
        return Ok(entry.facts.hash == Some(ContentHash::Sha256(Sha256::digest(target.as_bytes()).into())));
    }
    let opened = source::open_file(seen.directory, seen.name)?;
    let (now, looked) = (source::facts_of(&opened)?, Facts::new(seen.attributes.kind, &seen.attributes));
    let of = |facts: &Facts| (facts.kind, facts.inode, facts.device, facts.size_bytes, facts.changed_ns);
    if of(&now) != of(&looked) {
        return Ok(false);
    }
    if attributes_hash(&source::attributes_of(&opened)?) != stored.attributes_hash {
        return Ok(false);
    }
    let (mut file, mut hash, mut piece) = (std::fs::File::from(opened), Sha256::new(), vec![0; PIECE_BYTES]);
    while !progress.is_cancelled() {
        match file.read(&mut piece) {
            Ok(0) => return Ok(entry.facts.hash == Some(ContentHash::Sha256(hash.finalize().into()))),
            Ok(read) => hash.update(&piece[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // The caller ends without a result.
    Ok(false)
}
