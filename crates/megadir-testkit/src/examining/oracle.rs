//! Oracle for attributes: `std`, plus statx for the mount ID.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use megadir::{Attributes, FileType, Time, Want};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

pub type Truth = BTreeMap<Vec<u8>, Attributes>;

pub fn oracle(directory: &Path) -> Truth {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_vec(), of(&entry.path()))
        })
        .collect()
}

/// Panics if `std` and statx disagree.
pub fn of(path: &Path) -> Attributes {
    let metadata = std::fs::symlink_metadata(path).unwrap();
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let status =
        statx(CWD, path, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME | StatxFlags::MNT_ID).unwrap();
    let got = StatxFlags::from_bits_retain(status.stx_mask);
    let born = Time { seconds: status.stx_btime.tv_sec, nanoseconds: status.stx_btime.tv_nsec };
    let created = metadata.created().ok();
    assert_eq!(created.is_some(), got.contains(StatxFlags::BTIME), "{}", path.display());
    if let Some(created) = created {
        assert_eq!(created, system_time(born), "{}", path.display());
    }
    let missing = [(StatxFlags::BTIME, Want::BORN), (StatxFlags::MNT_ID, Want::MOUNT)];
    let have = missing
        .iter()
        .filter(|(bit, _)| !got.contains(*bit))
        .fold(Want::ALL, |have, (_, field)| have.without(*field));
    Attributes {
        have,
        error: 0,
        kind: kind(metadata.file_type()),
        mode: u16::try_from(metadata.mode() & 0o7777).unwrap(),
        links: metadata.nlink(),
        user: metadata.uid(),
        group: metadata.gid(),
        inode: metadata.ino(),
        size_bytes: metadata.size(),
        allocated_bytes: metadata.blocks() * 512,
        accessed: time(metadata.atime(), metadata.atime_nsec()),
        modified: time(metadata.mtime(), metadata.mtime_nsec()),
        changed: time(metadata.ctime(), metadata.ctime_nsec()),
        born,
        device: (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev())),
        mount: status.stx_mnt_id,
        special: (rustix::fs::major(metadata.rdev()), rustix::fs::minor(metadata.rdev())),
    }
}

fn time(seconds: i64, nanoseconds: i64) -> Time {
    Time { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap() }
}

fn system_time(time: Time) -> SystemTime {
    let whole = Duration::from_secs(time.seconds.unsigned_abs());
    let second = if time.seconds < 0 { UNIX_EPOCH - whole } else { UNIX_EPOCH + whole };
    second + Duration::from_nanos(u64::from(time.nanoseconds))
}

fn kind(kind: std::fs::FileType) -> FileType {
    match () {
        () if kind.is_file() => FileType::File,
        () if kind.is_dir() => FileType::Directory,
        () if kind.is_symlink() => FileType::Symlink,
        () if kind.is_fifo() => FileType::Fifo,
        () if kind.is_socket() => FileType::Socket,
        () if kind.is_block_device() => FileType::BlockDevice,
        () if kind.is_char_device() => FileType::CharDevice,
        () => FileType::Unknown,
    }
}
