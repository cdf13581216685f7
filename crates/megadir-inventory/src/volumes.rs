//! Device numbers that stay the same over mounts.
//!
//! The kernel numbers each btrfs subvolume when it is first accessed after a mount, so that `st_dev` of a subvolume may be another's
//! after the next mount. The id in `f_fsid` of statfs(2) stays: on btrfs it is made of the UUID of the file system and the number of
//! the subvolume, which is never used again. Every user may ask for it. The inventory records both, and a later comparison
//! translates the numbers of today into those of the inventory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use megadir::{Attributes, Dir, FileType};
use serde::{Deserialize, Serialize};

use crate::metadata::Metadata;
use crate::row::{Facts, device_number};

/// A device number of an inventory's rows and the file system or subvolume that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// The number, as in [`Facts::device`].
    pub device: u64,
    /// The id that stays over mounts, 16 hex digits as `stat -f -c %i` prints them.
    pub fsid: String,
}

/// The inode number of the empty directory that btrfs shows in a snapshot where the original has a subvolume.
const STUB_INODE: u64 = 2;

/// `true` if these are the facts of a stub on btrfs: the kernel makes it up when it is looked up, with the time of that moment and
/// the device number of the mount. All stubs have the same inode number.
#[inline]
pub(crate) fn is_stub(facts: &Facts) -> bool {
    facts.inode == Some(STUB_INODE) && facts.kind == FileType::Directory && facts.size_bytes == Some(0)
}

/// Returns the facts of a stub that say something about it.
pub(crate) fn of_stub(facts: &Facts) -> Facts {
    Facts { device: None, modified_ns: None, changed_ns: None, born_ns: None, ..*facts }
}

/// The numbers that devices have now, by those of the inventory.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    /// By id: the number in the inventory.
    recorded: BTreeMap<String, u64>,
    /// By today's number: the number in the inventory, and the id.
    learned: HashMap<u64, (u64, Option<String>)>,
    /// Numbers that the inventory has for any device.
    taken: HashSet<u64>,
    /// Numbers of the inventory that stand for a device of today.
    assigned: HashSet<u64>,
}

impl Volumes {
    /// Takes what an inventory records.
    pub(crate) fn new(metadata: &Metadata) -> Self {
        let volumes = metadata.volumes.iter().flatten();
        Self::of(volumes.map(|volume| (volume.fsid.clone(), volume.device)).collect())
    }

    fn of(recorded: BTreeMap<String, u64>) -> Self {
        let taken = recorded.values().copied().collect();
        Self { recorded, taken, ..Self::default() }
    }

    /// Returns the inventory's number of a device that has been learned.
    pub(crate) fn before(&self, now: u64) -> Option<u64> {
        self.learned.get(&now).map(|learned| learned.0)
    }

    /// Records that a root's device has this number in the inventory.
    pub(crate) fn learn_root(&mut self, now: u64, before: u64, fsid: Option<String>) {
        self.taken.insert(before);
        self.assigned.insert(before);
        self.learned.insert(now, (before, fsid));
    }

    /// Returns the number in the inventory of a device with this id. A device that the inventory does not have keeps its number unless
    /// the inventory has it for another.
    pub(crate) fn learn(&mut self, now: u64, fsid: Option<String>) -> u64 {
        if let Some(before) = self.before(now) {
            return before;
        }
        let recorded = fsid.as_ref().and_then(|fsid| self.recorded.get(fsid)).copied();
        let before = match recorded.filter(|before| !self.assigned.contains(before)) {
            Some(before) => before,
            None => (now..).find(|number| !self.taken.contains(number)).unwrap_or(now),
        };
        self.taken.insert(before);
        self.assigned.insert(before);
        self.learned.insert(now, (before, fsid));
        before
    }

    /// Returns the number of devices that have been learned.
    pub(crate) fn len(&self) -> usize {
        self.learned.len()
    }

    /// Returns what the next inventory is to record: what was learned, and with `keep_unseen` what was not seen this time.
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

/// The devices of the directories of a tree, other than the root's.
pub(crate) struct Devices {
    root: Option<u64>,
    /// By device: a directory on it.
    pub(crate) first: HashMap<u64, PathBuf>,
}

impl Devices {
    pub(crate) fn new(root: Option<u64>) -> Self {
        Self { root, first: HashMap::new() }
    }

    /// Notes the device of a directory.
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

/// Returns the id of the file system or subvolume that an open directory lies on; `None` where there is none.
#[cfg(target_os = "linux")]
pub(crate) fn fsid(directory: impl rustix::fd::AsFd) -> Option<String> {
    let id = rustix::fs::fstatvfs(directory).ok()?.f_fsid;
    // The first of its two words is the lower half here and the upper half in what stat(1) prints.
    (id != 0).then(|| format!("{:016x}", id.rotate_left(32)))
}

/// Returns the id of a directory below another if it is on this device; it need not be readable. Another mount is left alone unless
/// `cross_mounts`: it may not answer.
#[cfg(target_os = "linux")]
pub(crate) fn fsid_below(parent: &Dir, name: &[u8], device: u64, cross_mounts: bool) -> Option<String> {
    use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};
    let resolve = if cross_mounts { ResolveFlags::empty() } else { ResolveFlags::NO_XDEV };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat2(parent, name, flags, Mode::empty(), resolve) {
        Ok(directory) => {
            fsid(&directory).filter(|_| fstat(&directory).is_ok_and(|stat| stat.st_dev == device))
        }
        // Linux before 5.6, or a container's filter that does not know the call.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
            let directory = parent.open_below_on_this_mount(name).ok()??;
            fsid(&directory).filter(|_| fstat(&directory).is_ok_and(|stat| stat.st_dev == device))
        }
        Err(_) => None,
    }
}

/// Returns `None`: only Linux numbers devices anew with each mount.
#[cfg(not(target_os = "linux"))]
pub(crate) fn fsid(_directory: &Dir) -> Option<String> {
    None
}

/// As [`fsid`].
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
        // A new one gets no number that stands for another.
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
