//! Reads entries of the tree, one group after the other: the names of a file, which follow each other in the order of inodes.
//!
//! A file is examined before and after it is read. If it changed meanwhile, it is read again, [`TRIES`] times in all, and otherwise left out of
//! the pack. A file that changed within the last ticks of the clock could change again without a new time, so reading waits until that is over.
//! The tree is not changed: not even its access times, where the system allows that.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use megadir::{Dir, Error, ErrorKind, FileType, Result, Time, names};
use megadir_inventory::{ContentHash, Facts, Root, nanoseconds};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, openat, statx};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::below::Below;
use crate::entry::{Entry, is_unchanged};
use crate::member::{Attributes, Member, MemberKind, attributes_hash, pad};

/// Larger files are read in pieces, straight into the shard.
pub(crate) const SMALL_BYTES_MAX: u64 = 1 << 20;
/// Names of one file that have become files of their own are in one group, which bounds nothing else.
const CHUNK_BYTES_MAX: usize = 4 << 20;
pub(crate) const TRIES: u32 = 3;
/// Longer than the tick of any kernel (10 ms at most); file systems with whole seconds have more.
const SETTLED: Duration = Duration::from_millis(25);
/// Files that take this long each wait for the device: those that follow are read ahead.
const WAITS: Duration = Duration::from_micros(50);
/// Reading ahead ends with a chunk that takes less than this for each file: its files were cached.
const CACHED: Duration = Duration::from_micros(25);
/// Number of files that are read before that is known.
const PROBED: usize = 8;
const AHEAD_BYTES: u64 = 128 << 10;
const XATTRS_BYTES_MAX: usize = 16 << 20;

/// Members of several groups, as they lie in a shard.
#[derive(Default)]
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    pub(crate) groups: Vec<Group>,
    /// No other chunk of its batch follows.
    pub(crate) is_last: bool,
}

/// Names of one file.
#[derive(Default)]
pub(crate) struct Group {
    /// End of its members in the chunk.
    pub(crate) end: usize,
    pub(crate) entries: Vec<Read>,
    /// Names of a file that is too large for a chunk, or that did not fit into this one. There are no others then.
    pub(crate) large: Vec<Entry>,
}

/// An entry that was read, or why it was not.
pub(crate) struct Read {
    pub(crate) entry: Entry,
    pub(crate) place: std::result::Result<Place, Error>,
}

/// Place of a member in its chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) header: usize,
    pub(crate) data: usize,
    pub(crate) data_length: u64,
    pub(crate) attributes_hash: u64,
}

/// Reasons for which a file was not read.
pub(crate) enum Unread {
    Changed,
    Large,
    Failed(Error),
}

impl From<Error> for Unread {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A file that was opened and examined.
pub(crate) struct Opened {
    pub(crate) file: OwnedFd,
    pub(crate) facts: Facts,
    pub(crate) attributes: Attributes,
}

/// Name that the others of a group are links to.
pub(crate) struct First {
    pub(crate) path: Vec<u8>,
    pub(crate) facts: Facts,
    pub(crate) place: Place,
    /// Every member of the file has them: one may be extracted without the others.
    pub(crate) attributes: Attributes,
}

/// The tree that is packed; each thread has its own.
pub(crate) struct Source {
    below: Below,
    /// After this time, another change gives other times.
    settled: Duration,
    /// Number of the mount, where the kernel has it.
    mount: Option<u64>,
    /// Reads wait for the device.
    waits: bool,
}

impl Source {
    pub(crate) fn new(top: &Dir) -> Result<Self> {
        let (root, _) = Root::of(top.path(), top)?;
        let granule = root.granule_ns.map_or(Duration::ZERO, Duration::from_nanos);
        let mount = status(top, b"", AtFlags::EMPTY_PATH).ok().and_then(|(_, mount)| mount);
        Ok(Self { below: Below::new(top.again()?), settled: SETTLED.max(granule), mount, waits: false })
    }

    /// `true` if reads wait for the device: those of the last chunk did, or the first [`PROBED`] groups of this one.
    pub(crate) fn waits(&mut self, begun: &Instant, groups: usize) -> bool {
        if groups == PROBED {
            self.waits = begun.elapsed() > WAITS * PROBED as u32;
        }
        self.waits
    }

    /// Has the device read files all at once. One file after the other, by two threads, a rotating disk turns half a revolution for each,
    /// even in the order in which they lie on it. Only a hint: errors are met when a file is read.
    pub(crate) fn read_ahead(&mut self, groups: &[Vec<Entry>]) {
        let names = groups.iter().filter_map(|group| group.first());
        for entry in names.filter(|entry| entry.facts.kind == FileType::File) {
            let Ok(directory) = self.below.directory(&entry.parent) else { continue };
            let Ok(file) = open_file(directory, &entry.name) else { continue };
            let length = std::num::NonZeroU64::new(AHEAD_BYTES);
            let _ = rustix::fs::fadvise(&file, 0, length, rustix::fs::Advice::WillNeed);
        }
    }

    /// Notes how long the groups of a chunk took, including their reading ahead.
    pub(crate) fn chunk_took(&mut self, elapsed: Duration, groups: usize) {
        let least = if self.waits { CACHED } else { WAITS };
        self.waits = elapsed > least * groups as u32;
    }

    /// Appends the members of a group to the chunk. Returns `false` if files of it are still to be read, in pieces.
    pub(crate) fn group(&mut self, entries: Vec<Entry>, chunk: &mut Chunk) -> bool {
        let before = chunk.groups.len();
        let mut group = Group::default();
        let is_large = |entry: &Entry| {
            entry.facts.kind == FileType::File
                && entry.facts.size_bytes.is_some_and(|size| size > SMALL_BYTES_MAX)
        };
        if entries.first().is_some_and(is_large) {
            group.large = entries;
        } else {
            let mut first = None;
            let mut entries = entries.into_iter();
            while let Some(entry) = entries.next() {
                if let Some(entry) = self.add(entry, &mut first, &mut group, &mut chunk.bytes) {
                    let mut large = vec![entry];
                    if first.take().is_none() {
                        // The other names may be links to it.
                        large.extend(entries.by_ref());
                    }
                    let end = chunk.bytes.len();
                    chunk.groups.push(Group { end, ..std::mem::take(&mut group) });
                    chunk.groups.push(Group { end, large, ..Group::default() });
                }
            }
        }
        group.end = chunk.bytes.len();
        chunk.groups.push(group);
        chunk.groups[before..].iter().all(|group| group.large.is_empty())
    }

    /// Returns the entry if it is too large for a chunk.
    ///
    /// The members of a chunk lie one after the other in `bytes`, so whatever a failed entry has appended is
    /// cut off again before the next one: a shard has no gaps. Only regular files are linked to each other; a
    /// symbolic link with several names becomes several members. Special files (devices, sockets, pipes) are
    /// failures with a row in the index.
    fn add(
        &mut self,
        mut entry: Entry,
        first: &mut Option<First>,
        group: &mut Group,
        bytes: &mut Vec<u8>,
    ) -> Option<Entry> {
        let start = bytes.len();
        let place = match entry.facts.kind {
            FileType::File => match self.link(&mut entry, first.as_ref(), bytes) {
                Some(place) => Ok(place),
                None => match self.file(&mut entry, bytes) {
                    Err(Unread::Large) => return Some(entry),
                    Err(Unread::Failed(error)) => Err(error),
                    Err(Unread::Changed) => Err(self.changing(&entry)),
                    Ok((place, attributes)) => {
                        *first = Some(First { path: entry.path(), facts: entry.facts, place, attributes });
                        Ok(place)
                    }
                },
            },
            FileType::Symlink => self.symlink(&mut entry, bytes),
            FileType::Directory => self.directory(&mut entry, bytes),
            kind => Err(self.failed(
                &entry,
                &format!("only files, links and directories are packed (type {})", kind.name()),
            )),
        };
        if place.is_err() {
            bytes.truncate(start);
            entry.facts.hash = None;
        }
        group.entries.push(Read { entry, place });
        None
    }

    /// As a hard link to the first name, if it still is one.
    pub(crate) fn link(
        &mut self,
        entry: &mut Entry,
        first: Option<&First>,
        bytes: &mut Vec<u8>,
    ) -> Option<Place> {
        let first = first?;
        let directory = self.below.directory(&entry.parent).ok()?;
        let (facts, mount) = status(directory, &entry.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_same_file = is_unchanged(&facts, &first.facts) && facts.device == first.facts.device;
        if !is_same_file || mount != self.mount {
            return None;
        }
        let header = bytes.len();
        let kind = MemberKind::HardLink(first.path.clone());
        let member = Member { kind, path: entry.path(), size_bytes: 0, attributes: first.attributes.clone() };
        member.write(&first.facts, bytes);
        entry.facts = first.facts;
        Some(Place { header, ..first.place })
    }

    fn file(
        &mut self,
        entry: &mut Entry,
        bytes: &mut Vec<u8>,
    ) -> std::result::Result<(Place, Attributes), Unread> {
        let start = bytes.len();
        for _ in 0..TRIES {
            bytes.truncate(start);
            match self.file_once(entry, bytes) {
                Err(Unread::Changed) => {}
                done => return done,
            }
        }
        Err(Unread::Changed)
    }

    /// The size of the first examination decides how many bytes are read, since the header with the size is
    /// written before the contents. A file that ends earlier has changed, and so has one whose second
    /// examination differs; one that grew in between is found by its size and its times.
    fn file_once(
        &mut self,
        entry: &mut Entry,
        bytes: &mut Vec<u8>,
    ) -> std::result::Result<(Place, Attributes), Unread> {
        let Opened { file, facts, attributes } = self.open(entry)?;
        let size = facts.size_bytes.unwrap_or(0);
        if size > SMALL_BYTES_MAX || bytes.len() > CHUNK_BYTES_MAX {
            return Err(Unread::Large);
        }
        let header = bytes.len();
        let member = Member { kind: MemberKind::File, path: entry.path(), size_bytes: size, attributes };
        member.write(&facts, bytes);
        let data = bytes.len();
        bytes.resize(data + size as usize, 0);
        let mut rest = &mut bytes[data..];
        while !rest.is_empty() {
            let read = rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut *rest));
            match read.map_err(|error| self.at("read", entry, error))? {
                0 => return Err(Unread::Changed),
                read => rest = &mut rest[read..],
            }
        }
        let hash = Sha256::digest(&bytes[data..]);
        if !self.is_same(entry, &file, &facts)? {
            return Err(Unread::Changed);
        }
        pad(bytes, size as usize);
        entry.facts = Facts { hash: Some(ContentHash::Sha256(hash.into())), ..facts };
        let attributes_hash = attributes_hash(&member.attributes);
        Ok((Place { header, data, data_length: size, attributes_hash }, member.attributes))
    }

    /// Opens and examines a regular file, once it is settled.
    ///
    /// No entry can make this call wait or leave the tree: `NONBLOCK` opens a pipe without a writer,
    /// `NOFOLLOW` refuses a link that has replaced the file since the scan, and the number of the mount is
    /// compared because a file may be mounted over another. The type is examined after opening, by
    /// descriptor, so that nothing can be exchanged in between. The attributes are read last: setting one
    /// changes `ctime`, which the examination after reading compares.
    pub(crate) fn open(&mut self, entry: &Entry) -> std::result::Result<Opened, Unread> {
        let directory = self.below.directory(&entry.parent)?;
        let file = open_file(directory, &entry.name).map_err(|error| match error {
            Errno::LOOP => self.failed(entry, "it became a symbolic link while it was packed; pack again"),
            error => self.at("open", entry, error),
        })?;
        let examined = status(&file, b"", AtFlags::EMPTY_PATH);
        let (mut facts, mount) = examined.map_err(|error| self.at("examine", entry, error))?;
        if mount != self.mount {
            return Err(self.failed(entry, "a file is mounted there, and mounts are not entered").into());
        }
        if facts.kind != FileType::File {
            return Err(self.failed(entry, "it is no longer a regular file; pack again").into());
        }
        let mut waits = 0;
        while let Some(rest) = self.unsettled(&facts) {
            if waits == TRIES {
                return Err(self.changing(entry).into());
            }
            waits += 1;
            std::thread::sleep(rest);
            facts = facts_of(&file).map_err(|error| self.at("examine", entry, error))?;
        }
        let attributes =
            attributes_of(&file).map_err(|error| self.at("read the attributes of", entry, error))?;
        Ok(Opened { file, facts, attributes })
    }

    /// `true` if the file is as it was.
    pub(crate) fn is_same(&self, entry: &Entry, file: &OwnedFd, facts: &Facts) -> Result<bool> {
        let now = facts_of(file).map_err(|error| self.at("examine", entry, error))?;
        Ok(is_unchanged(facts, &now))
    }

    /// Time for which another change in the same tick of the clock would leave the times as they are. Times far in the future are of another clock.
    fn unsettled(&self, facts: &Facts) -> Option<Duration> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now_ns = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
        let age = Duration::from_nanos(now_ns.abs_diff(facts.changed_ns?));
        (age < self.settled)
            .then(|| if facts.changed_ns > Some(now_ns) { self.settled } else { self.settled - age })
    }

    fn symlink(&mut self, entry: &mut Entry, bytes: &mut Vec<u8>) -> Result<Place> {
        for _ in 0..TRIES {
            let directory = self.below.directory(&entry.parent)?;
            let facts = examine(directory, &entry.name).map_err(|error| self.at("examine", entry, error))?;
            if facts.kind != FileType::Symlink {
                return Err(self.failed(entry, "it is no longer a symbolic link; pack again"));
            }
            let directory = self.below.directory(&entry.parent)?;
            let target = rustix::fs::readlinkat(directory, &entry.name[..], Vec::new());
            let target = target.map_err(|error| self.at("read", entry, error))?.into_bytes();
            let directory = self.below.directory(&entry.parent)?;
            let after = examine(directory, &entry.name).map_err(|error| self.at("examine", entry, error))?;
            if !is_unchanged(&facts, &after) {
                continue;
            }
            entry.facts = Facts { hash: Some(ContentHash::Sha256(Sha256::digest(&target).into())), ..facts };
            let kind = MemberKind::Symlink(target);
            return Ok(self.bare(kind, Attributes::new(), entry, bytes));
        }
        Err(self.changing(entry))
    }

    fn directory(&mut self, entry: &mut Entry, bytes: &mut Vec<u8>) -> Result<Place> {
        let path = entry.path();
        let directory = self.below.directory(&path)?;
        let found = status(directory, b"", AtFlags::EMPTY_PATH)
            .and_then(|(facts, mount)| Ok((facts, mount, attributes_of(directory)?)));
        match found {
            Ok((mut facts, mount, attributes)) => {
                if mount != self.mount {
                    // A device number says nothing of a later mount, and the index has no id of this one.
                    facts.device = None;
                }
                // What is mounted there was not entered, and is not what the directory will hold.
                entry.facts = facts;
                Ok(self.bare(MemberKind::Directory, attributes, entry, bytes))
            }
            Err(error) => Err(self.at("examine", entry, error)),
        }
    }

    fn bare(&self, kind: MemberKind, attributes: Attributes, entry: &Entry, bytes: &mut Vec<u8>) -> Place {
        let (header, attributes_hash) = (bytes.len(), attributes_hash(&attributes));
        Member { kind, path: entry.path(), size_bytes: 0, attributes }.write(&entry.facts, bytes);
        Place { header, data: bytes.len(), data_length: 0, attributes_hash }
    }

    /// Attributes of an entry as it is now, without following a link.
    pub(crate) fn examine(&mut self, entry: &Entry) -> Result<Facts> {
        if entry.name.is_empty() {
            return facts_of(self.below.top()).map_err(|error| self.at("examine", entry, error));
        }
        let directory = self.below.directory(&entry.parent)?;
        examine(directory, &entry.name).map_err(|error| self.at("examine", entry, error))
    }

    pub(crate) fn changing(&self, entry: &Entry) -> Error {
        self.failed(entry, &format!("it keeps changing ({TRIES} tries); pack again when nothing writes it"))
    }

    pub(crate) fn failed(&self, entry: &Entry, reason: &str) -> Error {
        Error::new("pack", &self.shown(entry), ErrorKind::Unavailable, reason)
    }

    pub(crate) fn at(&self, operation: &'static str, entry: &Entry, error: Errno) -> Error {
        Error::io(operation, &self.shown(entry), error.into())
    }

    pub(crate) fn shown(&self, entry: &Entry) -> PathBuf {
        shown(self.below.top().path(), &entry.path())
    }
}

/// Extended attributes of an open file or directory; none where the file system has none.
pub(crate) fn attributes_of(file: impl AsFd) -> rustix::io::Result<Attributes> {
    let file = file.as_fd();
    let mut names = [0; 1024];
    let names = match rustix::fs::flistxattr(file, &mut names) {
        Ok(0) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Attributes::new()),
        Ok(bytes) => names[..bytes].to_vec(),
        Err(Errno::RANGE) => whole(|room| rustix::fs::flistxattr(file, room))?,
        Err(error) => return Err(error),
    };
    let mut attributes = Attributes::new();
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        match whole(|room| rustix::fs::fgetxattr(file, name, room)) {
            Ok(value) => attributes.push((name.to_vec(), value)),
            // Removed meanwhile, or not for this user.
            Err(Errno::NODATA | Errno::PERM | Errno::ACCESS | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error),
        }
    }
    attributes.sort();
    Ok(attributes)
}

fn whole(mut read: impl FnMut(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    // Most files have no attributes, and few have more than this.
    let mut few = [0; 256];
    match read(&mut few) {
        Ok(length) => return Ok(few[..length].to_vec()),
        Err(Errno::RANGE) => {}
        Err(error) => return Err(error),
    }
    let mut bytes = vec![0; 4096];
    loop {
        match read(&mut bytes) {
            Ok(length) => {
                bytes.truncate(length);
                return Ok(bytes);
            }
            Err(Errno::RANGE) if bytes.len() < XATTRS_BYTES_MAX => {
                let larger = bytes.len() * 4;
                bytes.resize(larger, 0);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Opens a file to read it: no link is followed, a pipe that took its name cannot make the call wait, and the access time stays, where the
/// system allows that.
pub(crate) fn open_file(directory: impl AsFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let directory = directory.as_fd();
    let open = |flags| rustix::io::retry_on_intr(|| openat(directory, name, flags, Mode::empty()));
    match open(flags | OFlags::NOATIME) {
        // Only its owner may leave the access time as it is.
        Err(Errno::PERM) => open(flags),
        opened => opened,
    }
}

fn examine(directory: &Dir, name: &[u8]) -> rustix::io::Result<Facts> {
    status(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|(facts, _)| facts)
}

pub(crate) fn facts_of(file: impl AsFd) -> rustix::io::Result<Facts> {
    status(file, b"", AtFlags::EMPTY_PATH).map(|(facts, _)| facts)
}

/// Facts, and the number of the mount.
fn status(directory: impl AsFd, name: &[u8], flags: AtFlags) -> rustix::io::Result<(Facts, Option<u64>)> {
    let want = StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID;
    let directory = directory.as_fd();
    let status = rustix::io::retry_on_intr(|| statx(directory, name, flags | AtFlags::NO_AUTOMOUNT, want))?;
    let time = |time: rustix::fs::StatxTimestamp| {
        Some(nanoseconds(Time { seconds: time.tv_sec, nanoseconds: time.tv_nsec }))
    };
    let have = StatxFlags::from_bits_retain(status.stx_mask);
    let born = have.contains(StatxFlags::BTIME);
    let mount = have.contains(StatxFlags::MNT_ID).then_some(status.stx_mnt_id);
    let device = rustix::fs::makedev(status.stx_dev_major, status.stx_dev_minor);
    let facts = Facts {
        kind: FileType::from_d_type((status.stx_mode >> 12) as u8),
        size_bytes: Some(status.stx_size),
        modified_ns: time(status.stx_mtime),
        changed_ns: time(status.stx_ctime),
        born_ns: if born { time(status.stx_btime) } else { None },
        inode: Some(status.stx_ino),
        device: Some(device),
        mode: Some(status.stx_mode & 0o7777),
        user: Some(status.stx_uid),
        group: Some(status.stx_gid),
        links: Some(status.stx_nlink.into()),
        allocated_bytes: Some(status.stx_blocks * 512),
        accessed_ns: time(status.stx_atime),
        ..Facts::NOTHING
    };
    Ok((facts, mount))
}

/// Path for messages.
pub(crate) fn shown(top: &Path, path: &[u8]) -> PathBuf {
    names::to_os(path).map_or_else(|_| top.to_owned(), |path| top.join(&*path))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use megadir::Dir;

    use super::{PROBED, Source};

    #[test]
    fn files_are_read_ahead_while_reads_wait_for_the_device() {
        let directory = tempfile::tempdir().unwrap();
        let mut source = Source::new(&Dir::open(directory.path()).unwrap()).unwrap();
        let now = || Instant::now() + Duration::from_secs(60);
        assert!(!source.waits(&now(), 0));
        assert!(!source.waits(&now(), PROBED), "no time has passed");
        source.chunk_took(Duration::from_millis(1), 10);
        assert!(source.waits(&now(), 0), "100 \u{b5}s a file");
        source.chunk_took(Duration::from_micros(300), 10);
        assert!(source.waits(&now(), 0), "30 \u{b5}s a file, read ahead");
        source.chunk_took(Duration::from_micros(200), 10);
        assert!(!source.waits(&now(), 0), "20 \u{b5}s a file: they were cached");
        source.chunk_took(Duration::from_micros(300), 10);
        assert!(!source.waits(&now(), 0), "30 \u{b5}s a file, not read ahead");
    }
}
