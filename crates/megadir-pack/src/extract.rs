//! Writes members of a pack into a new or empty directory.
//!
//! Index and shards may be hostile: the reader of the index admits only names below directories of the index, every file is created relative to the
//! descriptor of its directory and must not exist before, and symbolic links are never followed. Contents are compared with their hash before
//! a file gets its mode and owner. Directories get theirs at the end, the deepest first.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use megadir::{Conditions, Dir, Error, ErrorKind, FileType, Listing, Result, TreePath, names};
use megadir_inventory::{ContentHash, Facts, PackIndex, Sorter, Stored, spill_error, split_bytes, time_of};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid, XattrFlags, chownat, fchmod, fchown, fgetxattr,
    fremovexattr, fsetxattr, ftruncate, futimens, linkat, mkdirat, openat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::below::Below;
use crate::entry::{Bytes, Entry, not_an_entry};
use crate::layout::index_path;
use crate::member::{Attributes, MemberKind};
use crate::read::{OpenShards, Pack};
use crate::unfinished::create_private;
use crate::verify::{PLACE_BYTES, place_key};

const ACL: &str = "system.posix_acl_access";
const DEFAULT_ACL: &str = "system.posix_acl_default";
const SORT_BYTES: usize = 16 << 20;
const ZERO: [u8; 4096] = [0; 4096];
/// Entries between two looks at a request to stop.
const WATCH_ENTRIES: u64 = 64;

/// Settings of an extraction.
pub struct ExtractOptions<'o> {
    /// Only entries that meet these conditions, with the directories that they need.
    pub conditions: Option<&'o Conditions>,
}

/// Result of an extraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Entries that were written, with their directories.
    pub entries: u64,
    /// Entries that met the conditions, without the directories that they need; without conditions all but the top.
    pub selected: u64,
    /// Length of their contents, bytes.
    pub bytes: u64,
    /// Entries that could not be written, or not with all of their attributes.
    pub failed: u64,
}

/// Callback of an extraction: a failure, or `None` with the number of entries so far. May request a stop.
pub type ExtractWatch<'w> = dyn FnMut(Option<&Error>, u64) -> ControlFlow<()> + 'w;

/// Writes members of the pack at `path` into the directory `destination`, which must be empty or is created. As root, entries get their owners; other
/// users get files of their own, without attributes of the system. Returns `None` if `watch` requested a stop: what was written stays.
///
/// Errors: the index cannot be read, or the directory is not empty or cannot be created. Other failures are passed to `watch`.
pub fn extract(
    path: &Path,
    destination: &Path,
    options: &ExtractOptions<'_>,
    watch: &mut ExtractWatch<'_>,
) -> Result<Option<Extracted>> {
    let index = index_path(path);
    let Pack { shards, .. } = Pack::open(path)?;
    let top = begin(destination)?;
    let is_root = rustix::process::geteuid().is_root();
    let inherits_acls = fgetxattr(&top, DEFAULT_ACL, &mut [0u8; 0][..]).is_ok_and(|bytes| bytes > 0);
    let flow = ControlFlow::Continue(());
    let mut work = Work {
        shards,
        tree: Below::new(top),
        is_root,
        inherits_acls,
        last: None,
        extracted: Extracted::default(),
        watch,
        flow,
    };
    let files = work.select(&index, options)?;
    let spill = |error| spill_error(&std::env::temp_dir(), error);
    files.finish(spill, |key, item| {
        let entry = key.get(PLACE_BYTES..).and_then(|key| Entry::from_path(key, item));
        work.entry(&entry.ok_or_else(|| not_an_entry("read", &index))?);
        Ok(work.flow.is_continue())
    })?;
    if work.flow.is_continue() {
        let directories = work.directories(&index)?;
        directories.finish(spill, |key, item| {
            let entry = key.get(DEPTH_BYTES..).and_then(|key| Entry::from_path(key, item));
            work.complete(&entry.ok_or_else(|| not_an_entry("read", &index))?);
            Ok(work.flow.is_continue())
        })?;
    }
    Ok(work.flow.is_continue().then_some(work.extracted))
}

fn begin(destination: &Path) -> Result<Dir> {
    create_private(destination)?;
    let top = Dir::open(destination)?;
    let mut listing = Listing::open(destination)?;
    while let Some(batch) = listing.next_batch()? {
        if batch.entries().next().is_some() {
            let reason = "it is not empty: name a new or empty directory";
            return Err(Error::new("extract into", destination, ErrorKind::BadOption, reason));
        }
    }
    Ok(top)
}

const DEPTH_BYTES: usize = 8;

/// State of one extraction, which runs on the caller's thread in three passes over the pack:
///
/// ```text
/// index rows: directories are made (mode 0700) -> files by place in the shards -> directories, deepest first: owner, mode, times
/// ```
///
/// Directories stay private until the last pass, so that no other user can put anything into them while files
/// are written, and so that a directory without write permission still takes its files. `flow` is kept here
/// and not returned, because a failure that ends the extraction may happen in the middle of a pass that must
/// first be left.
struct Work<'w> {
    shards: OpenShards,
    tree: Below,
    is_root: bool,
    /// New entries get ACLs from the directory above, which those that were packed may not have had.
    inherits_acls: bool,
    /// The last file, which links may follow.
    last: Option<(Stored, Entry)>,
    extracted: Extracted,
    watch: &'w mut ExtractWatch<'w>,
    flow: ControlFlow<()>,
}

type Step<T> = std::result::Result<T, Error>;

impl Work<'_> {
    /// Makes the selected directories, and sorts the other entries by their places.
    ///
    /// The index ascends by path, and the shards by inode, so files are sorted by their place to read each
    /// shard once and forwards; the sort spills to temporary files beyond [`SORT_BYTES`]. Directories are
    /// made at once, since rows of directories precede the rows of their contents. An entry without a place, and
    /// a directory whose row has an error, are failures that the caller counts: an extraction must not seem
    /// complete if the pack is not.
    fn select(&mut self, index: &Path, options: &ExtractOptions<'_>) -> Result<Sorter> {
        let spill = |error| spill_error(&std::env::temp_dir(), error);
        let mut files = Sorter::new(SORT_BYTES, std::env::temp_dir());
        let mut selection = Selection::new(options.conditions);
        let (mut rows, mut bytes) = (PackIndex::open(index)?, Bytes::default());
        while let Some((row, stored)) = rows.next_row()? {
            if !selection.has(&row) {
                continue;
            }
            self.extracted.selected += u64::from(!row.key.is_root());
            let entry = Entry::of(&row, stored);
            match (entry.is_directory(), stored) {
                (true, _) => {
                    if let Err(error) = self.make(&entry.path()) {
                        self.fail(&error);
                    }
                    if let Some(error) = &entry.error {
                        let reason = format!("not all of its contents are in the pack ({error})");
                        self.fail(&self.refused(&entry, &reason));
                    }
                }
                (false, Some(stored)) => {
                    let (key, item) = bytes.by_path(&place_key(&stored), &entry);
                    files.add(key, item).map_err(spill)?;
                }
                (false, None) => {
                    let reason = entry.error.as_deref().unwrap_or("its row has no place");
                    self.fail(&self.refused(&entry, &format!("it is not in the pack ({reason})")));
                }
            }
            if self.flow.is_break() {
                break;
            }
        }
        Ok(files)
    }

    /// Directories that were made, the deepest first.
    fn directories(&mut self, index: &Path) -> Result<Sorter> {
        let spill = |error| spill_error(&std::env::temp_dir(), error);
        let mut sorter = Sorter::new(SORT_BYTES, std::env::temp_dir());
        let (mut rows, mut bytes) = (PackIndex::open(index)?, Bytes::default());
        while let Some((row, stored)) = rows.next_row()? {
            let entry = Entry::of(&row, stored);
            if !entry.is_directory() {
                continue;
            }
            let (key, item) = bytes.by_path(&(u64::MAX - entry.depth()).to_be_bytes(), &entry);
            sorter.add(key, item).map_err(spill)?;
        }
        Ok(sorter)
    }

    fn fail(&mut self, error: &Error) {
        self.extracted.failed += 1;
        if (self.watch)(Some(error), self.extracted.entries).is_break() {
            self.flow = ControlFlow::Break(());
        }
    }

    fn done(&mut self, bytes: u64) {
        self.extracted.entries += 1;
        self.extracted.bytes += bytes;
        let entries = self.extracted.entries;
        if entries.is_multiple_of(WATCH_ENTRIES) && (self.watch)(None, entries).is_break() {
            self.flow = ControlFlow::Break(());
        }
    }

    fn refused(&self, entry: &Entry, reason: &str) -> Error {
        Error::new("extract", &self.path(&entry.path()), ErrorKind::Malformed, reason)
    }

    fn at(&self, operation: &'static str, entry: &Entry, error: Errno) -> Error {
        Error::io(operation, &self.path(&entry.path()), error.into())
    }

    fn path(&self, path: &[u8]) -> std::path::PathBuf {
        crate::source::shown(self.tree.top().path(), path)
    }

    /// Makes a directory and those above it, private until the end.
    fn make(&mut self, path: &[u8]) -> Step<()> {
        // The paths of those that are missing, the deepest first.
        let (mut missing, mut end) = (Vec::new(), path.len());
        loop {
            match self.tree.directory(&path[..end]) {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::NotFound => missing.push(end),
                Err(error) => return Err(error),
            }
            end = path[..end].iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        }
        missing.into_iter().rev().try_for_each(|end| self.make_one(&path[..end]))
    }

    fn make_one(&mut self, path: &[u8]) -> Step<()> {
        let (above, name) = split_bytes(path);
        let shown = self.path(path);
        if !names::is_component(name) {
            return Err(Error::new("extract", &shown, ErrorKind::Malformed, "the index has an invalid name"));
        }
        let parent = self.tree.directory(above)?;
        let made = mkdirat(parent, name, Mode::RWXU);
        made.map_err(|error| Error::io("create", &shown, error.into()))
    }

    fn entry(&mut self, entry: &Entry) {
        match self.write(entry) {
            Ok(bytes) => self.done(bytes),
            Err(error) => self.fail(&error),
        }
    }

    fn write(&mut self, entry: &Entry) -> Step<u64> {
        let Some(stored) = entry.stored else { return Err(self.refused(entry, "its row has no place")) };
        if !names::is_component(&entry.name) {
            return Err(self.refused(entry, "the index has an invalid name"));
        }
        self.make(&entry.parent)?;
        let (member, headers) = self.shards.member_of(entry, &stored)?;
        match member.kind {
            MemberKind::Symlink(target) => self.symlink(entry, &target).map(|()| 0),
            MemberKind::HardLink(_) => match self.link(entry, &stored)? {
                true => Ok(0),
                // The file itself was not selected, or could not be written.
                false => self.file(entry, &stored, &member.attributes),
            },
            MemberKind::File => {
                let fits = stored.header_offset.checked_add(headers) == Some(stored.data_offset)
                    && stored.data_length == member.size_bytes;
                if !fits {
                    return Err(self.refused(entry, "the place of its contents does not fit its header"));
                }
                self.file(entry, &stored, &member.attributes)
            }
            MemberKind::Directory => Err(self.refused(entry, "its place in the shard has a directory")),
        }
    }

    /// A link is made only to a file that this extraction has just written, by its place in the shard, and
    /// never to a path that the header names: a hostile pack cannot link to other files of the user. `false`
    /// if there is no such file, and then the contents are written again.
    fn link(&mut self, entry: &Entry, stored: &Stored) -> Step<bool> {
        let of = |stored: &Stored| (stored.shard, stored.data_offset, stored.data_length);
        let Some((_, first)) = self.last.as_ref().filter(|(there, _)| of(there) == of(stored)) else {
            return Ok(false);
        };
        if first.facts.hash != entry.facts.hash {
            return Err(self.refused(entry, "the index has two hashes for the contents of a file"));
        }
        let first = first.clone();
        // Another descriptor: opening the second directory may close the first.
        let from = self.tree.directory(&first.parent)?.again()?;
        let to = self.tree.directory(&entry.parent)?;
        linkat(&from, &first.name[..], to, &entry.name[..], AtFlags::empty())
            .map_err(|error| self.at("link", entry, error))?;
        Ok(true)
    }

    fn symlink(&mut self, entry: &Entry, target: &[u8]) -> Step<()> {
        if entry.facts.hash != Some(ContentHash::Sha256(Sha256::digest(target).into())) {
            return Err(self.refused(entry, "its target is not the one that was packed"));
        }
        let (is_root, facts) = (self.is_root, entry.facts);
        let directory = self.tree.directory(&entry.parent)?;
        let name = &entry.name[..];
        let made = symlinkat(target, directory, name).and_then(|()| {
            if let (true, Some(user), Some(group)) = (is_root, facts.user, facts.group) {
                let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
                chownat(directory, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?;
            }
            utimensat(directory, name, &times(&facts), AtFlags::SYMLINK_NOFOLLOW)
        });
        made.map_err(|error| self.at("create", entry, error))
    }

    /// Removes the file again if its contents are not those that were packed.
    fn file(&mut self, entry: &Entry, stored: &Stored, attributes: &Attributes) -> Step<u64> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = self.tree.directory(&entry.parent)?;
        let made = openat(directory, &entry.name[..], flags, Mode::RUSR | Mode::WUSR);
        let file = made.map_err(|error| self.at("create", entry, error))?;
        if let Err(error) = self.contents(entry, stored, &file) {
            if let Ok(directory) = self.tree.directory(&entry.parent) {
                let _ = unlinkat(directory, &entry.name[..], AtFlags::empty());
            }
            return Err(error);
        }
        self.last = Some((*stored, entry.clone()));
        self.dress(entry, &file, attributes)?;
        Ok(stored.data_length)
    }

    fn contents(&mut self, entry: &Entry, stored: &Stored, file: &OwnedFd) -> Step<()> {
        let shown = self.path(&entry.path());
        let failed = |error: Errno| Error::io("write", &shown, error.into());
        let size = stored.data_length;
        let is_sparse =
            entry.facts.allocated_bytes.is_some_and(|allocated| allocated < size) && size > ZERO.len() as u64;
        let (mut hash, mut at) = (Sha256::new(), 0);
        self.shards.pieces(stored, |bytes| {
            hash.update(bytes);
            let whole = bytes.len();
            for part in bytes.chunks(if is_sparse { ZERO.len() } else { whole }) {
                if !(is_sparse && *part == ZERO[..part.len()]) {
                    write_all(file, part, at).map_err(failed)?;
                }
                at += part.len() as u64;
            }
            Ok(())
        })?;
        if is_sparse {
            ftruncate(file, size).map_err(failed)?;
        }
        match entry.facts.hash == Some(ContentHash::Sha256(hash.finalize().into())) {
            true => Ok(()),
            false => Err(self.refused(entry, "its contents in the shard are damaged: it was not written")),
        }
    }

    /// Owner, attributes, mode and times, in this order: a change of the owner takes away what comes after. What cannot be set does not keep the others
    /// from being set; the first failure is returned.
    fn dress(&self, entry: &Entry, file: impl AsFd, attributes: &Attributes) -> Step<()> {
        let (facts, file) = (&entry.facts, file.as_fd());
        let mut done = Ok(());
        let mut note = |operation, result: rustix::io::Result<()>| {
            if let (Ok(()), Err(error)) = (&done, result) {
                done = Err(self.at(operation, entry, error));
            }
            result.is_ok()
        };
        let mut is_owned = self.is_root;
        if let (true, Some(user), Some(group)) = (self.is_root, facts.user, facts.group) {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            is_owned = note("set the owner of", fchown(file, Some(user), Some(group)));
        }
        let is_of_users = |name: &[u8]| !name.starts_with(b"trusted.") && !name.starts_with(b"security.");
        for (name, value) in attributes.iter().filter(|(name, _)| self.is_root || is_of_users(name)) {
            let set = fsetxattr(file, &name[..], value, XattrFlags::empty());
            note("set an extended attribute of", set);
        }
        for name in [ACL, DEFAULT_ACL].iter().filter(|_| self.inherits_acls) {
            if !attributes.iter().any(|(there, _)| there == name.as_bytes()) {
                let removed = fremovexattr(file, *name);
                let is_without = matches!(removed, Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::ACCESS));
                note("remove an inherited ACL of", if is_without { Ok(()) } else { removed });
            }
        }
        if let Some(mode) = facts.mode {
            // They would lend the rights of another user than the one who had the file.
            let kept = if is_owned { 0o7777 } else { 0o1777 };
            note("set the mode of", fchmod(file, Mode::from_raw_mode(u32::from(mode) & kept)));
        }
        note("set the times of", futimens(file, &times(facts)));
        done
    }

    /// The attributes of a directory, if it was made.
    fn complete(&mut self, entry: &Entry) {
        let done = self.completed(entry);
        match done {
            Ok(true) => self.done(0),
            Ok(false) => {}
            Err(error) => self.fail(&error),
        }
    }

    fn completed(&mut self, entry: &Entry) -> Step<bool> {
        let path = entry.path();
        match self.tree.directory(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        let attributes = match entry.stored {
            Some(stored) => self.shards.member_of(entry, &stored)?.0.attributes,
            None => Attributes::new(),
        };
        let directory = self.tree.directory(&path)?.again()?;
        self.dress(entry, &directory, &attributes)?;
        Ok(true)
    }
}

fn write_all(file: &OwnedFd, mut bytes: &[u8], mut at: u64) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::pwrite(file, bytes, at))?;
        bytes = &bytes[written..];
        at += written as u64;
    }
    Ok(())
}

/// The access time stays that of the extraction.
fn times(facts: &Facts) -> Timestamps {
    let omitted = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let modified = facts.modified_ns.map_or(omitted, |ns| {
        let time = time_of(ns);
        Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() }
    });
    Timestamps { last_access: omitted, last_modification: modified }
}

/// The rows that meet conditions, as `megadir list` selects them.
struct Selection<'c> {
    conditions: Option<&'c Conditions>,
    parent: Option<Vec<u8>>,
    place: megadir::Place,
    is_hidden: bool,
}

impl<'c> Selection<'c> {
    fn new(conditions: Option<&'c Conditions>) -> Self {
        Self { conditions, parent: None, place: megadir::Place::TOP, is_hidden: false }
    }

    fn has(&mut self, row: &megadir_inventory::Row<'_>) -> bool {
        let Some(conditions) = self.conditions else { return true };
        if row.key.is_root() {
            return false;
        }
        if self.parent.as_deref() != Some(row.key.parent) {
            self.parent = Some(row.key.parent.to_vec());
            self.place = conditions.place(&TreePath::from(row.key.parent));
            let mut place = megadir::Place::TOP;
            let mut names = row.key.parent.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
            self.is_hidden = names.any(|name| {
                let is_hidden = !conditions.sees(&place, name);
                place = conditions.place_below(&place, name);
                is_hidden
            });
        }
        let kind: FileType = row.facts.kind;
        !self.is_hidden && conditions.accepts(&self.place, row.key.name, kind, &row.facts.attributes())
    }
}
