//! Evidence that inode numbers and times of a file system give.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use megadir::mount_traits::{Clock, DirectoryRename};
use megadir::{FileSystem, FileType, MountTraits};

use crate::metadata::{Metadata, Root, Volume};
use crate::row::Facts;
use crate::scan::granule_of;

/// Facts of a file system on which identity rests, derived from its mount traits once for each device. Each
/// is `true` only if a comparison may rely on it; where one is `false`, fewer renames are found, but no wrong
/// ones. A field that is doubtful is `false`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proof {
    /// Birth times are not needed. True for NTFS under Windows: numbers include a sequence number, and birth times can be set and are
    /// inherited by a new file of the same name ("tunneling"). False for ReFS, whose listed 64 bits need not be unique, and FAT.
    pub(crate) unique_numbers: bool,
    /// Inode numbers identify files. False where they are made up when a file enters a cache, see
    /// [`megadir::mount_traits::InodeNumbers`].
    pub(crate) numbers: bool,
    /// Directory times are current wherever they are read. Listings on Windows may have older ones. False also where directories do not
    /// keep their times, see [`MountTraits::directory_times_last`].
    pub(crate) directory_times: bool,
    /// Subvolume stubs are possible, see [`crate::volumes::is_stub`].
    pub(crate) stubs: bool,
    /// Numbers of hard links are stat's, see [`MountTraits::has_link_counts`].
    pub(crate) links: bool,
    /// Effect of renaming a directory on its mtime and its entries, which decides about what identifies them.
    pub(crate) directory_rename: DirectoryRename,
    /// The ctime is stored, see [`MountTraits::stores_change_times`].
    pub(crate) change_times: bool,
    /// Directories keep their birth times, see [`MountTraits::directory_births_last`].
    pub(crate) directory_births: bool,
}

impl Proof {
    pub(crate) const COMMON: Self = Self {
        unique_numbers: false,
        numbers: true,
        directory_times: !cfg!(windows),
        stubs: false,
        links: true,
        directory_rename: DirectoryRename::KeepsTimes,
        change_times: true,
        directory_births: true,
    };

    pub(crate) fn of(file_system: FileSystem, traits: &MountTraits) -> Self {
        let unique_numbers = cfg!(windows) && file_system == FileSystem::Ntfs;
        let stubs = file_system == FileSystem::Btrfs;
        Self {
            unique_numbers,
            stubs,
            links: traits.has_link_counts,
            directory_rename: traits.directory_rename,
            change_times: traits.stores_change_times,
            directory_births: traits.directory_births_last,
            directory_times: Self::COMMON.directory_times && traits.directory_times_last,
            ..Self::COMMON
        }
    }

    /// Evidence of a mount, now and recorded.
    pub(crate) fn of_mounts(now: &Root, before: Option<&Root>) -> Self {
        let numbers = now.has_lasting_inodes() && before.is_none_or(Root::has_lasting_inodes);
        let file_system = FileSystem::from_name(&now.file_system);
        Self { numbers, ..Self::of(file_system, &now.mount_traits()) }
    }
}

/// Evidence by root, and for other mounts below the roots by the number of their device in the inventory.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    roots: Vec<Proof>,
    mounts: RwLock<HashMap<u64, Proof>>,
    has_mounts: AtomicBool,
    /// Mounts below the roots whose inode numbers do not identify files.
    unnumbered: Mutex<Vec<Root>>,
}

impl Proofs {
    pub(crate) fn new(roots: Vec<Proof>) -> Self {
        Self { roots, ..Self::default() }
    }

    /// Notes a mount below a root, with the number of its device in the inventory.
    pub(crate) fn note(&self, device: u64, mount: Root, before: Option<&Root>) {
        let proof = Proof::of_mounts(&mount, before);
        if !proof.numbers {
            self.unnumbered.lock().unwrap_or_else(PoisonError::into_inner).push(mount);
        }
        self.mounts.write().unwrap_or_else(PoisonError::into_inner).insert(device, proof);
        self.has_mounts.store(true, Ordering::Release);
    }

    pub(crate) fn of_root(&self, root: u32) -> Proof {
        self.roots.get(root as usize).copied().unwrap_or(Proof::COMMON)
    }

    #[inline]
    pub(crate) fn of(&self, root: u32, facts: &Facts) -> Proof {
        if self.has_mounts.load(Ordering::Acquire)
            && let Some(device) = facts.device
            && let Some(proof) = self.mounts.read().unwrap_or_else(PoisonError::into_inner).get(&device)
        {
            return *proof;
        }
        self.of_root(root)
    }

    pub(crate) fn unnumbered_mounts(&self) -> Vec<Root> {
        self.unnumbered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn roots(&self) -> &[Proof] {
        &self.roots
    }
}

/// Ticks of 10 ms, up to ten of them late.
const TICKS_NS: i64 = 100_000_000;
const SECOND_NS: i64 = 1_000_000_000;
/// For a server's clock of unknown precision.
const UNKNOWN_NS: i64 = 2 * SECOND_NS;

/// The racy rule: equal times prove nothing within one clock tick of the start of the scan, because a file
/// written right after its examination keeps its time. See git's `Documentation/technical/racy-git.txt`.
///
/// Multigrain timestamps (Linux 6.13) do not end that. A time that was looked at differs from the next one, but a write sets its
/// times before it copies the data, so that an examination within a write has the new times and the old contents. And the time of
/// such a write is that of the last tick, unless the file was examined before.
///
/// The granule is the coarsest of Linux's timestamp tick (up to 10 ms), its delay on an overcommitted machine, and
/// the stored precision. If a server's clock stamps the files, it counts from the newest time in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Racy {
    from_ns: i64,
}

impl Racy {
    /// No file is racy, because none can change.
    pub(crate) const NEVER: Self = Self { from_ns: i64::MAX };

    /// `started_ns` is by this machine's clock. Without a granule, the newest change in the tree counts.
    pub(crate) fn new(started_ns: i64, granule_ns: Option<u64>, newest_ns: Option<i64>) -> Self {
        let granule = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX).max(TICKS_NS);
        let from_ns = match granule_ns {
            Some(ns) => started_ns.saturating_sub(granule(ns)),
            None => newest_ns.map_or(i64::MIN, |newest| newest.min(started_ns).saturating_sub(UNKNOWN_NS)),
        };
        Self { from_ns }
    }

    /// For entries examined at `examined_ns` or later.
    pub(crate) fn of_root(metadata: &Metadata, root: u32, examined_ns: i64) -> Self {
        match metadata.roots.get(root as usize) {
            Some(root) => Self::of(root, examined_ns),
            None => Self::new(examined_ns, None, None),
        }
    }

    /// As [`Racy::of_root`], for files on the device with this number.
    pub(crate) fn of_device(metadata: &Metadata, root: u32, device: Option<u64>, examined_ns: i64) -> Self {
        let mut volumes = metadata.volumes.iter().flatten();
        match volumes.find(|volume| volume.mount.is_some() && Some(volume.device) == device) {
            Some(Volume { mount: Some(mount), .. }) => Self::of(mount, examined_ns),
            _ => Self::of_root(metadata, root, examined_ns),
        }
    }

    /// Inventories of earlier versions have no granule for many file systems with this machine's clock.
    fn of(root: &Root, examined_ns: i64) -> Self {
        let traits = root.mount_traits();
        match traits.clock {
            Clock::Stopped => Self::NEVER,
            _ => Self::new(examined_ns, root.granule_ns.or_else(|| granule_of(&traits)), root.newest_ns),
        }
    }

    pub(crate) fn is_racy(self, facts: &Facts) -> bool {
        // A write sets both, and ctime cannot be set back.
        self.is_racy_at(facts.changed_ns.or(facts.modified_ns))
    }

    #[inline]
    pub(crate) fn is_racy_at(self, time_ns: Option<i64>) -> bool {
        match time_ns {
            _ if self == Self::NEVER => false,
            Some(time_ns) => time_ns.saturating_add(stored_granule_ns(time_ns)) >= self.from_ns,
            None => true,
        }
    }

    pub(crate) fn is_suspect(self, facts: &Facts) -> bool {
        has_contents(facts) && self.is_racy(facts)
    }
}

pub(crate) fn has_contents(facts: &Facts) -> bool {
    match facts.kind {
        FileType::File => facts.size_bytes != Some(0),
        FileType::Symlink | FileType::Unknown => true,
        // The contents behind a device node are not the tree's, and overlayfs's whiteouts are character devices.
        FileType::BlockDevice | FileType::CharDevice | FileType::Whiteout => false,
        FileType::Directory | FileType::Fifo | FileType::Socket => false,
    }
}

fn stored_granule_ns(time_ns: i64) -> i64 {
    match (time_ns % SECOND_NS, time_ns / SECOND_NS % 2) {
        (0, 0) => 2 * SECOND_NS,
        (0, _) => SECOND_NS,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(changed_ns: i64) -> Facts {
        let kind = FileType::File;
        Facts {
            kind,
            size_bytes: Some(1),
            changed_ns: Some(changed_ns),
            modified_ns: Some(0),
            ..Facts::NOTHING
        }
    }

    #[test]
    fn changes_within_a_granule_of_the_scan_are_suspect() {
        let start = 50 * SECOND_NS + 500_000_000;
        let racy = Racy::new(start, Some(4_000_000), None);
        for (time, suspect) in [
            (start + SECOND_NS, true),
            (start, true),
            (start - TICKS_NS, true),
            (start - TICKS_NS - 1, false),
            (start - 20 * SECOND_NS, false),
            // No nanoseconds: possibly truncated, by up to two seconds if the second is even.
            (50 * SECOND_NS, true),
            (49 * SECOND_NS, false),
            (48 * SECOND_NS, false),
        ] {
            assert_eq!(racy.is_suspect(&file(time)), suspect, "{time}");
        }
        let seconds = Racy::new(start, Some(SECOND_NS as u64), None);
        assert!(seconds.is_suspect(&file(49 * SECOND_NS + 500_000_000)));
        assert!(seconds.is_suspect(&file(49 * SECOND_NS)));
        assert!(!seconds.is_suspect(&file(47 * SECOND_NS)));
    }

    #[test]
    fn another_machines_clock_is_read_from_the_newest_change() {
        // One server's clock is an hour slow, another's is fast.
        let start = 7200 * SECOND_NS + 5;
        for newest in [3600 * SECOND_NS + 5, 9000 * SECOND_NS + 5] {
            let racy = Racy::new(start, None, Some(newest));
            assert!(racy.is_suspect(&file(newest)));
            assert!(racy.is_suspect(&file(newest.min(start) - UNKNOWN_NS)));
            assert!(!racy.is_suspect(&file(newest.min(start) - UNKNOWN_NS - 1)));
        }
        assert!(Racy::new(start, None, None).is_suspect(&file(1)));
    }

    #[test]
    fn entries_without_contents_are_no_suspects() {
        let racy = Racy::new(0, Some(1), None);
        assert!(racy.is_suspect(&file(1)));
        assert!(!racy.is_suspect(&Facts { size_bytes: Some(0), ..file(1) }));
        for (kind, suspect) in [
            (FileType::Directory, false),
            (FileType::Fifo, false),
            (FileType::Socket, false),
            (FileType::Symlink, true),
            (FileType::CharDevice, false),
            (FileType::BlockDevice, false),
            (FileType::Whiteout, false),
            (FileType::Unknown, true),
        ] {
            assert_eq!(racy.is_suspect(&Facts { kind, ..file(1) }), suspect, "{kind:?}");
        }
        // The entries of a directory may still have changed.
        assert!(racy.is_racy(&Facts { kind: FileType::Directory, ..file(1) }));
        let without = Facts { changed_ns: None, modified_ns: None, ..file(1) };
        assert!(racy.is_suspect(&without), "no time proves nothing");
    }

    fn is_suspect(file_system: &str, driver: Option<&str>, age_ns: i64) -> bool {
        let examined_ns = 2000 * SECOND_NS + 5;
        let changed_ns = examined_ns - age_ns;
        let file = FileType::File;
        let root = Root {
            path: b"/".to_vec(),
            file_system: file_system.to_owned(),
            driver: driver.map(str::to_owned),
            lasting_inodes: None,
            granule_ns: None,
            newest_ns: Some(changed_ns),
        };
        let facts = Facts { kind: file, size_bytes: Some(1), changed_ns: Some(changed_ns), ..Facts::NOTHING };
        Racy::of(&root, examined_ns).is_suspect(&facts)
    }

    #[test]
    fn the_newest_file_of_a_tree_is_a_suspect_only_where_the_clock_is_a_servers() {
        let old = 6 * SECOND_NS + 3;
        for (file_system, driver) in [
            ("overlay", None),
            ("overlay", Some("overlay")),
            // As recorded before the file system had a name.
            ("file system 0x15013346", None),
            ("minix", Some("minix")),
        ] {
            assert!(!is_suspect(file_system, driver, old), "{file_system}");
            assert!(is_suspect(file_system, driver, 3), "{file_system}");
        }
        for (file_system, driver) in [("nfs", None), ("fuse", Some("fuse.sshfs")), ("ext4", Some("9p"))] {
            assert!(is_suspect(file_system, driver, old), "{file_system}");
        }
    }

    #[test]
    fn nothing_on_a_read_only_format_is_a_suspect() {
        for (file_system, driver) in
            [("squashfs", Some("squashfs")), ("file system 0x73717368", None), ("erofs", Some("erofs"))]
        {
            assert!(!is_suspect(file_system, driver, -5), "{file_system}");
        }
    }
}
