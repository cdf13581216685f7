//! The files of a pack: which they are, whether they are still those that were verified, and that they are on the disk.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};
use rustix::fs::Stat;
use rustix::io::Errno;

use crate::read::OpenShards;

/// Device and inode, as statx(2) has them.
pub(crate) type FileId = ((u32, u32), u64);

/// Index and shards as they were found.
#[derive(Debug)]
pub(crate) struct OwnFiles {
    directory: PathBuf,
    found: Vec<(PathBuf, Option<Look>)>,
}

/// Device, inode, size, mtime and ctime.
type Look = (u64, u64, i64, [i64; 4]);

fn look(path: &Path) -> Option<Look> {
    let Stat { st_dev, st_ino, st_size, st_mtime, st_mtime_nsec, st_ctime, st_ctime_nsec, .. } =
        rustix::fs::stat(path).ok()?;
    let times = [st_mtime, st_mtime_nsec as i64, st_ctime, st_ctime_nsec as i64];
    Some((st_dev, st_ino, st_size, times))
}

impl OwnFiles {
    /// Errors: the index cannot be read.
    pub(crate) fn find(index: &Path) -> Result<Self> {
        let shards = OpenShards::of(index)?;
        let paths = (0..shards.lengths.len() as u32).map(|shard| shards.path(shard));
        let found = std::iter::once(index.to_owned()).chain(paths).map(|path| (look(&path), path));
        let found = found.map(|(look, path)| (path, look)).collect();
        Ok(Self { directory: shards.directory, found })
    }

    pub(crate) fn ids(&self) -> HashSet<FileId> {
        let looks = self.found.iter().filter_map(|(_, look)| *look);
        looks
            .map(|(device, inode, ..)| ((rustix::fs::major(device), rustix::fs::minor(device)), inode))
            .collect()
    }

    /// Errors: a file was changed, replaced or removed since.
    pub(crate) fn check(&self) -> Result<()> {
        match self.found.iter().find(|(path, found)| look(path) != *found) {
            None => Ok(()),
            Some((path, _)) => {
                let reason =
                    "it changed while it was verified; nothing was removed: run the same command again";
                Err(Error::new("verify", path, ErrorKind::Unavailable, reason))
            }
        }
    }

    /// Has the pack written to the disk: what was verified may be in the memory of this machine alone, if the pack was copied here just now.
    /// Errors: writing failed.
    pub(crate) fn sync(&self) -> Result<()> {
        let there = self.found.iter().filter(|(_, look)| look.is_some()).map(|(path, _)| path.as_path());
        for path in there.chain([self.directory.as_path()]) {
            let synced = File::open(path).and_then(|file| file.sync_all());
            // Where nothing can be written, as in an image, nothing waits to be.
            let cannot = [Errno::INVAL, Errno::ROFS, Errno::OPNOTSUPP].map(Errno::raw_os_error);
            match synced {
                Err(error) if !error.raw_os_error().is_some_and(|code| cannot.contains(&code)) => {
                    return Err(Error::io("sync", path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
