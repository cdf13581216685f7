//! Device numbers that survive a remount. The kernel numbers btrfs subvolumes on first access, so `st_dev`
//! changes between mounts, but `f_fsid` of statfs(2) stays. The inventory records both.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use megadir::{Attributes, Dir, FileType};

use crate::metadata::{Metadata, Volume};
use crate::row::{Facts, device_number};

/// Empty directory in a snapshot in place of a nested subvolume.
const STUB_INODE: u64 = 2;

/// btrfs synthesizes stubs on lookup, with the current time and the device number of the mount.
#[inline]
pub(crate) fn is_stub(facts: &Facts) -> bool {
    facts.inode == Some(STUB_INODE) && facts.kind == FileType::Directory && facts.size_bytes == Some(0)
}

pub(crate) fn of_stub(facts: &Facts) -> Facts {
    Facts { device: None, modified_ns: None, changed_ns: None, born_ns: None, ..*facts }
}

#[derive(Debug, Default)]
pub(crate) struct Volumes {
    recorded: BTreeMap<String, u64>,
    learned: HashMap<u64, (u64, Option<String>)>,
    taken: HashSet<u64>,
    assigned: HashSet<u64>,
}

impl Volumes {
    pub(crate) fn new(metadata: &Metadata) -> Self {
        let volumes = metadata.volumes.iter().flatten();
        Self::of(volumes.map(|volume| (volume.fsid.clone(), volume.device)).collect())
    }

    fn of(recorded: BTreeMap<String, u64>) -> Self {
        let taken = recorded.values().copied().collect();
        Self { recorded, taken, ..Self::default() }
    }

    pub(crate) fn before(&self, now: u64) -> Option<u64> {
        self.learned.get(&now).map(|learned| learned.0)
    }

    pub(crate) fn learn_root(&mut self, now: u64, before: u64, fsid: Option<String>) {
        self.taken.insert(before);
        self.assigned.insert(before);
        self.learned.insert(now, (before, fsid));
    }

    /// A new device keeps its number unless the inventory uses that.
    pub(crate) fn learn(&mut self, now: u64, fsid: Option<String>) -> u64 {
        if let Some(before) = self.before(now) {
            return before;
        }
        let recorded = fsid.as_ref().and_then(|fsid| self.recorded.get(fsid)).copied();
        let before = match recorded.filter(|before| !self.assigned.contains(before)) {
            Some(before) => before,
            None => (now..).find(|number| !self.taken.contains(number)).unwrap_or(now),
        };
        self.learn_root(now, before, fsid);
        before
    }

    pub(crate) fn len(&self) -> usize {
        self.learned.len()
    }

    /// `keep_unseen` adds recorded volumes that were not seen.
    pub(crate) fn record(self, keep_unseen: bool) -> Vec<Volume> {
        let mut by_device = BTreeMap::new();
        if keep_unseen {
            by_device.extend(self.recorded.into_iter().map(|(fsid, device)| (device, fsid)));
        }
        let learned = self.learned.into_values();
        by_device.extend(learned.filter_map(|(device, fsid)| Some((device, fsid?))));
        by_device.into_iter().map(|(device, fsid)| Volume { device, fsid }).collect()
    }
}

pub(crate) struct Devices {
    pub(crate) root: Option<u64>,
    pub(crate) first: HashMap<u64, PathBuf>,
}

impl Devices {
    pub(crate) fn new(root: Option<u64>) -> Self {
        Self { root, first: HashMap::new() }
    }

    pub(crate) fn note(&mut self, parent: &Path, name: &[u8], attributes: &Attributes) {
        let (major, minor) = attributes.device;
        let device = device_number(major, minor);
        if self.root != Some(device)
            && !self.first.contains_key(&device)
            && !is_stub(&Facts::new(FileType::Directory, attributes))
            && let Ok(name) = megadir::names::to_os(name)
        {
            self.first.insert(device, parent.join(name));
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn fsid(directory: impl rustix::fd::AsFd) -> Option<String> {
    let id = rustix::fs::fstatvfs(directory).ok()?.f_fsid;
    // stat(1) prints the two words in the opposite order.
    (id != 0).then(|| format!("{:016x}", id.rotate_left(32)))
}

/// Needs no read permission. Skips other mounts unless `cross_mounts`: they may hang.
#[cfg(target_os = "linux")]
pub(crate) fn fsid_below(parent: &Dir, name: &[u8], device: u64, cross_mounts: bool) -> Option<String> {
    use rustix::fd::{AsFd, BorrowedFd};
    use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};
    use rustix::io::Errno;
    let resolve = if cross_mounts { ResolveFlags::empty() } else { ResolveFlags::NO_XDEV };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let of = |directory: BorrowedFd<'_>| {
        fsid(directory).filter(|_| fstat(directory).is_ok_and(|stat| stat.st_dev == device))
    };
    match openat2(parent, name, flags, Mode::empty(), resolve) {
        Ok(directory) => of(directory.as_fd()),
        // Linux before 5.6, or a seccomp filter.
        Err(Errno::NOSYS | Errno::PERM) => of(parent.open_below_on_this_mount(name).ok()??.as_fd()),
        Err(_) => None,
    }
}

/// Only Linux renumbers devices at each mount.
#[cfg(not(target_os = "linux"))]
pub(crate) fn fsid(_directory: &Dir) -> Option<String> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn fsid_below(_parent: &Dir, _name: &[u8], _device: u64, _cross_mounts: bool) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::Volumes;

    fn recorded(volumes: &[(&str, u64)]) -> Volumes {
        Volumes::of(volumes.iter().map(|(fsid, device)| ((*fsid).to_owned(), *device)).collect())
    }

    #[test]
    fn numbers_that_were_dealt_out_again_are_translated() {
        let mut volumes = recorded(&[("a", 41), ("b", 42), ("gone", 43)]);
        assert_eq!(volumes.learn(41, Some("b".into())), 42);
        assert_eq!(volumes.learn(42, Some("a".into())), 41);
        assert_eq!(volumes.learn(42, None), 41, "once learned it stays");
        // A new volume avoids numbers of the inventory.
        assert_eq!(volumes.learn(43, Some("new".into())), 44);
        assert_eq!(volumes.learn(44, None), 45);
        let devices = |volumes: Volumes, keep| -> Vec<u64> {
            volumes.record(keep).iter().map(|volume| volume.device).collect()
        };
        assert_eq!(devices(volumes, false), [41, 42, 44]);
        assert_eq!(devices(recorded(&[("a", 41)]), true), [41]);
    }

    #[test]
    fn a_root_on_another_volume_takes_the_number_of_the_inventory() {
        let mut volumes = recorded(&[("a", 41)]);
        volumes.learn_root(50, 41, Some("copy".into()));
        assert_eq!((volumes.before(50), volumes.learn(51, Some("a".into()))), (Some(41), 51));
    }
}
