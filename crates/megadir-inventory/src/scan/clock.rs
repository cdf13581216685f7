//! Resolution of a file system's timestamps.

use megadir::MountTraits;
use megadir::mount_traits::Clock;

use crate::row::Facts;

/// After this interval two changes have different times; `None` for a server's clock, if unknown, or if nothing changes. Linux
/// stamps files at the timer tick (finer since 6.13 only after a query), truncated to the stored precision.
pub(crate) fn granule_ns(traits: &MountTraits, root: &Facts) -> Option<u64> {
    // 128-byte inodes (ext2, ext3) store whole seconds and no birth time.
    let is_small = traits.drivers.contains(&"ext4") && root.born_ns.is_none();
    granule_of(traits).map(|granule_ns| if is_small { granule_ns.max(1_000_000_000) } else { granule_ns })
}

/// By the table alone.
pub(crate) fn granule_of(traits: &MountTraits) -> Option<u64> {
    match traits.clock {
        Clock::Own { stored_ns } => Some(tick_ns()?.max(stored_ns)),
        Clock::Servers | Clock::Stopped => None,
    }
}

#[cfg(target_os = "linux")]
fn tick_ns() -> Option<u64> {
    let tick = rustix::time::clock_getres(rustix::time::ClockId::RealtimeCoarse);
    let total = i128::from(tick.tv_sec) * 1_000_000_000 + i128::from(tick.tv_nsec);
    u64::try_from(total).ok()
}

/// 1 ms to 15.625 ms.
#[cfg(windows)]
fn tick_ns() -> Option<u64> {
    Some(15_625_000)
}

#[cfg(not(any(target_os = "linux", windows)))]
fn tick_ns() -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use megadir::MountTraits;

    use super::granule_ns;
    use crate::row::Facts;

    #[test]
    fn file_systems_that_store_less_have_wider_granules() {
        let born = Facts { born_ns: Some(0), ..Facts::NOTHING };
        let granule = |driver, facts| granule_ns(&MountTraits::of_type(driver), facts);
        let ext4 = granule("ext4", &born).unwrap();
        assert!((1..=10_000_000).contains(&ext4), "{ext4}");
        assert_eq!(granule("ext4", &Facts::NOTHING), Some(1_000_000_000));
        assert_eq!(granule("vfat", &Facts::NOTHING), Some(2_000_000_000));
        for driver in ["overlay", "jfs", "nilfs2", "ocfs2", "gfs2"] {
            assert_eq!(granule(driver, &Facts::NOTHING), Some(ext4), "{driver}");
        }
        for driver in ["reiserfs", "minix", "hfs", "hfsplus"] {
            assert_eq!(granule(driver, &Facts::NOTHING), Some(1_000_000_000), "{driver}");
        }
        for driver in ["nfs", "nfs4", "cifs", "9p", "fuse.sshfs", "fuse", "ceph", "squashfs", "erofs"] {
            assert_eq!(granule(driver, &born), None, "{driver}");
        }
    }
}
