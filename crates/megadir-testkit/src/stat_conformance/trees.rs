//! Directories whose entries differ in their attributes, so that mixed-up rows are noticed, and their oracle.
//!
//! Almost every attribute of an entry follows from its index, by a hash: two rows that were exchanged
//! differ in all of them.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use megadir::{Attributes, FileType, StatMask, Time};
use rustix::fs::{
    AtFlags, CWD, FileType as Kind, Gid, Mode, StatxFlags, Timespec, Timestamps, Uid, chownat, makedev,
    mknodat, statx, utimensat,
};

use crate::rng::mix;
pub use crate::tree::ensure;
use crate::tree::{Flat, Maker};

/// Unchanging, and shared by all cases that do not write.
pub fn various(parent: &Path, entries: u64) -> PathBuf {
    ensure(parent, &format!("various-{entries}"), |path| fill(path, entries))
}

pub fn fill(directory: &Path, entries: u64) {
    let names = Flat::plain(entries);
    for index in 0..entries {
        let path = directory.join(std::str::from_utf8(&names.name(index)).unwrap());
        differ(&path, index);
    }
}

/// Attributes follow from the index as far as the type allows.
pub fn fill_with(directory: &Path, flat: &Flat) {
    let maker = Maker::open(directory);
    for index in 0..flat.entries {
        let (name, kind) = (flat.name(index), flat.kind(index));
        maker.make(&name, kind);
        let path = directory.join(megadir::names::to_os(&name).unwrap());
        if kind == FileType::File {
            std::fs::File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_len(mix(index) % (1 << 40))
                .unwrap();
        }
        let time = Time { seconds: index as i64 - 100, nanoseconds: mix(index) as u32 % 1_000_000_000 };
        set_modified(&path, time);
    }
}

/// Size, mode and time follow from the index. Sizes grow, so that no two entries have the same.
pub fn differ(path: &Path, index: u64) {
    let number = mix(index);
    let file = std::fs::File::create_new(path).unwrap();
    file.set_len(index * 4097 + number % 4097).unwrap();
    file.set_permissions(PermissionsExt::from_mode(0o600 | number as u32 & 0o177)).unwrap();
    drop(file);
    let seconds = (number % (1 << 32)) as i64 - (1 << 31) + 1;
    set_modified(path, Time { seconds, nanoseconds: (number >> 32) as u32 % 1_000_000_000 });
}

/// A link is not followed: links have times of their own.
pub fn set_modified(path: &Path, time: Time) {
    let time = Timespec { tv_sec: time.seconds, tv_nsec: i64::from(time.nanoseconds) };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Every type, mode and owner that this user may create, with one and several links.
pub fn kinds(parent: &Path) -> PathBuf {
    ensure(parent, "kinds", |path| {
        types(path);
        modes(path);
        links(path);
        if rustix::process::geteuid().is_root() {
            owners(path);
        }
        for (index, entry) in (0..).zip(std::fs::read_dir(path).unwrap()) {
            let seconds = 1_000_000_000 + index * 86_400;
            set_modified(&entry.unwrap().path(), Time { seconds, nanoseconds: 999_999_999 - index as u32 });
        }
    })
}

/// Every type that this user may create, with forms that are rare: long and looping
/// links, a device with a large number.
fn types(path: &Path) {
    std::fs::write(path.join("file"), "content").unwrap();
    std::fs::write(path.join("blocks"), vec![1; 300_000]).unwrap();
    std::fs::create_dir(path.join("empty-directory")).unwrap();
    let directory = path.join("directory");
    std::fs::create_dir(&directory).unwrap();
    for below in 0..5 {
        std::fs::create_dir(directory.join(format!("below-{below}"))).unwrap();
    }
    symlink("nowhere", path.join("dangling")).unwrap();
    symlink("file", path.join("to-a-file")).unwrap();
    symlink("directory", path.join("to-a-directory")).unwrap();
    // Longer than fits an inode.
    symlink("long/".repeat(200), path.join("long")).unwrap();
    symlink("loop", path.join("loop")).unwrap();
    let mode = Mode::from_raw_mode(0o640);
    mknodat(CWD, path.join("fifo"), Kind::Fifo, mode, 0).unwrap();
    mknodat(CWD, path.join("socket"), Kind::Socket, mode, 0).unwrap();
    if rustix::process::geteuid().is_root() {
        mknodat(CWD, path.join("char"), Kind::CharacterDevice, mode, makedev(1, 3)).unwrap();
        mknodat(CWD, path.join("char-large"), Kind::CharacterDevice, mode, makedev(511, 200_000)).unwrap();
        // Overlayfs refuses it, because it has a meaning there.
        let _ = mknodat(CWD, path.join("whiteout"), Kind::CharacterDevice, mode, 0);
        mknodat(CWD, path.join("block"), Kind::BlockDevice, mode, makedev(7, 200)).unwrap();
    }
}

/// With and without each special bit.
fn modes(path: &Path) {
    for mode in [0, 0o111, 0o444, 0o600, 0o755, 0o777, 0o1777, 0o2755, 0o4755, 0o6755, 0o7777] {
        let (file, directory) =
            (path.join(format!("file-{mode:o}")), path.join(format!("directory-{mode:o}")));
        std::fs::write(&file, format!("{mode}")).unwrap();
        std::fs::create_dir(&directory).unwrap();
        for made in [file, directory] {
            std::fs::set_permissions(made, PermissionsExt::from_mode(mode)).unwrap();
        }
    }
}

/// More links than two, since a count could be a flag.
fn links(path: &Path) {
    for links in [2, 3, 40] {
        let first = path.join(format!("links-{links}"));
        std::fs::write(&first, vec![0; links]).unwrap();
        for link in 1..links {
            std::fs::hard_link(&first, path.join(format!("links-{links}-{link}"))).unwrap();
        }
    }
}

/// Around the limits of 16 bits, and the largest number that is a user.
fn owners(path: &Path) {
    let far = u32::MAX - 1;
    for (user, group) in [(0, 1), (1, 0), (1000, 1001), (65_534, 65_534), (65_536, 1 << 20), (far, far)] {
        let file = path.join(format!("owner-{user}-{group}"));
        std::fs::write(&file, "").unwrap();
        symlink("nowhere", path.join(format!("link-of-{user}-{group}"))).unwrap();
        for name in [format!("owner-{user}-{group}"), format!("link-of-{user}-{group}")] {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            chownat(CWD, path.join(name), Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW).unwrap();
        }
    }
}

pub type Truth = BTreeMap<Vec<u8>, Attributes>;

/// Read by path, one entry after the other, with nothing of megadir.
pub fn oracle(directory: &Path) -> Truth {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_vec(), of(&entry.path()))
        })
        .collect()
}

/// The oracle comes from the standard library, and from one call of `statx` for what that lacks: birth time
/// and mount. A field is in `have` only if the file system returned it, so that a backend that invents a
/// birth time is found. Where both sources have a value they must agree.
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
    let missing = [(StatxFlags::BTIME, StatMask::BORN), (StatxFlags::MNT_ID, StatMask::MOUNT)];
    let have = missing
        .iter()
        .filter(|(bit, _)| !got.contains(*bit))
        .fold(StatMask::ALL, |have, (_, field)| have.without(*field));
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

/// Before 1970 the standard library counts backwards.
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
