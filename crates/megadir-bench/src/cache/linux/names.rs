//! `vfs-cold`: drops names, inodes and contents of the whole machine, at least twice. One drop is not enough: new metadata of
//! ext4 stay on the journal's list until a shrinker releases them (after creating 20 000 files, 1540 of 1557 metadata pages
//! survive the first drop, 3 the second), and XFS writes inodes back when its shrinker runs.
//!
//! The verification warms nothing: sampled names are looked up in the cache alone (`RESOLVE_CACHED`), and the
//! kernel's counts of inodes and names must have fallen.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use megadir_record::CacheState;
use megadir_sys::page_cache::resident;
use megadir_sys::usage::thread_waits;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::cache::tree::{Sampled, are_there};
use crate::cache::{Set, refused};
use crate::control::{RunControl, WRITING_BACK, WorkError, marked};
use crate::host::{mounted_devices, unwritten_bytes};

/// 3 drops pages, names and inodes.
pub(super) const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
const ALL: &str = "3";
/// Dirty bytes of all programs that disturb little.
///
/// Zero is never reached on a machine with other programs.
const UNWRITTEN_BYTES_MAX: u64 = 64 << 20;
/// A machine that still writes after this time is not fit for cold measurements.
const DRAIN_MAX: Duration = Duration::from_secs(30);
/// Then the file systems of other devices are written back, too.
const DRAIN_ALONE: Duration = Duration::from_millis(500);
/// Minimum: inodes are freed some time after they were dropped.
const DROPS_MIN: u32 = 2;
/// XFS gives each metadata buffer up to 4 lives (`b_lru_ref`) and takes one at every drop.
const DROPS_MIN_XFS: u32 = 6;
const DROPS_MAX: u32 = 12;
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_AFTER_DROP: Duration = Duration::from_millis(30);
/// One in this many sampled names may still be cached; with fewer samples, none.
const CACHED_SHARE_INVERSE: usize = 50;
/// Inodes and names that other programs of a quiet machine hold, an allowance.
const OTHERS_MAX: u64 = 10_000;

#[derive(Clone, Debug, Default)]
pub(super) struct CachedNames {
    /// Counts left after the first verified drop, by type of file system: objects that other programs always hold.
    floors: BTreeMap<String, SlabCounts>,
}

impl CachedNames {
    /// Drops until nothing remains, at least twice, and at most `DROPS_MAX` times with growing pauses in
    /// between. The sample must be in the cache before: otherwise its absence afterwards would prove nothing.
    /// The first counts that passed become the floor of this file system, because its mount itself keeps some
    /// inodes, and later drops are measured against it. Called on the run's thread before a cold block.
    pub(super) fn drop_all(
        &mut self,
        directory: BorrowedFd<'_>,
        Set { file_system, entries, sample, .. }: &Set,
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let refuse = |reason: String| refused(CacheState::VfsCold, reason);
        find_cached(directory, sample).map_err(refuse)?;
        let before = SlabCounts::now(directory, file_system).map_err(refuse)?;
        drain(CacheState::VfsCold, directory, control)?;
        let mut left = String::new();
        let at_least = if file_system == "xfs" { DROPS_MIN_XFS } else { DROPS_MIN };
        for dropped in 1..=DROPS_MAX {
            marked(control.heartbeat, WRITING_BACK, || std::fs::write(DROP_CACHES, ALL))
                .map_err(|error| refused(CacheState::VfsCold, format!("{DROP_CACHES}: {error}")))?;
            if dropped < at_least {
                std::thread::sleep(PAUSE);
                continue;
            }
            let after = SlabCounts::now(directory, file_system).map_err(refuse)?;
            let floor = self.floors.get(file_system).copied();
            match remaining(floor, before, after, *entries).or_else(|| cached(directory, sample)) {
                None => {
                    self.floors.entry(file_system.to_owned()).or_insert(after);
                    return Ok(());
                }
                Some(remains) => left = remains,
            }
            control.check()?;
            std::thread::sleep(PAUSE_AFTER_DROP * dropped);
        }
        Err(refused(CacheState::VfsCold, format!("after {DROPS_MAX} drops {left}")))
    }
}

/// Reason why the counts are not low enough, if they are not. Counts are of the whole machine, so they are
/// compared with an allowance, with the floor of an earlier verified drop, or, at the first drop, with the
/// fall by the data set's own size. The allowance alone would refuse the state wherever other programs hold
/// many objects for good.
fn remaining(
    floor: Option<SlabCounts>,
    before: SlabCounts,
    after: SlabCounts,
    entries: u64,
) -> Option<String> {
    let of_entries = |kind: &str, before: u64, after: u64, floor: Option<u64>| {
        let few = OTHERS_MAX + entries / 10 + floor.map_or(0, |floor| floor + floor / 10);
        // Before the first drop the share of other programs is unknown, but the whole data set was cached.
        let fell = floor.is_none() && before.saturating_sub(after) >= entries - entries / 10;
        (after > few && !fell).then(|| format!("the kernel still holds {after} {kind} (of {before})"))
    };
    let of_buffers = || {
        let (before, Buffered { count: after, few: after_max }) = (before.buffers?.count, after.buffers?);
        let floor = floor.and_then(|floor| floor.buffers).map(|buffers| buffers.count);
        let few = after_max + floor.map_or(0, |floor| floor + floor / 10);
        let fell = floor.is_none() && after <= before / 4;
        let kind = "buffers of metadata";
        (after > few && !fell).then(|| format!("the kernel still holds {after} {kind} (of {before})"))
    };
    of_entries("inodes", before.inodes, after.inodes, floor.map(|floor| floor.inodes))
        .or_else(|| of_entries("names", before.names, after.names, floor.map(|floor| floor.names)))
        .or_else(of_buffers)
}

/// Checks that names just looked up are found in the cache: otherwise a miss proves nothing.
fn find_cached(directory: BorrowedFd<'_>, sample: &[Sampled]) -> Result<(), String> {
    if sample.is_empty() {
        return Err("the data set is empty, so it has nothing to drop".into());
    }
    let looked = sample.iter().map(|path| look(directory, path)).collect::<Result<Vec<bool>, Errno>>();
    let looked = looked
        .map_err(|error| format!("the cache cannot be searched for names (needs Linux 5.12): {error}"))?;
    let found = looked.into_iter().filter(|cached| *cached).count();
    if found * 2 < sample.len() {
        let of = sample.len();
        return Err(format!(
            "only {found} of {of} names that were just looked up are in the cache, so nothing could be verified"
        ));
    }
    Ok(())
}

/// Sampled names that are still cached, if they are more than the tolerated share. A name that cannot be
/// looked up counts as cached: doubt refuses the state.
fn cached(directory: BorrowedFd<'_>, sample: &[Sampled]) -> Option<String> {
    let held: Vec<&Sampled> = sample.iter().filter(|path| look(directory, path).unwrap_or(true)).collect();
    let first = String::from_utf8_lossy(held.first()?);
    let (held, of) = (held.len(), sample.len());
    (held * CACHED_SHARE_INVERSE > of).then(|| {
        format!("{held} of {of} sampled names are still cached, first '{first}': another process uses them")
    })
}

/// After a remount no name may be cached. Old kernels cannot answer (`RESOLVE_CACHED` needs Linux 5.12),
/// and then the proof of the lab must suffice.
pub(super) fn check_evicted(directory: BorrowedFd<'_>, sample: &[Sampled]) -> Result<(), WorkError> {
    match sample.iter().filter(|path| look(directory, path).unwrap_or(false)).count() {
        0 => Ok(()),
        held => {
            let reason = format!("{held} of {} names are cached right after mounting", sample.len());
            Err(refused(CacheState::FsCold, reason))
        }
    }
}

/// `true` if the cache alone can answer, with an inode or with the knowledge that there is none (`ENOENT`).
/// `EAGAIN` means that the kernel would have to ask the file system.
fn look(directory: BorrowedFd<'_>, path: &Sampled) -> Result<bool, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::CACHED | ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(directory, path.as_slice(), flags, Mode::empty(), resolve) {
        Ok(_) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Looks the sampled names up normally and expects reads from the device. Only in the trial before the run,
/// since it warms what it verifies.
pub(crate) fn verify_cold(
    state: CacheState,
    directory: BorrowedFd<'_>,
    sample: &[Sampled],
) -> Result<(), WorkError> {
    let before = thread_waits().read_sectors;
    are_there(directory, sample)?;
    if thread_waits().read_sectors > before {
        return Ok(());
    }
    let reason = format!("{} names were found without a read from the device", sample.len());
    Err(refused(state, reason))
}

/// Waits until little is left to be written. Dirty pages and inodes cannot be dropped, and their write-back
/// would compete with the block's reads. Other programs may have written as well, so their file systems
/// follow after half a second.
pub(super) fn drain(
    state: CacheState,
    directory: BorrowedFd<'_>,
    control: RunControl<'_>,
) -> Result<(), WorkError> {
    let started = Instant::now();
    let failed = |error: Errno| refused(state, format!("syncfs: {error}"));
    marked(control.heartbeat, WRITING_BACK, || rustix::fs::syncfs(directory)).map_err(failed)?;
    let mut others_wrote = false;
    loop {
        let unwritten = unwritten_bytes()
            .ok_or_else(|| refused(state, "/proc/meminfo does not report unwritten data"))?;
        if unwritten <= UNWRITTEN_BYTES_MAX {
            return Ok(());
        }
        if started.elapsed() > DRAIN_MAX {
            let (mib, s) = (unwritten >> 20, DRAIN_MAX.as_secs());
            let reason = format!(
                "{mib} MiB are still unwritten after {s} s; stop the programs that write on this machine"
            );
            return Err(refused(state, reason));
        }
        control.check()?;
        if started.elapsed() > DRAIN_ALONE && !others_wrote {
            marked(control.heartbeat, WRITING_BACK, write_back_others);
            others_wrote = true;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Unlike sync(2), waits for no file system of a server, which may not answer.
fn write_back_others() {
    for point in mounted_devices() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // Data that cannot be written back shows as unwritten.
        if let Ok(directory) = rustix::fs::open(point, flags, Mode::empty()) {
            let _ = rustix::fs::syncfs(directory);
        }
    }
}

pub(super) const SLABINFO: &str = "/proc/slabinfo";
const DENTRY: &str = "dentry";
/// Pages of a device that a mounted file system holds.
const PAGES_FEW: u64 = 256;
/// Free objects counted as used: the kernel counts per-CPU slabs as full.
const OBJECTS_FEW: u64 = 2_000;

/// A file system with known caches: contents in the page cache, names and inodes in kernel slabs, metadata
/// blocks as `buffers` says; all of them read from a device.
pub(super) struct Known {
    name: &'static str,
    /// Slabs of its inodes; the kernel configuration decides which driver serves an older version.
    inodes: &'static [&'static str],
    buffers: Buffers,
}

/// Place of cached metadata blocks: pages of the block device, or a slab of the driver.
enum Buffers {
    Device,
    /// Slab, missing from the list if the kernel merged it with another.
    Slab(&'static str),
}

const KNOWN: &[Known] = &[
    Known { name: "ext2", inodes: &["ext2_inode_cache", "ext4_inode_cache"], buffers: Buffers::Device },
    Known { name: "ext3", inodes: &["ext4_inode_cache"], buffers: Buffers::Device },
    Known { name: "ext4", inodes: &["ext4_inode_cache"], buffers: Buffers::Device },
    Known { name: "xfs", inodes: &["xfs_inode"], buffers: Buffers::Slab("xfs_buf") },
    Known { name: "btrfs", inodes: &["btrfs_inode"], buffers: Buffers::Slab("btrfs_extent_buffer") },
];

pub(super) fn known(file_system: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == file_system)
}

/// Kernel counts of the whole machine or device: an upper bound for a data set. Root only; slabinfo(5), cachestat(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlabCounts {
    pub(super) inodes: u64,
    pub(super) names: u64,
    pub(super) buffers: Option<Buffered>,
}

/// `few` is the number that may stay: a mounted file system always holds some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffered {
    pub(super) count: u64,
    pub(super) few: u64,
}

impl SlabCounts {
    pub(super) fn now(directory: BorrowedFd<'_>, file_system: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(SLABINFO)
            .map_err(|error| format!("{SLABINFO} cannot be read: {error}"))?;
        let counts = Self::parse(&text, file_system)
            .ok_or_else(|| format!("{SLABINFO} counts no inodes of {file_system}"))?;
        match known(file_system).map(|known| &known.buffers) {
            Some(Buffers::Device) => {
                let buffered = |count| Buffered { count, few: PAGES_FEW };
                Ok(Self { buffers: device_pages(directory).map(buffered), ..counts })
            }
            _ => Ok(counts),
        }
    }

    /// Active objects of the slabs in `/proc/slabinfo`, second column. `None` if no slab of inodes has the
    /// expected name, as on kernels that merge slabs.
    fn parse(text: &str, file_system: &str) -> Option<Self> {
        let known = known(file_system)?;
        let active = |slab: &str| {
            let line = text.lines().find(|line| line.split_ascii_whitespace().next() == Some(slab))?;
            line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
        };
        let inodes: Vec<u64> = known.inodes.iter().filter_map(|slab| active(slab)).collect();
        if inodes.is_empty() {
            return None;
        }
        let buffers = match known.buffers {
            Buffers::Device => None,
            Buffers::Slab(name) => active(name).map(|count| Buffered { count, few: OBJECTS_FEW }),
        };
        Some(Self { inodes: inodes.iter().sum(), names: active(DENTRY)?, buffers })
    }
}

fn device_pages(directory: BorrowedFd<'_>) -> Option<u64> {
    let device = megadir::block_device(directory).ok()?;
    resident(device.as_fd()).ok().map(|found| found.cached)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(inodes: u64) -> SlabCounts {
        SlabCounts { inodes, names: 500, buffers: None }
    }

    #[test]
    fn counts_show_which_entries_remain_cached() {
        let fresh = None;
        // 200 000 of the data set and 80 000 of other programs: all gone, half gone, all left.
        assert_eq!(remaining(fresh, counts(280_000), counts(80_000), 200_000), None);
        assert!(
            remaining(fresh, counts(280_000), counts(180_000), 200_000).unwrap().contains("180000 inodes")
        );
        assert!(remaining(fresh, counts(280_000), counts(280_000), 200_000).is_some());
        // Later drops find a cold cache, and know the share of other programs.
        let known = Some(counts(80_000));
        assert_eq!(remaining(known, counts(90_000), counts(80_500), 200_000), None);
        assert!(remaining(known, counts(280_000), counts(280_000), 200_000).is_some());
        // Small counts are no evidence of leftovers.
        assert_eq!(remaining(fresh, counts(300), counts(300), 1), None);
        let many = SlabCounts { inodes: 0, names: 400_000, buffers: None };
        assert!(remaining(fresh, many, many, 100_000).unwrap().contains("names"));
        let buffers = |count| SlabCounts { buffers: Some(Buffered { count, few: 256 }), ..counts(10) };
        assert!(remaining(fresh, buffers(1557), buffers(1540), 20_000).unwrap().contains("1540 buffers"));
        assert_eq!(remaining(fresh, buffers(1557), buffers(3), 20_000), None);
        assert_eq!(remaining(fresh, buffers(9000), buffers(2000), 20_000), None);
    }

    const TEXT: &str = "slabinfo - version: 2.1\n# name <active_objs> <num_objs>\n\
    ext4_inode_cache   69440  69441   1128   14    4 : tunables    0    0    0 : slabdata   4960   4960      0\n\
    xfs_buf              126    210    384   21    2 : tunables    0    0    0 : slabdata     10     10      0\n\
    xfs_inode            112    176   1024   16    4 : tunables    0    0    0 : slabdata     11     11      0\n\
    dentry            114723 114724    192   21    1 : tunables    0    0    0 : slabdata   5463   5463      0\n";

    #[test]
    fn counts_are_read_by_file_system() {
        assert_eq!(
            SlabCounts::parse(TEXT, "ext4"),
            Some(SlabCounts { inodes: 69440, names: 114_723, buffers: None })
        );
        assert_eq!(
            SlabCounts::parse(TEXT, "ext2"),
            Some(SlabCounts { inodes: 69440, names: 114_723, buffers: None })
        );
        assert_eq!(
            SlabCounts::parse(TEXT, "xfs"),
            Some(SlabCounts {
                inodes: 112,
                names: 114_723,
                buffers: Some(Buffered { count: 126, few: OBJECTS_FEW })
            })
        );
        assert_eq!(SlabCounts::parse(TEXT, "btrfs"), None);
        assert_eq!(SlabCounts::parse(TEXT, "tmpfs"), None);
        assert!(known("xfs").is_some() && known("tmpfs").is_none() && known("overlay").is_none());
    }
}
