//! btrfs: free space in chunks, from `/sys/fs/btrfs/UUID/allocation`, without privileges.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use megadir_sys::btrfs_search::{BtrfsDirectory, file_system_identifier};

use crate::dir::Dir;
use crate::limits::facts::BtrfsSpace;

const SECTOR_BYTES: u64 = 512;
const DEVICE_UNUSED_BYTES: u64 = 1 << 20; // BTRFS_DEVICE_RANGE_RESERVED
/// Default of `max_inline`.
pub(super) const PACKED_BYTES: u64 = 2048;

pub(super) fn space(directory: &Dir) -> Option<BtrfsSpace> {
    let root = folder(BtrfsDirectory::check(directory.as_fd()).ok()?)?;
    let kinds = root.join("allocation");
    let is_mixed = kinds.join("mixed").is_dir();
    let metadata = kinds.join(if is_mixed { "mixed" } else { "metadata" });
    let data = kinds.join(if is_mixed { "mixed" } else { "data" });
    let free = |of: &Path| {
        let taken = ["bytes_used", "bytes_reserved", "bytes_pinned", "bytes_readonly"];
        let taken: u64 = taken.into_iter().filter_map(|name| number(of, name)).sum();
        Some(number(of, "total_bytes")?.saturating_sub(taken))
    };
    // `bytes_may_use` contains the global reserve.
    let kept = number(&kinds, "global_rsv_size")?.max(number(&metadata, "bytes_may_use").unwrap_or(0));
    let metadata_bytes = number(&metadata, "total_bytes")?;
    let on_disk = |kind: &str| number(&kinds.join(kind), "disk_total").unwrap_or(0);
    let allocated: u64 = ["data", "metadata", "system", "mixed"].into_iter().map(on_disk).sum();
    let devices = std::fs::read_dir(root.join("devices")).ok()?.flatten();
    let device_bytes: u64 = devices
        .filter_map(|device| number(&device.path(), "size"))
        .map(|sectors| (sectors * SECTOR_BYTES).saturating_sub(DEVICE_UNUSED_BYTES))
        .sum();
    Some(BtrfsSpace {
        metadata_free_bytes: free(&metadata)?.saturating_sub(kept),
        metadata_copies: (number(&metadata, "disk_total")? / metadata_bytes.max(1)).max(1),
        data_free_bytes: if is_mixed { 0 } else { free(&data)? },
        unallocated_bytes: device_bytes.saturating_sub(allocated),
        is_mixed,
    })
}

pub(super) fn folder(on: BtrfsDirectory<'_>) -> Option<PathBuf> {
    let identifier = file_system_identifier(on).ok()?;
    Some(Path::new("/sys/fs/btrfs").join(hyphenated(&identifier)))
}

pub(super) fn hyphenated(identifier: &[u8; 16]) -> String {
    let mut text = String::new();
    for (index, byte) in identifier.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

pub(super) fn number(folder: &Path, name: &str) -> Option<u64> {
    std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok()
}
