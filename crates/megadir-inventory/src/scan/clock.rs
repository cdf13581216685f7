//! Resolution of a file system's timestamps.

use megadir::FileSystem;

use crate::row::Facts;

/// After this interval two changes have different times; `None` for a server's clock or if unknown. Linux
/// stamps files at the timer tick (finer since 6.13 only after a query), truncated to the stored precision.
pub(crate) fn granule_ns(file_system: FileSystem, root: &Facts) -> Option<u64> {
    let tick_ns = tick_ns()?;
    let stored_ns = match file_system {
        // 128-byte inodes (ext2, ext3) store whole seconds and no birth time.
        FileSystem::Ext4 if root.born_ns.is_none() => 1_000_000_000,
        FileSystem::Ext4
        | FileSystem::Xfs
        | FileSystem::Btrfs
        | FileSystem::Tmpfs
        | FileSystem::F2fs
        | FileSystem::Zfs => 1,
        FileSystem::Ntfs => 100,
        FileSystem::ExFat => 10_000_000,
        FileSystem::Fat => 2_000_000_000,
        _ => return None,
    };
    Some(tick_ns.max(stored_ns))
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
    use super::{FileSystem, granule_ns};
    use crate::row::Facts;

    #[test]
    fn file_systems_that_store_less_have_wider_granules() {
        let born = Facts { born_ns: Some(0), ..Facts::NOTHING };
        let ext4 = granule_ns(FileSystem::Ext4, &born).unwrap();
        assert!((1..=10_000_000).contains(&ext4), "{ext4}");
        assert_eq!(granule_ns(FileSystem::Ext4, &Facts::NOTHING), Some(1_000_000_000));
        assert_eq!(granule_ns(FileSystem::Fat, &Facts::NOTHING), Some(2_000_000_000));
        assert_eq!(granule_ns(FileSystem::Nfs, &born), None);
    }
}
