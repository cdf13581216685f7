//! Stat backends that read many inodes by number in one call. They need privileges and are used only if named.
//!
//! These calls return an inode by number, in the state on disk or in a transaction. Other entries are read by statx: names of mount
//! points, inodes that are missing, without links or of another type, and inodes changed after the sync with which the listing begins.
//!
//! Limits: on btrfs an entry changed during the listing may have its earlier state. On XFS a size may be as old as the sync if
//! a write has been running for more than a second, or if the clock is set back. A name moved or replaced meanwhile may get the
//! attributes of its former inode. On ext4 a chown that is running may show the new owner with the earlier times
//! (`ext4_setattr` has two transactions). Except for these sizes and owners no row mixes two states of an inode.

mod btrfs;
mod ext4;
#[cfg(test)]
mod tests;
mod worth;
mod xfs;

use std::marker::PhantomData;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use self::btrfs::TreeSearch;
use self::ext4::InodeTables;
use self::worth::{Terms, Worth};
use self::xfs::Bulkstat;
use super::statx::StatxRequest;
use super::{Examine, StatBackend};
use crate::attributes::{Attributes, StatMask, Time};
use crate::batch::Batch;
use crate::decode::Records;
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::file_type::FileType;
use crate::mounts::{Mount, Mounts};
use crate::threads::lock;

/// Inodes changed this shortly before the sync are read by statx: a call that began earlier may still be
/// writing, and while the device is busy it may wait as long as the sync.
const UNSETTLED: Duration = Duration::from_secs(1);

/// Error of a row that is not filled in yet. Real errors are never negative.
const PENDING: i32 = i32::MIN;

/// A call that returns inodes by number, with its memory.
trait Bulk: Send + Sized + 'static {
    const NAME: &str;
    const ABOUT: &str;
    /// As [`StatBackend::works_apart`].
    const WORKS_APART: bool = false;
    /// As [`StatBackend::reads_neighbours`].
    const READS_NEIGHBOURS: bool = false;
    /// `true` if a directory entry's number is always an inode number, even for directories.
    const NUMBERS_DIRECTORIES: bool;
    /// `true` if not only sizes lag behind until the file system is synced.
    const ALL_IS_LATE: bool;
    /// Attributes that are never taken from the call.
    const LACKING: StatMask;
    const TERMS: Terms;

    /// Source of the inodes of a file system.
    type Source: Clone + Send;

    fn new() -> Self;

    /// Checks that the call works in a directory on a mount; `Err` is the reason.
    fn probe(directory: &Dir, mount: &Mount) -> std::result::Result<Self::Source, String>;

    /// Time before which changes are certain to be returned, if `settled` is such a time of statx(2).
    fn settled(_source: &Self::Source, settled: Time) -> Time {
        settled
    }

    /// Announces the inodes of a batch, ascending; most of them are requested.
    fn prepare(&mut self, _source: &Self::Source, _wanted: &[Wanted]) {}

    /// Ends a batch, whose directories may be opened next.
    fn finish(&mut self, _source: &Self::Source) {}

    /// Requests a run of inodes, with ascending and possibly repeated numbers, and passes those it gets to
    /// `given`, ascending, possibly with others in between. `None` if it gets nothing.
    fn call(
        &mut self,
        directory: &Dir,
        source: &Self::Source,
        run: &[Wanted],
        given: impl FnMut(u64, Attributes),
    ) -> Option<Answer>;
}

/// Result of a call.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// All inodes up to this number have been returned or do not exist.
    last: u64,
    /// Cost in inodes walked over.
    walked: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wanted {
    inode: u64,
    /// Row of the batch.
    row: u32,
    /// Type according to the directory.
    kind: FileType,
}

/// Common properties of the entries in directories of one device and mount.
///
/// Found once for each device and mount that a listing meets. `settled` is the time of the sync at the
/// beginning less a margin: rows with a later change may be half on disk, and are read by statx instead.
#[derive(Clone, Debug)]
struct Volume<S> {
    source: S,
    device: (u32, u32),
    mount: u64,
    /// Attributes that are returned.
    have: StatMask,
    /// Changes before this time are returned correctly.
    settled: Time,
}

impl<S> Volume<S> {
    fn is_of(&self, device: (u32, u32), mount: u64) -> bool {
        (self.device, self.mount) == (device, mount)
    }
}

/// Shared by the threads of a listing.
struct Shared<B: Bulk> {
    want: StatMask,
    mounts: Mounts,
    /// Volumes of the directories seen so far.
    volumes: Mutex<Vec<Volume<B::Source>>>,
}

/// One thread's state.
///
/// Buffers are used again for each batch. `worth` decides by what earlier calls returned whether a run is
/// worth a call: a call returns inodes that were not requested, and where they are too many, statx of each is
/// cheaper.
struct BulkReader<B: Bulk> {
    shared: Arc<Shared<B>>,
    bulk: B,
    statx: StatxRequest,
    /// Volume of the last directory.
    volume: Volume<B::Source>,
    wanted: Vec<Wanted>,
    worth: Worth,
    /// Number of entries read by statx.
    singly: u64,
}

/// Stat backend that uses a call.
pub(super) struct InBulk<B>(PhantomData<fn() -> B>);

pub(super) static XFS_BULKSTAT: InBulk<Bulkstat> = InBulk(PhantomData);
pub(super) static BTRFS_SEARCH: InBulk<TreeSearch> = InBulk(PhantomData);
pub(super) static EXT4_DEVICE: InBulk<InodeTables> = InBulk(PhantomData);

impl<B: Bulk> StatBackend for InBulk<B> {
    fn name(&self) -> &'static str {
        B::NAME
    }

    fn about(&self) -> &'static str {
        B::ABOUT
    }

    fn probe(&self, directory: &Dir) -> Result<()> {
        Shared::<B>::new(directory, StatMask::NOTHING)?.probe(directory).map(|_| ())
    }

    fn lacks(&self) -> StatMask {
        B::LACKING
    }

    fn works_apart(&self) -> bool {
        B::WORKS_APART
    }

    fn reads_neighbours(&self) -> bool {
        B::READS_NEIGHBOURS
    }

    fn start(&self, directory: &Dir, want: StatMask) -> Result<Box<dyn Examine>> {
        Ok(self.start_threads(directory, want, 1)?.remove(0))
    }

    fn start_threads(
        &self,
        directory: &Dir,
        want: StatMask,
        threads: usize,
    ) -> Result<Vec<Box<dyn Examine>>> {
        Ok(readers::<B>(directory, want, threads)?.into_iter().map(|reader| Box::new(reader) as _).collect())
    }
}

/// Syncs the file system once for all threads.
fn readers<B: Bulk>(directory: &Dir, want: StatMask, threads: usize) -> Result<Vec<BulkReader<B>>> {
    let shared = Arc::new(Shared::<B>::new(directory, want)?);
    let volume = shared.volume(directory)?;
    let reader = |_| BulkReader {
        shared: Arc::clone(&shared),
        bulk: B::new(),
        statx: StatxRequest::new(want),
        volume: volume.clone(),
        wanted: Vec::new(),
        worth: Worth::default(),
        singly: 0,
    };
    Ok((0..threads).map(reader).collect())
}

impl<B: Bulk> Shared<B> {
    fn new(directory: &Dir, want: StatMask) -> Result<Self> {
        let mounts = Mounts::read()
            .map_err(|error| unavailable(directory, format!("cannot read the mount table ({error})")))?;
        Ok(Self { want, mounts, volumes: Mutex::new(Vec::new()) })
    }

    /// Checks that a directory's entries can be read, without syncing.
    fn probe(&self, directory: &Dir) -> Result<Volume<B::Source>> {
        let own = StatxRequest::new(self.want | VOLUME_ID).of_directory(directory)?;
        if !own.have.contains(VOLUME_ID) {
            return Err(unavailable(directory, "the kernel reports no mount IDs (Linux before 5.8)"));
        }
        let Some(mount) = self.mounts.by_id(own.mount) else {
            return Err(unavailable(
                directory,
                "the directory's mount is not visible in this mount namespace",
            ));
        };
        let source = B::probe(directory, mount).map_err(|reason| unavailable(directory, reason))?;
        let have = own.have & self.want;
        Ok(Volume { source, device: own.device, mount: own.mount, have, settled: Time::EPOCH })
    }

    fn known(&self, device: (u32, u32), mount: u64) -> Option<Volume<B::Source>> {
        lock(&self.volumes).iter().find(|known| known.is_of(device, mount)).cloned()
    }

    /// Syncs the file system if the directory is the first on its mount.
    fn volume(&self, directory: &Dir) -> Result<Volume<B::Source>> {
        let mut volume = self.probe(directory)?;
        // Held while syncing, because the other threads must wait for the sync.
        let mut volumes = lock(&self.volumes);
        if let Some(known) = volumes.iter().find(|known| known.is_of(volume.device, volume.mount)) {
            return Ok(known.clone());
        }
        volume.settled = match volumes.iter().find(|known| known.mount == volume.mount) {
            Some(known) => known.settled,
            None => {
                let (now, started) = (SystemTime::now(), Instant::now());
                if B::ALL_IS_LATE || self.want.contains(StatMask::SIZE) {
                    rustix::fs::syncfs(directory).at("sync", directory.dir_path())?;
                }
                let unsettled = UNSETTLED.max(started.elapsed() * 2);
                B::settled(&volume.source, Time::from_system(now.checked_sub(unsettled).unwrap_or(now)))
            }
        };
        volumes.push(volume.clone());
        Ok(volume)
    }
}

/// Attributes that the calls of XFS and btrfs do not return, or not in time.
const LACKING_OF_CALLS: StatMask = StatMask::ALLOCATED.union(StatMask::ACCESSED).union(StatMask::SPECIAL);

/// Attributes that identify a device and mount.
const VOLUME_ID: StatMask = StatMask::DEVICE.union(StatMask::MOUNT);

impl<B: Bulk> BulkReader<B> {
    /// Switches to the directory's device and mount: in a tree they may differ.
    fn switch_to(&mut self, directory: &Dir) -> Result<()> {
        let here = StatxRequest::new(VOLUME_ID).of_directory(directory)?;
        if !self.volume.is_of(here.device, here.mount) {
            // No new probe for one seen before: a walk may go back and forth.
            self.volume = match self.shared.known(here.device, here.mount) {
                Some(known) => known,
                None => self.shared.volume(directory)?,
            };
        }
        Ok(())
    }

    /// Collects the inodes of a batch to request, ascending.
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

impl<B: Bulk> BulkReader<B> {
    /// Requests the collected inodes and fills in the rows that can be trusted. Returns their number.
    fn query(&mut self, directory: &Dir, rows: &mut [Attributes]) -> usize {
        // `wanted` ascends by inode and so does each answer, so both are passed once. A row is taken only if
        // everything agrees: the inode has links, the type of the directory's entry, and no change since the
        // sync. All others stay empty, and the caller fills them by statx. An answer that makes no progress
        // still skips one inode, so the loop ends.
        let Volume { ref source, device, mount, have, settled } = self.volume;
        let mut filled = 0;
        let mut left = &self.wanted[..];
        self.bulk.prepare(source, left);
        while !left.is_empty() {
            let run = &left[..worth::run(left, B::TERMS.gap)];
            let singly = self.worth.singly(run.len(), &B::TERMS);
            if singly > 0 {
                left = &left[singly..];
                continue;
            }
            let (mut next, mut wanted) = (0, 0);
            let answer = self.bulk.call(directory, source, run, |inode, found| {
                while left.get(next).is_some_and(|wanted| wanted.inode < inode) {
                    next += 1;
                }
                while let Some(of) = left.get(next).filter(|wanted| wanted.inode == inode) {
                    next += 1;
                    wanted += 1;
                    let same = of.kind == found.kind || of.kind == FileType::Unknown;
                    if same && found.links > 0 && found.changed < settled {
                        rows[of.row as usize] =
                            Attributes { have: have.without(B::LACKING), device, mount, ..found };
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
                // Missing or unreadable: statx returns the error.
                None => &left[run.len()..],
            };
        }
        self.bulk.finish(source);
        filled
    }
}

impl<B: Bulk> Examine for BulkReader<B> {
    fn examine(&mut self, directory: &Dir, batch: Batch<'_>, rows: &mut Vec<Attributes>) -> Result<()> {
        rows.clear();
        self.switch_to(directory)?;
        self.gather(batch);
        rows.resize(batch.len(), Attributes::failed(PENDING));
        if self.query(directory, rows) < rows.len() {
            for (row, record) in rows.iter_mut().zip(entries(batch)).filter(|(row, _)| row.error == PENDING) {
                *row = self.statx.query(directory, record.c_name());
                self.singly += 1;
            }
        }
        Ok(())
    }
}

fn entries(batch: Batch<'_>) -> impl Iterator<Item = crate::decode::Record<'_>> {
    Records::new(batch.bytes()).filter(|record| !record.is_dot())
}

fn unavailable(directory: &Dir, reason: impl Into<String>) -> Error {
    Error::new("examine", directory.path(), ErrorKind::Unavailable, reason)
}

/// Reason why an ioctl is unavailable.
fn refusal(error: &std::io::Error, call: &str, since: &str) -> String {
    match error.raw_os_error() {
        Some(1) => format!("{call} needs root or CAP_SYS_ADMIN"),
        Some(25) => format!("the kernel has no {call} (Linux before {since})"),
        _ => format!("the kernel refuses {call} ({error})"),
    }
}
