//! The directory of a pack before its index is there: a marker with a lock, and what an interrupted run has left.
//!
//! Finished shards are kept from the first on, as long as every member of a shard is unchanged in the tree. The first other shard and all after
//! it are packed again, so that shards keep their order: directories come last. Only files of this user with the names of a pack are removed, and shards only with their
//! journals.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use megadir::{Dir, DirId, Error, ErrorKind, Listing, Result, names, policy};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::entry::is_unchanged;
use crate::journal;
use crate::layout::{INDEX, MARKER, journal_name, number_in, shard_name};
use crate::shard::sync;
use crate::source::Source;

const MARKER_BYTES_MAX: u64 = 1 << 20;
const NOT_EMPTY: &str =
    "it is not empty, and no interrupted pack of this user: name a new or empty directory";

/// Contents of the marker: which tree is packed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    /// Version of the format.
    megadir_pack: u32,
    /// Absolute path, as hex digits of its bytes.
    source_hex: String,
    inode: u64,
}

/// A directory that holds a pack that is not finished, or the beginning of one.
pub(crate) struct Unfinished {
    pub(crate) directory: Dir,
    /// Locked while it is open.
    _marker: File,
    /// `true` if the index is there, and only the rest has to be removed.
    pub(crate) has_index: bool,
}

impl Unfinished {
    /// Creates or opens the directory of a pack and takes its lock. Errors: the directory lies in the tree, has other contents, or belongs to another
    /// process or another tree.
    pub(crate) fn begin(destination: &Path, source: &Dir) -> Result<Self> {
        let directory = open_outside(destination, source)?;
        let wanted = Marker::of(source)?;
        let before = own_names(&directory)?;
        let refused = |reason: &str| Error::new("pack into", destination, ErrorKind::BadOption, reason);
        match (before.has_marker, before.has_index) {
            (true, _) => {}
            (false, true) => {
                return Err(refused("it has a finished pack; name a new directory, or remove that one"));
            }
            (false, false) if before.all.is_empty() => {}
            (false, false) => return Err(refused(NOT_EMPTY)),
        }
        let marker = wanted.take(&directory, before.has_marker)?;
        // Under the lock: another process may have packed and finished since the directory was read.
        let now = own_names(&directory);
        let is_alone = now.as_ref().is_ok_and(|now| now.all.len() == 1);
        if !before.has_marker && !is_alone {
            let _ = unlinkat(&directory, MARKER, AtFlags::empty());
            return Err(refused(
                "another process has written into it meanwhile; name a new or empty directory",
            ));
        }
        Ok(Self { directory, _marker: marker, has_index: now?.has_index })
    }

    /// Opens the journals of the finished shards that can be kept, with the lengths of their shards, and removes everything else.
    pub(crate) fn keep(&self, source: &mut Source) -> Result<Vec<(File, u64)>> {
        let mut kept = Vec::new();
        while let Some(journal) = self.keeps(kept.len() as u32, source)? {
            kept.push(journal);
        }
        self.remove(kept.len() as u32)?;
        Ok(kept)
    }

    fn keeps(&self, number: u32, source: &mut Source) -> Result<Option<(File, u64)>> {
        let (Some(shard), Some(mut journal)) =
            (self.open(&shard_name(number))?, self.open(&journal_name(number))?)
        else {
            return Ok(None);
        };
        let bytes = journal::read(&mut journal, |_, _, entry| {
            Ok(source.examine(&entry).is_ok_and(|now| is_unchanged(&entry.facts, &now)))
        });
        let bytes = bytes.map_err(|error| self.failed(&journal_name(number), error))?;
        let length = shard.metadata().map_err(|error| self.failed(&shard_name(number), error))?.len();
        Ok(bytes.filter(|bytes| *bytes == length).map(|bytes| (journal, bytes)))
    }

    fn open(&self, name: &str) -> Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(File::from(file))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(self.failed(name, error.into())),
        }
    }

    /// Removes shards and journals from this number on, and all that are not finished. Refuses all if one is not what a run leaves: a file of this user,
    /// and for a shard with its journal.
    fn remove(&self, from: u32) -> Result<()> {
        let mut left = Vec::new();
        for name in own_names(&self.directory)?.all {
            let shard = number_in(&name, "pack-", ".tar");
            let number = shard.or_else(|| number_in(&name, ".pack-", ".members"));
            let is_partial = number_in(&name, "pack-", ".tar.partial").is_some();
            if is_partial || number.is_some_and(|number| number >= from) {
                let has_journal = shard.is_none_or(|number| self.is_own(journal_name(number).as_bytes()));
                if !has_journal || !self.is_own(&name) {
                    let shown = String::from_utf8_lossy(&name).into_owned();
                    let reason =
                        format!("it holds '{shown}', which no interrupted pack has left: move it away");
                    return Err(Error::new("pack into", self.directory.path(), ErrorKind::BadOption, reason));
                }
                left.push(name);
            }
        }
        // A shard before its journal, which shows that it is one.
        left.sort_by_key(|name| name.starts_with(b"."));
        left.iter().try_for_each(|name| self.unlink(name))
    }

    fn is_own(&self, name: &[u8]) -> bool {
        statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|status| {
            let is_file =
                rustix::fs::FileType::from_raw_mode(status.st_mode) == rustix::fs::FileType::RegularFile;
            is_file && status.st_uid == rustix::process::geteuid().as_raw()
        })
    }

    /// Fails if the path leads to another directory by now: the index is written by path.
    pub(crate) fn check_in_place(&self) -> Result<()> {
        let (here, there) = (self.directory.id()?, Dir::open(self.directory.path())?.id()?);
        if (here.device, here.inode) == (there.device, there.inode) {
            return Ok(());
        }
        let reason =
            "it was renamed while it was written: run the same command with its new name, which continues";
        Err(Error::new("pack into", self.directory.path(), ErrorKind::Unavailable, reason))
    }

    /// Removes the journals and the marker; the index is there.
    pub(crate) fn finish(self) -> Result<()> {
        sync(&self.directory);
        for name in own_names(&self.directory)?.all {
            if number_in(&name, ".pack-", ".members").is_some() {
                self.unlink(&name)?;
            }
        }
        self.unlink(MARKER.as_bytes())?;
        sync(&self.directory);
        Ok(())
    }

    fn unlink(&self, name: &[u8]) -> Result<()> {
        match unlinkat(&self.directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => {
                let shown = String::from_utf8_lossy(name).into_owned();
                Err(Error::io("remove", &self.directory.path().join(shown), error.into()))
            }
        }
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.directory.path().join(INDEX)
    }

    fn failed(&self, name: &str, error: io::Error) -> Error {
        Error::io("read", &self.directory.path().join(name), error)
    }
}

impl Marker {
    fn of(source: &Dir) -> Result<Self> {
        let path = megadir_inventory::root_path(source.path())?;
        let source_hex = path.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { megadir_pack: 1, source_hex, inode: source.id()?.inode })
    }

    /// Creates the marker, or takes the one of an interrupted run. Only a marker of this tree, or one whose process was killed while it wrote just that,
    /// is taken: any other file of this name is the user's.
    fn take(&self, directory: &Dir, exists: bool) -> Result<File> {
        let path = directory.path().join(MARKER);
        let failed = |error| Error::io("write", &path, error);
        let refused = |kind, reason: &str| Error::new("pack into", directory.path(), kind, reason);
        let busy = |reason: &str| refused(ErrorKind::Unavailable, reason);
        let create = if exists { OFlags::empty() } else { OFlags::CREATE | OFlags::EXCL };
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | create;
        let mut file = match openat(directory, MARKER, flags, Mode::from_raw_mode(0o600)) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) if exists => {
                return Err(busy("another process has just finished a pack in it"));
            }
            Err(Errno::EXIST) => return Err(busy("another process is packing into it")),
            Err(error) => return Err(failed(error.into())),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy("another process is packing into it")),
            // Some network file systems do not support locks.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let status = file.metadata().map_err(failed)?;
        if status.nlink() == 0 {
            return Err(busy("another process has just finished a pack in it"));
        }
        if !status.is_file() || status.nlink() > 1 || status.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused(ErrorKind::BadOption, NOT_EMPTY));
        }
        let mut text = Vec::new();
        Read::by_ref(&mut file).take(MARKER_BYTES_MAX).read_to_end(&mut text).map_err(failed)?;
        let own = serde_json::to_vec(self).map_err(|error| failed(error.into()))?;
        if text == own {
            return Ok(file);
        }
        if !own.starts_with(&text) {
            return Err(match serde_json::from_slice::<Self>(&text) {
                Ok(there) if there.megadir_pack != self.megadir_pack => {
                    busy("it has an interrupted pack of another version of megadir")
                }
                Ok(_) => busy(
                    "it has an interrupted pack of another tree: name another directory, or remove this one",
                ),
                Err(_) => refused(ErrorKind::BadOption, NOT_EMPTY),
            });
        }
        let written =
            file.set_len(0).and_then(|()| io::Seek::rewind(&mut file)).and_then(|()| file.write_all(&own));
        written.and_then(|()| file.sync_all()).map_err(failed)?;
        sync(directory);
        Ok(file)
    }
}

/// Opens the directory of a pack, or creates it, for its owner alone: a pack has the contents of files that others may not read. Nothing is created in the
/// tree.
fn open_outside(destination: &Path, source: &Dir) -> Result<Dir> {
    match Dir::open(destination) {
        Err(error) if error.kind() == ErrorKind::NotFound && destination.file_name().is_some() => {}
        opened => {
            let directory = opened?;
            check_outside(&directory, destination, source)?;
            return Ok(directory);
        }
    }
    let above = destination.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let above = Dir::open(above)?;
    check_outside(&above, destination, source)?;
    let name = names::from_os(destination.file_name().unwrap_or_default());
    match mkdirat(&above, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => above.open_below(name),
        Err(error) => Err(Error::io("create", destination, error.into())),
    }
}

/// Creates a directory for its owner alone, unless it exists.
pub(crate) fn create_private(path: &Path) -> Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Error::io("create", path, error)),
        _ => Ok(()),
    }
}

#[derive(Default)]
struct OwnNames {
    all: Vec<Vec<u8>>,
    has_marker: bool,
    has_index: bool,
}

/// Fails for a directory with other files: they are not ours to remove or to lie beside.
fn own_names(directory: &Dir) -> Result<OwnNames> {
    let mut own = OwnNames::default();
    // By descriptor: its path may lead elsewhere by now.
    let mut listing = Listing::with_choice(directory, policy::choose_freely(directory)?)?;
    while let Some(batch) = listing.next_batch()? {
        for entry in batch {
            let name = entry.name;
            let is_numbered = [("pack-", ".tar"), ("pack-", ".tar.partial"), (".pack-", ".members")]
                .iter()
                .any(|(before, after)| number_in(name, before, after).is_some());
            let is_index = name == INDEX.as_bytes();
            let is_marker = name == MARKER.as_bytes();
            // Temporary files of the index, and of sorting where the file system has no nameless files.
            let is_temporary = name == b".index.parquet.megadir-partial" || name.starts_with(b".tmp");
            if !is_numbered && !is_index && !is_marker && !is_temporary {
                let shown = names::to_os(name)
                    .map_or_else(|_| "?".into(), |name| name.to_string_lossy().into_owned());
                let reason =
                    format!("it holds '{shown}', which is no part of a pack: name a new or empty directory");
                return Err(Error::new("pack into", directory.path(), ErrorKind::BadOption, reason));
            }
            own.has_marker |= is_marker;
            own.has_index |= is_index;
            own.all.push(name.to_vec());
        }
    }
    Ok(own)
}

/// By identity, not by path: the directory and all above it are not the tree.
fn check_outside(directory: &Dir, destination: &Path, source: &Dir) -> Result<()> {
    let of = |directory: &Dir| -> Result<DirId> { directory.id() };
    let is_tree = |id: &DirId, tree: &DirId| (id.device, id.inode) == (tree.device, tree.inode);
    let tree = of(source)?;
    let mut above = directory.again()?;
    loop {
        let id = of(&above)?;
        if is_tree(&id, &tree) {
            let reason = format!(
                "it lies in '{}', which is to be packed: name a directory outside",
                source.path().display()
            );
            return Err(Error::new("pack into", destination, ErrorKind::BadOption, reason));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = openat(&above, "..", flags, Mode::empty());
        let parent = parent.map_err(|error| Error::io("open", &directory.path().join(".."), error.into()))?;
        let parent = Dir::from_descriptor(parent, directory.path());
        if of(&parent)? == id {
            return Ok(());
        }
        above = parent;
    }
}
