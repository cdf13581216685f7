//! `vfs-cold`: drops names, inodes and contents of the whole machine, at least twice. One drop is not enough:
//! metadata just written to ext4 stay on the journal's list until a shrinker releases them (after creating 20
//! 000 files, 1540 of 1557 metadata pages survive the first drop, and 3 the second), and XFS writes inodes back
//! when its shrinker runs.
//!
//! The verification warms nothing: sampled names are looked up in the cache alone (`RESOLVE_CACHED`), and the
//! kernel's counts of inodes and names must have fallen.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use megadir_record::CacheState;
use megadir_sys::usage::thread_waits;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::cache::linux::slab_counts::{Buffered, Refusal, SlabCounts};
use crate::cache::refused;
use crate::cache::tree::{Sampled, are_there};
use crate::control::{RunControl, WRITING_BACK, WorkError, marked};
use crate::host::unwritten_bytes;

/// Path and value of the drop command: 3 drops pages and shrinks the caches of names and inodes.
pub(super) const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
const ALL: &str = "3";
/// Limit of dirty data of all programs together below which they disturb little, bytes.
const UNWRITTEN_BYTES_MAX: u64 = 64 << 20;
/// Timeout of that wait.
const DRAIN_MAX: Duration = Duration::from_secs(30);
/// After this time the whole machine is synced, not only the file system.
const DRAIN_ALONE: Duration = Duration::from_millis(500);
/// More follow while too much is left: inodes are freed some time after they were dropped.
const DROPS_MIN: u32 = 2;
/// XFS gives each metadata buffer up to 4 lives (`b_lru_ref`), takes one at every drop, and frees the buffer at
/// the next.
const DROPS_MIN_XFS: u32 = 6;
const DROPS_MAX: u32 = 12;
const PAUSE: Duration = Duration::from_millis(20);
/// The pause after an insufficient drop grows by this amount each time.
const PAUSE_AFTER_DROP: Duration = Duration::from_millis(30);
/// One in this many sampled names may still be cached; with fewer samples, none.
const CACHED_ONE_IN: usize = 50;
/// Objects that other running programs may add to their usual number.
const OTHERS_MAX: u64 = 10_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Counts left after the first verified drop, by type of file system: objects that other programs always
    /// hold.
    floors: BTreeMap<String, SlabCounts>,
}

impl Names {
    /// Drops everything and verifies that a data set with this many entries is gone.
    pub(super) fn drop_all(
        &mut self,
        directory: BorrowedFd<'_>,
        file_system: &str,
        entries: u64,
        sample: &[Sampled],
        control: RunControl<'_>,
    ) -> Result<(), WorkError> {
        let refuse = |Refusal(reason)| refused(CacheState::VfsCold, reason);
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
            match what_is_left(floor, before, after, entries).or_else(|| cached(directory, sample)) {
                None => {
                    self.floors.entry(file_system.to_owned()).or_insert(after);
                    return Ok(());
                }
                Some(what) => left = what,
            }
            control.check()?;
            std::thread::sleep(PAUSE_AFTER_DROP * dropped);
        }
        Err(refused(CacheState::VfsCold, format!("after {DROPS_MAX} drops {left}")))
    }
}

/// Returns a description of the objects left according to the counts, if there are too many.
fn what_is_left(
    floor: Option<SlabCounts>,
    before: SlabCounts,
    after: SlabCounts,
    entries: u64,
) -> Option<String> {
    let of_entries = |what: &str, before: u64, after: u64, floor: Option<u64>| {
        let few = OTHERS_MAX + entries / 10 + floor.map_or(0, |floor| floor + floor / 10);
        // Before the first drop the share of other programs is unknown, but the whole data set was cached.
        let fell = floor.is_none() && before.saturating_sub(after) >= entries - entries / 10;
        (after > few && !fell).then(|| format!("the kernel still holds {after} {what} (of {before})"))
    };
    let of_buffers = || {
        let (before, Buffered { count: after, few: after_max }) = (before.buffers?.count, after.buffers?);
        let floor = floor.and_then(|floor| floor.buffers).map(|buffers| buffers.count);
        let few = after_max + floor.map_or(0, |floor| floor + floor / 10);
        let fell = floor.is_none() && after <= before / 4;
        let what = "buffers of metadata";
        (after > few && !fell).then(|| format!("the kernel still holds {after} {what} (of {before})"))
    };
    of_entries("inodes", before.inodes, after.inodes, floor.map(|floor| floor.inodes))
        .or_else(|| of_entries("names", before.names, after.names, floor.map(|floor| floor.names)))
        .or_else(of_buffers)
}

/// Checks that names which were just looked up are found in the cache; otherwise a miss would prove nothing.
fn find_cached(directory: BorrowedFd<'_>, sample: &[Sampled]) -> Result<(), Refusal> {
    if sample.is_empty() {
        return Err("the data set is empty, so it has nothing to drop".to_owned().into());
    }
    let mut found = 0;
    for path in sample {
        match look(directory, path) {
            Ok(true) => found += 1,
            Ok(false) => {}
            Err(error) => {
                return Err(
                    format!("the cache cannot be searched for names (needs Linux 5.12): {error}").into()
                );
            }
        }
    }
    if found * 2 < sample.len() {
        let of = sample.len();
        return Err(format!(
            "only {found} of {of} names that were just looked up are in the cache, so nothing could be verified"
        )
        .into());
    }
    Ok(())
}

/// Returns a description of the sampled names still cached, if there are too many.
fn cached(directory: BorrowedFd<'_>, sample: &[Sampled]) -> Option<String> {
    let held: Vec<&Sampled> = sample.iter().filter(|path| look(directory, path).unwrap_or(true)).collect();
    let first = String::from_utf8_lossy(held.first()?);
    let (held, of) = (held.len(), sample.len());
    (held * CACHED_ONE_IN > of).then(|| {
        format!("{held} of {of} sampled names are still cached, first '{first}': another process uses them")
    })
}

/// Refuses a remounted file system with cached names: no process has used it yet, so there must be none.
pub(super) fn are_gone(directory: BorrowedFd<'_>, sample: &[Sampled]) -> Result<(), WorkError> {
    match sample.iter().filter(|path| look(directory, path).unwrap_or(false)).count() {
        0 => Ok(()),
        held => {
            let reason = format!("{held} of {} names are cached right after mounting", sample.len());
            Err(refused(CacheState::FsCold, reason))
        }
    }
}

fn look(directory: BorrowedFd<'_>, path: &Sampled) -> Result<bool, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::CACHED | ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(directory, path.as_slice(), flags, Mode::empty(), resolve) {
        // A cached negative entry is an entry in the cache too.
        Ok(_) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Stats the sampled names after a drop: this must read from the device.
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

/// Syncs the file system and waits until little dirty data is left on the whole machine.
pub(super) fn drain(
    state: CacheState,
    directory: BorrowedFd<'_>,
    control: RunControl<'_>,
) -> Result<(), WorkError> {
    let started = Instant::now();
    let failed = |error: Errno| refused(state, format!("syncfs: {error}"));
    marked(control.heartbeat, WRITING_BACK, || rustix::fs::syncfs(directory)).map_err(failed)?;
    let mut all_told = false;
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
        if started.elapsed() > DRAIN_ALONE && !all_told {
            marked(control.heartbeat, WRITING_BACK, rustix::fs::sync);
            all_told = true;
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffered, SlabCounts, what_is_left};

    fn counts(inodes: u64) -> SlabCounts {
        SlabCounts { inodes, names: 500, buffers: None }
    }

    #[test]
    fn counts_tell_what_is_left() {
        let fresh = None;
        // 200 000 of the data set and 80 000 of other programs: all gone, half gone, all left.
        assert_eq!(what_is_left(fresh, counts(280_000), counts(80_000), 200_000), None);
        assert!(
            what_is_left(fresh, counts(280_000), counts(180_000), 200_000).unwrap().contains("180000 inodes")
        );
        assert!(what_is_left(fresh, counts(280_000), counts(280_000), 200_000).is_some());
        // Later drops find a cold cache, and know the share of other programs.
        let known = Some(counts(80_000));
        assert_eq!(what_is_left(known, counts(90_000), counts(80_500), 200_000), None);
        assert!(what_is_left(known, counts(280_000), counts(280_000), 200_000).is_some());
        // Small counts are no evidence of leftovers.
        assert_eq!(what_is_left(fresh, counts(300), counts(300), 1), None);
        let many = SlabCounts { inodes: 0, names: 400_000, buffers: None };
        assert!(what_is_left(fresh, many, many, 100_000).unwrap().contains("names"));
        let buffers = |count| SlabCounts { buffers: Some(Buffered { count, few: 256 }), ..counts(10) };
        assert!(what_is_left(fresh, buffers(1557), buffers(1540), 20_000).unwrap().contains("1540 buffers"));
        assert_eq!(what_is_left(fresh, buffers(1557), buffers(3), 20_000), None);
        assert_eq!(what_is_left(fresh, buffers(9000), buffers(2000), 20_000), None);
    }
}
