//! Start of a run by the clock that stamps the files, and the last sign of use of an entry.
//!
//! Files that were used, made, moved or linked since a run began stay, whatever else is known of them: a time that lies at or after the
//! start is no evidence of age, and the change time of the inode shows anything that happened to a file, because no process can set it.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::attributes::{Attributes, StatMask, Time};
use crate::conditions::TimeKind;
use crate::dir::Dir;
use crate::mount_traits::{Clock, MountTraits};

/// By so much a server's clock may be behind this machine's.
const SERVERS_BEHIND_SECONDS: i64 = 120;
const SECOND_NS: i128 = 1_000_000_000;
/// Linux's ticks are at most this long.
const TICK: Duration = Duration::from_millis(10);

/// Earliest time that a change from now on can get, and later than the times of earlier changes, where the file system stores times
/// that finely.
pub(super) fn now(directory: &Dir, traits: &MountTraits) -> Time {
    let steps_ns = steps_ns(directory, traits);
    // Since Linux 6.13, an examined file is stamped by the fine clock, of which the coarse one is behind by a tick or, if that is late, more.
    let before = nanoseconds(ClockId::Realtime);
    let waits = TICK.as_millis() as u32 * 5;
    if steps_ns <= TICK.as_nanos() as i128 {
        let mut waited = 0;
        while ticks_ns() <= before && waited < waits {
            std::thread::sleep(Duration::from_millis(1));
            waited += 1;
        }
    }
    let behind = if traits.clock == Clock::Servers { SERVERS_BEHIND_SECONDS } else { 0 };
    earliest(ticks_ns(), steps_ns, behind)
}

/// Linux stamps files by its coarse clock, or later.
fn ticks_ns() -> i128 {
    nanoseconds(ClockId::RealtimeCoarse)
}

fn nanoseconds(clock: ClockId) -> i128 {
    let now = clock_gettime(clock);
    i128::from(now.tv_sec) * SECOND_NS + i128::from(now.tv_nsec)
}

fn steps_ns(directory: &Dir, traits: &MountTraits) -> i128 {
    // Inodes of 128 bytes (ext2, ext3) store whole seconds and no birth time.
    let may_be_small = ["ext2", "ext4"].iter().any(|driver| traits.drivers.contains(driver));
    let is_born = || {
        directory.attributes(StatMask::BORN).is_ok_and(|attributes| attributes.have.contains(StatMask::BORN))
    };
    match traits.clock {
        Clock::Own { .. } if may_be_small && !is_born() => SECOND_NS,
        Clock::Own { stored_ns } => i128::from(stored_ns.max(1)),
        Clock::Servers | Clock::Stopped => SECOND_NS,
    }
}

fn earliest(now_ns: i128, steps_ns: i128, behind_seconds: i64) -> Time {
    let earliest_ns = now_ns - now_ns.rem_euclid(steps_ns);
    let seconds = i64::try_from(earliest_ns.div_euclid(SECOND_NS)).unwrap_or(i64::MAX);
    let nanoseconds = u32::try_from(earliest_ns.rem_euclid(SECOND_NS)).unwrap_or(0);
    Time { seconds: seconds.saturating_sub(behind_seconds), nanoseconds }
}

/// The time of an entry, or if its inode has changed since the start, the time of that.
pub(super) fn last_sign(by: TimeKind, began: Time, row: &Attributes) -> Time {
    change_since(began, row).map_or(by.of(row), |changed| changed.max(by.of(row)))
}

pub(super) fn change_since(began: Time, row: &Attributes) -> Option<Time> {
    Some(row.changed).filter(|changed| row.have.contains(StatMask::CHANGED) && *changed >= began)
}

/// `true` for a directory whose inode has changed since the start, and its names have not: it was renamed, moved or given away.
pub(super) fn is_renamed(began: Time, directory: &Attributes) -> bool {
    let is_written = !directory.have.contains(StatMask::MODIFIED) || directory.modified >= began;
    !is_written && change_since(began, directory).is_some()
}

#[cfg(test)]
mod tests {
    use super::{Time, earliest, last_sign, now};
    use crate::attributes::{Attributes, StatMask};
    use crate::conditions::TimeKind;
    use crate::dir::Dir;
    use crate::mount_traits::MountTraits;

    #[test]
    fn the_start_is_no_later_than_any_stamp_that_follows() {
        for (steps_ns, behind, expected) in [
            (1, 0, (1001, 700_000_003)),
            (1_000, 0, (1001, 700_000_000)),
            (1_000_000_000, 0, (1001, 0)),
            (2_000_000_000, 0, (1000, 0)),
            (1_000_000_000, 120, (881, 0)),
        ] {
            let began = earliest(1_001_700_000_003, steps_ns, behind);
            assert_eq!((began.seconds, i64::from(began.nanoseconds)), expected, "{steps_ns} {behind}");
        }
    }

    #[test]
    fn changes_before_the_start_have_earlier_stamps_and_changes_after_it_later_ones() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = Dir::open(scratch.path()).unwrap();
        let traits = MountTraits::of(&directory);
        for _ in 0..20 {
            std::fs::write(scratch.path().join("before"), "").unwrap();
            // An examined file has a finer stamp than the clock's ticks from now on.
            std::fs::metadata(scratch.path().join("before")).unwrap();
            std::fs::write(scratch.path().join("before"), "").unwrap();
            let began = now(&directory, &traits);
            std::fs::write(scratch.path().join("after"), "").unwrap();
            let changed = |name: &[u8]| {
                let status = rustix::fs::statat(&directory, name, rustix::fs::AtFlags::empty()).unwrap();
                Time { seconds: status.st_ctime, nanoseconds: status.st_ctime_nsec as u32 }
            };
            assert!(changed(b"after") >= began);
            assert!(changed(b"before") < began);
        }
    }

    #[test]
    fn a_change_of_the_inode_since_the_start_is_a_use_and_one_before_is_none() {
        let time = |seconds| Time { seconds, nanoseconds: 0 };
        let row =
            Attributes { have: StatMask::ALL, modified: time(5), changed: time(90), ..Attributes::NOTHING };
        let last = |began, row: &Attributes| last_sign(TimeKind::Modified, time(began), row).seconds;
        assert_eq!((last(91, &row), last(90, &row), last(1, &row)), (5, 90, 90));
        let unknown = Attributes { have: StatMask::MODIFIED, ..row };
        assert_eq!(last(1, &unknown), 5);
        assert_eq!(last(1, &Attributes { modified: time(200), ..row }), 200);
    }
}
