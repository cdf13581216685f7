//! Examiners that ask for inodes by number, many in one call: for who may, asked for by name, never picked.
//!
//! Such a call gives what a number has, not what a name has, and as the file system has it on its disk or in its
//! transactions. What that is worth here:
//!
//! * A directory gives the number that a mount hides: whatever has the name of a mount point is asked about by
//!   statx. What is mounted is read once, when the listing begins.
//! * An inode that is not found, has no links left, or is of another type than the directory says has been removed
//!   or replaced: its name is asked about by statx, which tells that it vanished or what it is now.
//! * The file system is synced once, when the listing begins. An inode changed since then is asked about by statx:
//!   its time of change says so. That holds for a file that got the number of one removed meanwhile, too.
//!
//! What is left: where the call gives changes late (btrfs), an entry changed while it is being listed may be told as
//! it was when the listing began. On XFS a size may be that of the sync where one write that began more than a second
//! before the sync still goes on (its time of change is that of its beginning), or where the clock is set back during the listing.
//! A name that is moved or replaced between being listed and being asked about may be told with the attributes
//! of what it was, as if it had been asked about before. But for those sizes no row mixes two states of an inode.

mod btrfs;
#[cfg(test)]
mod tests;
mod worth;
mod xfs;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

pub(super) use self::btrfs::BtrfsSearch;
pub(super) use self::xfs::XfsBulkstat;

use self::worth::{Terms, Worth};
use super::examiner::Examine;
use super::statx::Asking;
use super::{Attributes, Time, Want};
use crate::batch::Batch;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::{Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::mounts::{Mount, Mounts};

/// What was changed so shortly before the file system was synced is asked about by statx: a call that began before may
/// still be writing to it.
const UNSETTLED: Duration = Duration::from_secs(1);

/// The error of a row that is not filled in yet: none of the system's is negative.
const PENDING: i32 = i32::MIN;

/// A call that gives inodes by number, and the memory it needs.
trait Bulk: Send + Sized + 'static {
    /// Whether the number that a directory gives for another one is always the number of its inode.
    const NUMBERS_DIRECTORIES: bool;
    /// Whether more than sizes is late until the file system has been synced.
    const ALL_IS_LATE: bool;
    /// When a call is worth it.
    const TERMS: Terms;

    fn new() -> Self;

    /// Tells whether the call can be made in a directory on a mount; `Err` says why not.
    fn probe(directory: &Dir, mount: Mount) -> std::result::Result<(), String>;

    /// Asks for a run of inodes, whose numbers ascend and may repeat, and passes on those that it gets, ascending,
    /// with others between them. `None` where it gets nothing.
    fn call(&mut self, directory: &Dir, run: &[Wanted], given: impl FnMut(u64, Attributes))
    -> Option<Answer>;
}

/// What came of a call.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// Inodes up to this number have been given, or do not exist.
    last: u64,
    /// Inodes walked over, or as many as would take the time.
    walked: usize,
}

/// An inode that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    inode: u64,
    /// The row of the batch that it is for.
    row: u32,
    /// What the directory says that it is.
    kind: FileType,
}

/// What the entries of a directory have in common.
#[derive(Clone, Copy, Debug)]
struct Ground {
    device: (u32, u32),
    mount: u64,
    /// What is told of each.
    have: Want,
    /// What was changed before this is told truly.
    settled: Time,
}

impl Ground {
    /// Tells whether it is that of directories of a device on a mount.
    fn is_of(&self, device: (u32, u32), mount: u64) -> bool {
        (self.device, self.mount) == (device, mount)
    }
}

/// What the threads of a listing share.
struct Shared {
    want: Want,
    mounts: Mounts,
    /// Of the directories seen so far, by device and mount.
    grounds: Mutex<Vec<Ground>>,
}

/// What one thread asks with.
struct Asker<B> {
    shared: Arc<Shared>,
    bulk: B,
    statx: Asking,
    /// That of the directory seen last.
    ground: Ground,
    wanted: Vec<Wanted>,
    worth: Worth,
    /// Entries that statx was asked about.
    singly: u64,
}

/// Tells whether the entries of a directory can be asked about.
fn probe<B: Bulk>(directory: &Dir) -> Result<()> {
    Shared::new(directory, Want::NOTHING)?.probe::<B>(directory).map(|_| ())
}

/// Returns what one thread asks with.
fn start_one<B: Bulk>(directory: &Dir, want: Want) -> Result<Box<dyn Examine>> {
    let mut one = start::<B>(directory, want, 1)?;
    Ok(one.remove(0))
}

/// Returns what so many threads ask with; the file system is synced once for all of them.
fn start<B: Bulk>(directory: &Dir, want: Want, threads: usize) -> Result<Vec<Box<dyn Examine>>> {
    Ok(askers::<B>(directory, want, threads)?.into_iter().map(|asker| Box::new(asker) as _).collect())
}

fn askers<B: Bulk>(directory: &Dir, want: Want, threads: usize) -> Result<Vec<Asker<B>>> {
    let shared = Arc::new(Shared::new(directory, want)?);
    let ground = shared.ground::<B>(directory)?;
    let asker = |_| Asker {
        shared: Arc::clone(&shared),
        bulk: B::new(),
        statx: Asking::new(want),
        ground,
        wanted: Vec::new(),
        worth: Worth::default(),
        singly: 0,
    };
    Ok((0..threads).map(asker).collect())
}

impl Shared {
    fn new(directory: &Dir, want: Want) -> Result<Self> {
        let mounts = Mounts::read().map_err(|error| {
            unavailable(directory, format!("what is mounted on entries cannot be read ({error})"))
        })?;
        Ok(Self { want, mounts, grounds: Mutex::new(Vec::new()) })
    }

    /// Returns what is common to the entries of a directory, if they can be asked about.
    fn probe<B: Bulk>(&self, directory: &Dir) -> Result<Ground> {
        let itself = Asking::new(self.want | PLACE).itself(directory)?;
        if !itself.have.contains(PLACE) {
            return Err(unavailable(directory, "the system does not number mounts (Linux before 5.8)"));
        }
        let Some(mount) = self.mounts.by_id(itself.mount) else {
            return Err(unavailable(directory, "the directory's mount is none of those seen from here"));
        };
        B::probe(directory, mount).map_err(|reason| unavailable(directory, reason))?;
        let have = itself.have & self.want;
        Ok(Ground { device: itself.device, mount: itself.mount, have, settled: Time::EPOCH })
    }

    /// Returns what is common to the entries of directories of a device on a mount, if one has been met.
    fn known(&self, device: (u32, u32), mount: u64) -> Option<Ground> {
        let grounds = self.grounds.lock().unwrap_or_else(PoisonError::into_inner);
        grounds.iter().find(|known| known.is_of(device, mount)).copied()
    }

    /// Returns what is common to the entries of a directory; syncs the file system if it is the first of its mount.
    fn ground<B: Bulk>(&self, directory: &Dir) -> Result<Ground> {
        let mut ground = self.probe::<B>(directory)?;
        // Held while syncing, since the other threads must wait for that.
        let mut grounds = self.grounds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = grounds.iter().find(|known| known.is_of(ground.device, ground.mount)) {
            return Ok(*known);
        }
        ground.settled = match grounds.iter().find(|known| known.mount == ground.mount) {
            Some(known) => known.settled,
            None => {
                let now = SystemTime::now();
                if B::ALL_IS_LATE || self.want.contains(Want::SIZE) {
                    rustix::fs::syncfs(directory)
                        .map_err(|error| Error::io("sync", directory.path(), error.into()))?;
                }
                Time::from_system(now.checked_sub(UNSETTLED).unwrap_or(now))
            }
        };
        grounds.push(ground);
        Ok(ground)
    }
}

/// What tells one ground from another.
const PLACE: Want = Want::DEVICE.union(Want::MOUNT);

impl<B: Bulk> Asker<B> {
    /// Makes sure that what is known in common is of this directory: in a tree they may lie anywhere.
    fn stand_on(&mut self, directory: &Dir) -> Result<()> {
        let here = Asking::new(PLACE).itself(directory)?;
        if !self.ground.is_of(here.device, here.mount) {
            // One that was stood on before needs no probe again: a walk may go to and fro.
            self.ground = match self.shared.known(here.device, here.mount) {
                Some(known) => known,
                None => self.shared.ground::<B>(directory)?,
            };
        }
        Ok(())
    }

    /// Notes the inodes of a batch that are to be asked for, ascending.
    fn gather(&mut self, batch: Batch<'_>) {
        self.wanted.clear();
        let mut ascending = true;
        let mut last = 0;
        for (row, record) in (0..).zip(entries(batch)) {
            let kind = FileType::from_d_type(record.kind);
            let numbered = B::NUMBERS_DIRECTORIES || !matches!(kind, FileType::Directory | FileType::Unknown);
            if numbered && !self.shared.mounts.may_be_on(record.name) {
                ascending &= record.inode >= last;
                last = record.inode;
                self.wanted.push(Wanted { inode: record.inode, row, kind });
            }
        }
        if !ascending {
            self.wanted.sort_unstable_by_key(|wanted| wanted.inode);
        }
    }
}

impl<B: Bulk> Asker<B> {
    /// Asks for the inodes that were gathered and fills in the rows of those that can be trusted; returns how many.
    fn ask(&mut self, directory: &Dir, rows: &mut [Attributes]) -> usize {
        let Ground { device, mount, have, settled } = self.ground;
        let mut filled = 0;
        let mut left = &self.wanted[..];
        while !left.is_empty() {
            let run = &left[..worth::run(left, B::TERMS.gap)];
            let singly = self.worth.singly(run.len(), &B::TERMS);
            if singly > 0 {
                left = &left[singly..];
                continue;
            }
            let (mut next, mut wanted) = (0, 0);
            let answer = self.bulk.call(directory, run, |inode, found| {
                while left.get(next).is_some_and(|wanted| wanted.inode < inode) {
                    next += 1;
                }
                while let Some(of) = left.get(next).filter(|wanted| wanted.inode == inode) {
                    next += 1;
                    wanted += 1;
                    let same = of.kind == found.kind || of.kind == FileType::Unknown;
                    if same && found.links > 0 && found.changed < settled {
                        rows[of.row as usize] = Attributes { have, device, mount, ..found };
                        filled += 1;
                    }
                }
            });
            left = match answer {
                Some(Answer { last, walked }) => {
                    self.worth.note(walked, wanted, &B::TERMS);
                    let answered = left.partition_point(|wanted| wanted.inode <= last);
                    &left[answered.max(1)..]
                }
                // Not there, or not to be read: asked about singly they give their error.
                None => &left[run.len()..],
            };
        }
        filled
    }
}

impl<B: Bulk> Examine for Asker<B> {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        rows.clear();
        self.stand_on(directory)?;
        self.gather(batch);
        rows.resize(batch.len(), Attributes::failed(PENDING));
        if self.ask(directory, rows) < rows.len() {
            for (row, record) in rows.iter_mut().zip(entries(batch)).filter(|(row, _)| row.error == PENDING) {
                *row = self.statx.ask(directory, record.c_name());
                self.singly += 1;
            }
        }
        Ok(())
    }
}

/// Returns the records of a batch's entries.
fn entries(batch: Batch<'_>) -> impl Iterator<Item = crate::decode::Record<'_>> {
    Records::new(batch.bytes()).filter(|record| !record.is_dot())
}

fn unavailable(directory: &Dir, reason: impl Into<String>) -> Error {
    Error::new("examine", directory.path(), ErrorKind::Unavailable, reason)
}

/// Says why an ioctl that is for root alone cannot be had.
fn refusal(error: &std::io::Error, call: &str, since: &str) -> String {
    match error.raw_os_error() {
        Some(1) => format!("{call} is for root only, or who has CAP_SYS_ADMIN"),
        Some(25) => format!("the kernel has no {call} (Linux before {since})"),
        _ => format!("the kernel refuses {call} ({error})"),
    }
}
