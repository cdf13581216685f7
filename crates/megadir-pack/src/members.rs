//! All files of a pack, found in memory: a read is one system call.
//!
//! ```text
//! path -> keyed hash -> records with that hash -> preadv: | headers | contents |
//!                                                           path?     SHA-256?
//! ```
//!
//! Paths are not kept, so a file takes about 72 bytes of memory, whatever the length of its path. The path in the headers decides between paths with
//! the same hash. Index and shards may be hostile: every place is checked against the length of its shard before memory is taken for it.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use megadir::{Error, ErrorKind, FileType, Result};
use megadir_inventory::{ContentHash, PackIndex, Stored};
use rustix::io::{preadv, retry_on_intr};
use sha2::{Digest, Sha256};

use crate::layout::{BLOCK_BYTES, index_path, shard_name};
use crate::member::{Member, MemberKind};
use crate::read::{Fault, Pack, open_shard, unread};

/// Shards that are open at once; a process may have few descriptors.
const OPEN_MAX: usize = 128;
/// Records of a range of hashes, on average.
const RANGE_RECORDS: usize = 4;
/// Headers of a member that needs no more room than this are read without taking memory for them.
const HEADERS_BYTES: usize = 4096;
/// Longer than any headers of a member: its records have a limit of their own.
const HEADERS_BYTES_MAX: u64 = 17 << 20;

/// All files of a pack, found by their path in memory, and read by one call each. Threads may share it.
///
/// Each name of a file with several is a file here; a read of one of the further names takes a few more calls, because its
/// headers are not beside the contents.
pub struct Members {
    index: PathBuf,
    directory: PathBuf,
    /// Lengths of the shards, bytes.
    lengths: Vec<u64>,
    keys: RandomState,
    /// Bits of hashes that are used: all but in tests, where paths have to share hashes.
    mask: u64,
    is_hashed: bool,
    /// Ascending by hash.
    records: Vec<Record>,
    /// First record of each range of hashes, and the number of records: a search among all of a million records would wait a dozen times
    /// for memory that is in no cache.
    starts: Vec<usize>,
    /// Each has a shard whose number has this remainder.
    open: Vec<Slot>,
}

/// An open shard with its number. No thread waits for it: a process that was forked while another thread held it would wait for ever.
type Slot = RwLock<Option<(u32, Arc<File>)>>;

/// Place of a file, as [`Stored`], in bytes of its shard, with the hash of its contents. There is one for each name of each file
/// of the pack, so that it has no pointers and its order of fields leaves no gaps. `hash` is that of the path, with a key of this
/// process, so that the author of a pack cannot make paths with equal hashes.
#[derive(Clone, Copy)]
struct Record {
    hash: u64,
    header_offset: u64,
    data_offset: u64,
    data_length: u64,
    shard: u32,
    sha256: [u8; 32],
}

/// Memory that a file takes, bytes, as the pages have it.
const _: () = assert!(size_of::<Record>() == 72);

/// Number of the range of a hash, by its leading bits.
fn range_of(hash: u64, bits: u32) -> usize {
    hash.checked_shr(u64::BITS - bits).unwrap_or(0) as usize
}

/// Where the contents of a file are, for callers that read parts of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberPlace {
    /// Path of the shard.
    pub shard: PathBuf,
    /// Offset of the contents in it, bytes.
    pub offset: u64,
    /// Length of the contents, bytes.
    pub length: u64,
}

impl Members {
    /// Opens a pack by its index or its directory, and reads the whole index. Errors: as [`Pack::open`], or the index is damaged.
    pub fn open(path: &Path) -> Result<Self> {
        Self::with_hashes(path, u64::MAX)
    }

    /// Contents are no longer compared with their SHA-256, which takes most of the time of a read from memory; headers and places still are. For a
    /// pack that was verified: the place of the contents of a further name of a file is then that of the index, unchecked.
    #[must_use]
    pub fn without_hashing(self) -> Self {
        Self { is_hashed: false, ..self }
    }

    fn with_hashes(path: &Path, mask: u64) -> Result<Self> {
        let Pack { shards, index: rows } = Pack::open(path)?;
        let mut members = Self {
            directory: shards.directory,
            lengths: shards.lengths,
            keys: RandomState::new(),
            mask,
            is_hashed: true,
            records: Vec::new(),
            starts: Vec::new(),
            open: (0..OPEN_MAX).map(|_| RwLock::new(None)).collect(),
            index: index_path(path),
        };
        members.read_index(rows)?;
        Ok(members)
    }

    fn read_index(&mut self, mut rows: PackIndex) -> Result<()> {
        let mut path = Vec::new();
        while let Some((row, stored)) = rows.next_row()? {
            let Some(stored) = stored.filter(|_| row.facts.kind == FileType::File) else { continue };
            row.key.path_into(&mut path);
            let Some(ContentHash::Sha256(sha256)) = row.facts.hash else {
                let reason = format!("it has no SHA-256 of '{}'", String::from_utf8_lossy(&path));
                return Err(Error::new("read", &self.index, ErrorKind::Malformed, reason));
            };
            let Stored { shard, header_offset, data_offset, data_length, .. } = stored;
            let hash = self.hash(&path);
            self.records.push(Record { hash, header_offset, data_offset, data_length, shard, sha256 });
        }
        self.records.shrink_to_fit();
        // With equal hashes in the order of the shards, so that the same search always takes the same reads.
        self.records.sort_unstable_by_key(|record| (record.hash, record.shard, record.header_offset));
        self.find_starts();
        Ok(())
    }

    /// Hashes are evenly distributed, so each of as many ranges of equal width has a few records.
    fn find_starts(&mut self) {
        let ranges = (self.records.len() / RANGE_RECORDS).next_power_of_two();
        self.starts = Vec::with_capacity(ranges + 1);
        let bits = ranges.trailing_zeros();
        for (at, record) in self.records.iter().enumerate() {
            let range = range_of(record.hash, bits);
            self.starts.resize(self.starts.len().max(range + 1), at);
        }
        self.starts.resize(ranges + 1, self.records.len());
    }

    /// Number of files; each name of a file with several counts.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// `true` if the pack holds no files.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Path of the index.
    pub fn index(&self) -> &Path {
        &self.index
    }

    /// `true` if the pack holds a file with this path below the packed tree. Reads its headers, if there may be one.
    /// Errors: as [`Members::read`].
    pub fn contains(&self, path: &[u8]) -> Result<bool> {
        self.find(path, |_| Ok(())).map(|found| found.is_some())
    }

    /// Where the contents of a file are; `None` if the pack has no such file. Errors: as [`Members::read`]; the contents are not read.
    pub fn place(&self, path: &[u8]) -> Result<Option<MemberPlace>> {
        self.find(path, |record| {
            self.end(record, path)?;
            Ok(MemberPlace {
                shard: self.shard_path(record.shard),
                offset: record.data_offset,
                length: record.data_length,
            })
        })
    }

    /// Replaces `contents` by those of the file; `false` if the pack has no such file. Then, and after an error, `contents` is empty.
    ///
    /// Errors: the shard cannot be read, the place, the headers or the contents are damaged ([`ErrorKind::Malformed`]), or there is not enough memory
    /// for them ([`ErrorKind::Unavailable`]; [`Members::place`] is for parts of large files).
    pub fn read(&self, path: &[u8], contents: &mut Vec<u8>) -> Result<bool> {
        let found = self.search(path, contents);
        if !matches!(found, Ok(true)) {
            contents.clear();
        }
        found
    }

    fn search(&self, path: &[u8], contents: &mut Vec<u8>) -> Result<bool> {
        for record in self.records_of(path) {
            let file = self.file(record.shard)?;
            let member = self.member_with_contents(&file, record, path, contents)?;
            if self.is_path(record, &member, path)? {
                self.check_contents(record, path, contents)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Positions of all files for [`Members::read_at`], in the order in which they lie in the shards.
    pub fn in_order_of_shards(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.records.len()).collect();
        order.sort_unstable_by_key(|at| (self.records[*at].shard, self.records[*at].header_offset));
        order
    }

    /// Replaces `path` and `contents` by those of the file at a position, one of [`Members::in_order_of_shards`]; `false` beyond the last. Errors: as
    /// [`Members::read`].
    pub fn read_at(&self, position: usize, path: &mut Vec<u8>, contents: &mut Vec<u8>) -> Result<bool> {
        let Some(record) = self.records.get(position) else {
            contents.clear();
            return Ok(false);
        };
        match self.whole(record, contents) {
            Ok(member) => {
                *path = member.path;
                Ok(true)
            }
            Err(error) => {
                contents.clear();
                Err(error)
            }
        }
    }

    fn whole(&self, record: &Record, contents: &mut Vec<u8>) -> Result<Member> {
        let file = self.file(record.shard)?;
        let member = self.member_with_contents(&file, record, b"?", contents)?;
        self.check_hash(record, &member)?;
        self.check_contents(record, &member.path, contents)?;
        Ok(member)
    }

    /// Paths of all files, in the order of the index, which is read again. Errors: as [`Members::open`].
    pub fn paths(&self) -> Result<MemberPaths> {
        Ok(MemberPaths { rows: PackIndex::open(&self.index)?, path: Vec::new() })
    }

    fn hash(&self, path: &[u8]) -> u64 {
        self.keys.hash_one(path) & self.mask
    }

    fn records_of(&self, path: &[u8]) -> impl Iterator<Item = &Record> {
        let hash = self.hash(path);
        let range = range_of(hash, (self.starts.len() - 1).trailing_zeros());
        let (start, end) = (self.starts[range], self.starts[range + 1]);
        let first = start + self.records[start..end].partition_point(|record| record.hash < hash);
        self.records[first..].iter().take_while(move |record| record.hash == hash)
    }

    /// Applies `found` to the record of the file, if there is one.
    fn find<T>(&self, path: &[u8], found: impl Fn(&Record) -> Result<T>) -> Result<Option<T>> {
        for record in self.records_of(path) {
            let file = self.file(record.shard)?;
            let member = self.member(&file, record, path)?;
            if self.is_path(record, &member, path)? {
                return found(record).map(Some);
            }
        }
        Ok(None)
    }

    /// `false` if the paths differ although their hashes are equal. A path with another hash is damage: the index has another member there.
    fn is_path(&self, record: &Record, member: &Member, path: &[u8]) -> Result<bool> {
        match member.path == path {
            true => Ok(true),
            false => self.check_hash(record, member).map(|()| false),
        }
    }

    fn check_hash(&self, record: &Record, member: &Member) -> Result<()> {
        match self.hash(&member.path) == record.hash {
            true => Ok(()),
            false => {
                let reason =
                    format!("there is another member than the index has (at byte {})", record.header_offset);
                Err(self.malformed(record, &reason))
            }
        }
    }

    fn check_contents(&self, record: &Record, path: &[u8], contents: &[u8]) -> Result<()> {
        match !self.is_hashed || Sha256::digest(contents)[..] == record.sha256 {
            true => Ok(()),
            false => Err(self.malformed(
                record,
                &format!("the contents of '{}' are damaged", String::from_utf8_lossy(path)),
            )),
        }
    }

    /// Reads the headers of a member and its contents, which are not compared with the hash yet.
    ///
    /// A file has both beside each other, so that one call reads them. A further name of a file has its headers
    /// behind the contents that it shares, and behind those of other names, so these are read on their own.
    fn member_with_contents(
        &self,
        file: &File,
        record: &Record,
        path: &[u8],
        contents: &mut Vec<u8>,
    ) -> Result<Member> {
        self.end(record, path)?;
        self.make_room(record, path, contents)?;
        if record.is_link() {
            let read = file.read_exact_at(contents, record.data_offset);
            read.map_err(|error| self.unread(record, error))?;
            return self.member(file, record, path);
        }
        let length = self.headers_length(record)?;
        let (mut few, mut many) = ([0; HEADERS_BYTES], Vec::new());
        let headers = match few.get_mut(..length) {
            Some(headers) => headers,
            None => {
                many.resize(length, 0);
                &mut many[..]
            }
        };
        let read = read_both(file, record.header_offset, headers, contents);
        read.map_err(|error| self.unread(record, error))?;
        self.file_member(record, headers)
    }

    /// Reads the headers of a member.
    fn member(&self, file: &File, record: &Record, path: &[u8]) -> Result<Member> {
        self.end(record, path)?;
        if !record.is_link() {
            let mut headers = vec![0; self.headers_length(record)?];
            let read = file.read_exact_at(&mut headers, record.header_offset);
            read.map_err(|error| self.unread(record, error))?;
            return self.file_member(record, &headers);
        }
        let whole = self.lengths[record.shard as usize];
        let read = Member::read(|at, length| {
            let start = record.header_offset.saturating_add(at);
            if start.checked_add(length as u64).is_none_or(|end| end > whole) {
                return Err(Fault::Damaged("the headers end beyond the shard".to_owned()));
            }
            let mut bytes = vec![0; length];
            let read = file.read_exact_at(&mut bytes, start);
            read.map_err(|error| Fault::Unreadable(self.unread(record, error))).map(|()| bytes)
        });
        match read {
            Ok((member, _)) if matches!(member.kind, MemberKind::HardLink(_)) => Ok(member),
            Ok(_) => Err(self.malformed_at(record, "the index has a link where none is")),
            Err(Fault::Unreadable(error)) => Err(error),
            Err(Fault::Damaged(reason)) => Err(self.malformed_at(record, &reason)),
        }
    }

    /// From the bytes between the beginning of the member and its contents.
    fn file_member(&self, record: &Record, headers: &[u8]) -> Result<Member> {
        let parsed = Member::read(|at, length| {
            let start = usize::try_from(at).unwrap_or(usize::MAX);
            let end = start.checked_add(length);
            let bytes = end.and_then(|end| headers.get(start..end)).map(<[u8]>::to_vec);
            bytes.ok_or_else(|| "the place of the contents does not fit the headers".to_owned())
        });
        let (member, length) = parsed.map_err(|reason| self.malformed_at(record, &reason))?;
        let is_file = member.kind == MemberKind::File && member.size_bytes == record.data_length;
        match is_file && length == headers.len() as u64 {
            true => Ok(member),
            false => Err(self.malformed_at(record, "the place of the contents does not fit the headers")),
        }
    }

    /// Length of the headers of a file by the index, once it is known to be one that a member may have.
    fn headers_length(&self, record: &Record) -> Result<usize> {
        let length = record.data_offset - record.header_offset;
        match (BLOCK_BYTES..=HEADERS_BYTES_MAX).contains(&length) {
            true => Ok(length as usize),
            false => Err(self.malformed_at(record, "the place of the contents does not fit the headers")),
        }
    }

    /// End of the contents, which must lie in the shard as the beginning of the headers must.
    fn end(&self, record: &Record, path: &[u8]) -> Result<u64> {
        let whole = self.lengths.get(record.shard as usize).copied().unwrap_or(0);
        let end = record.data_offset.checked_add(record.data_length).filter(|end| *end <= whole);
        end.filter(|_| record.header_offset < whole).ok_or_else(|| {
            let name = String::from_utf8_lossy(path).into_owned();
            self.malformed(record, &format!("the index has a place beyond the end of the shard ('{name}')"))
        })
    }

    /// Gives `contents` the length of the contents by the index, which lie in the shard.
    fn make_room(&self, record: &Record, path: &[u8], contents: &mut Vec<u8>) -> Result<()> {
        let length = usize::try_from(record.data_length).unwrap_or(usize::MAX);
        let more = length.saturating_sub(contents.len());
        if contents.try_reserve_exact(more).is_err() {
            let reason = format!(
                "the {length} bytes of '{}' do not fit into memory: read parts of it",
                String::from_utf8_lossy(path)
            );
            let shard = self.shard_path(record.shard);
            return Err(Error::new("read", &shard, ErrorKind::Unavailable, reason));
        }
        contents.resize(length, 0);
        Ok(())
    }

    /// The file of a shard, opened if it is not, after it was found to have its length.
    fn file(&self, shard: u32) -> Result<Arc<File>> {
        let Some(&length) = self.lengths.get(shard as usize) else {
            let reason = "the index has a place in a shard that the pack does not have";
            return Err(Error::new("read", &self.shard_path(shard), ErrorKind::Malformed, reason));
        };
        let slot = &self.open[shard as usize % OPEN_MAX];
        if let Ok(held) = slot.try_read()
            && let Some((number, file)) = &*held
            && *number == shard
        {
            return Ok(Arc::clone(file));
        }
        let path = self.shard_path(shard);
        let file = match open_shard(&path, length) {
            Err(error) if error.kind() == ErrorKind::TooManyOpenFiles => {
                self.open.iter().for_each(|slot| put(slot, None));
                open_shard(&path, length)?
            }
            opened => opened?,
        };
        let file = Arc::new(file);
        put(slot, Some((shard, Arc::clone(&file))));
        Ok(file)
    }

    fn shard_path(&self, shard: u32) -> PathBuf {
        self.directory.join(shard_name(shard))
    }

    fn malformed(&self, record: &Record, reason: &str) -> Error {
        Error::new("read", &self.shard_path(record.shard), ErrorKind::Malformed, reason)
    }

    fn malformed_at(&self, record: &Record, reason: &str) -> Error {
        self.malformed(record, &format!("{reason} (at byte {})", record.header_offset))
    }

    fn unread(&self, record: &Record, error: io::Error) -> Error {
        unread(&self.shard_path(record.shard), error)
    }
}

/// Paths of the files of a pack, of [`Members::paths`].
#[derive(Debug)]
pub struct MemberPaths {
    rows: PackIndex,
    path: Vec<u8>,
}

impl MemberPaths {
    /// Returns the next path below the packed tree; `None` after the last. Errors: the index is damaged; it must not be read after one.
    pub fn next_path(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let Some((row, stored)) = self.rows.next_row()? else { return Ok(None) };
            if row.facts.kind == FileType::File && stored.is_some() {
                row.key.path_into(&mut self.path);
                return Ok(Some(&self.path));
            }
        }
    }
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Members").field("files", &self.len()).finish_non_exhaustive()
    }
}

impl Record {
    /// Headers of a further name of a file lie behind the contents that it shares, those of the file before them.
    fn is_link(&self) -> bool {
        self.header_offset >= self.data_offset
    }
}

/// Nothing changes if another thread uses it just now: the shard is opened again for the next read.
fn put(slot: &Slot, shard: Option<(u32, Arc<File>)>) {
    if let Ok(mut held) = slot.try_write() {
        *held = shard;
    }
}

/// Fills both from the bytes at an offset that follow each other; by one call, unless the kernel returns less than it was asked for.
fn read_both(file: &File, start: u64, headers: &mut [u8], contents: &mut [u8]) -> io::Result<()> {
    let both = &mut [IoSliceMut::new(headers), IoSliceMut::new(contents)];
    let read = retry_on_intr(|| preadv(file, both, start))?;
    let (in_headers, in_contents) = (read.min(headers.len()), read.saturating_sub(headers.len()));
    file.read_exact_at(&mut headers[in_headers..], start + in_headers as u64)?;
    file.read_exact_at(&mut contents[in_contents..], start + (headers.len() + in_contents) as u64)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::ops::ControlFlow;

    use tempfile::TempDir;

    use super::Members;
    use crate::{PackOptions, pack};

    #[test]
    fn paths_that_share_a_hash_have_their_own_contents() {
        let directory = TempDir::new().unwrap();
        let (source, packed) = (directory.path().join("source"), directory.path().join("pack"));
        fs::create_dir(&source).unwrap();
        for number in 0..40 {
            fs::write(source.join(format!("file-{number}")), format!("contents {number}")).unwrap();
            fs::hard_link(source.join(format!("file-{number}")), source.join(format!("link-{number}")))
                .unwrap();
        }
        let options = PackOptions { shard_bytes: 32 << 10, threads: 1 };
        pack(&source, &packed, &options, &mut |_| ControlFlow::Continue(())).unwrap().unwrap();
        for mask in [0, 3, u64::MAX] {
            let members = Members::with_hashes(&packed, mask).unwrap();
            assert_eq!(members.len(), 80);
            let mut contents = b"of before".to_vec();
            for number in 0..40 {
                for name in ["file", "link"] {
                    let path = format!("{name}-{number}");
                    assert!(members.read(path.as_bytes(), &mut contents).unwrap(), "{path}");
                    assert_eq!(contents, format!("contents {number}").as_bytes(), "{path}");
                    let place = members.place(path.as_bytes()).unwrap().unwrap();
                    let start = place.offset as usize;
                    let shard = fs::read(place.shard).unwrap();
                    assert_eq!(shard[start..start + place.length as usize], contents, "{path}");
                }
                let absent = format!("absent-{number}");
                assert!(!members.contains(absent.as_bytes()).unwrap());
                assert!(members.place(absent.as_bytes()).unwrap().is_none());
                assert!(!members.read(absent.as_bytes(), &mut contents).unwrap() && contents.is_empty());
            }
        }
    }
}
