//! Device numbers that survive a remount. The kernel numbers btrfs subvolumes on first access, so `st_dev`
//! changes between mounts, but `f_fsid` of statfs(2) stays. The inventory records both. Where `f_fsid` is the device number itself, the
//! UUID identifies the file system.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use megadir::{Attributes, Dir, FileType};

use crate::metadata::{Metadata, Root, Volume};
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

/// Lasting names of a volume.
///
/// They do not depend on its device number. `identity` decides if both sides have one, and `fsid` otherwise;
/// neither is certain to be unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    pub(crate) fsid: String,
    pub(crate) identity: Option<String>,
    /// As in [`Volume::mount`].
    pub(crate) mount: Option<Root>,
}

/// No id: FUSE servers.
const NO_FSID: &str = "0000000000000000";

impl Id {
    pub(crate) fn of(volume: &Volume) -> Self {
        let Volume { fsid, identity, mount, .. } = volume.clone();
        Self { fsid, identity, mount }
    }

    pub(crate) fn on(self, device: u64) -> Volume {
        let Self { fsid, identity, mount } = self;
        Volume { device, fsid, identity, mount }
    }

    /// If one of them has no identity (earlier versions and kernels), by `fsid`.
    fn is(&self, volume: &Volume) -> bool {
        match (&self.identity, &volume.identity) {
            (Some(own), Some(other)) => own == other,
            _ => self.fsid == volume.fsid && self.fsid != NO_FSID,
        }
    }
}

/// Translates device numbers of now into the inventory's. `learned` has the translated numbers. `taken`
/// and `assigned` keep two devices of now from getting the same number: a device that the inventory does not
/// have gets one that no row has.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    recorded: Vec<Volume>,
    learned: HashMap<u64, (u64, Option<Id>)>,
    taken: HashSet<u64>,
    assigned: HashSet<u64>,
}

impl Volumes {
    pub(crate) fn new(metadata: &Metadata) -> Self {
        Self::of(metadata.volumes.clone().unwrap_or_default())
    }

    fn of(recorded: Vec<Volume>) -> Self {
        let taken = recorded.iter().map(|volume| volume.device).collect();
        Self { recorded, taken, ..Self::default() }
    }

    pub(crate) fn before(&self, now: u64) -> Option<u64> {
        self.learned.get(&now).map(|learned| learned.0)
    }

    pub(crate) fn learn_root(&mut self, now: u64, before: u64, id: Option<Id>) {
        self.taken.insert(before);
        self.assigned.insert(before);
        self.learned.insert(now, (before, id));
    }

    /// A new device keeps its number unless the inventory uses that.
    pub(crate) fn learn(&mut self, now: u64, id: Option<Id>) -> u64 {
        if let Some(before) = self.before(now) {
            return before;
        }
        // Two volumes may have one identity (a snapshot mounted with `nouuid`): each number is assigned once.
        let is_free = |volume: &&Volume| {
            id.as_ref().is_some_and(|id| id.is(volume)) && !self.assigned.contains(&volume.device)
        };
        // Of several with one identity, the one that has this device, so that clones do not exchange their numbers.
        let mut free = self.recorded.iter().filter(is_free);
        let same_device = self.recorded.iter().filter(is_free).find(|volume| volume.device == now);
        let before = match same_device.or_else(|| free.next()) {
            Some(volume) => volume.device,
            None => (now..).find(|number| !self.taken.contains(number)).unwrap_or(now),
        };
        self.learn_root(now, before, id);
        before
    }

    /// Recorded facts about the mount with this number.
    pub(crate) fn mount(&self, before: u64) -> Option<&Root> {
        self.recorded.iter().find(|volume| volume.device == before)?.mount.as_ref()
    }

    pub(crate) fn len(&self) -> usize {
        self.learned.len()
    }

    /// `keep_unseen` adds recorded volumes that were not seen.
    pub(crate) fn record(self, keep_unseen: bool) -> Vec<Volume> {
        let mut by_device = BTreeMap::new();
        if keep_unseen {
            by_device.extend(self.recorded.into_iter().map(|volume| (volume.device, volume)));
        }
        let learned = self.learned.into_values();
        by_device.extend(learned.filter_map(|(device, id)| Some((device, id?.on(device)))));
        by_device.into_values().collect()
    }
}

/// One thread's view of a tree: the first path met on each device, through which the device is identified
/// after the walk.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    pub(crate) root: Option<u64>,
    pub(crate) first: HashMap<u64, PathBuf>,
    /// Newest times on other mounts: their servers' clocks may differ.
    pub(crate) newest_ns: HashMap<u64, i64>,
}

impl Devices {
    pub(crate) fn new(root: Option<u64>) -> Self {
        Self { root, first: HashMap::new(), newest_ns: HashMap::new() }
    }

    /// With what another thread noted.
    pub(crate) fn and(mut self, other: Self) -> Self {
        for (device, at) in other.first {
            self.first.entry(device).or_insert(at);
        }
        for (device, ns) in other.newest_ns {
            let newest = self.newest_ns.entry(device).or_insert(ns);
            *newest = ns.max(*newest);
        }
        self
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
pub(crate) fn id(directory: impl rustix::fd::AsFd) -> Option<Id> {
    let (id, status) = (rustix::fs::fstatvfs(&directory).ok()?.f_fsid, rustix::fs::fstat(&directory).ok()?);
    // stat(1) prints the two words in the opposite order.
    let fsid = format!("{:016x}", id.rotate_left(32));
    let identity = match id {
        0 => megadir::mount_traits::source_of(&directory),
        _ if id == encoded(status.st_dev) => identity(directory, &status),
        _ => None,
    };
    (id != 0 || identity.is_some()).then_some(Id { fsid, identity, mount: None })
}

/// Device number as the kernel puts it into `f_fsid` (`huge_encode_dev`).
#[cfg(target_os = "linux")]
fn encoded(device: u64) -> u64 {
    let (major, minor) = (u64::from(rustix::fs::major(device)), u64::from(rustix::fs::minor(device)));
    minor & 0xff | major << 8 | (minor & !0xff) << 12
}

/// `SQUASHFS_MAGIC`
#[cfg(target_os = "linux")]
const SQUASHFS: rustix::fs::FsWord = 0x7371_7368;

/// SquashFS has no UUID, but its counts never change, and neither do the number and time of the mounted directory.
#[cfg(target_os = "linux")]
fn identity(directory: impl rustix::fd::AsFd, status: &rustix::fs::Stat) -> Option<String> {
    let directory = directory.as_fd();
    if let Some(uuid) = megadir::mount_traits::uuid_of(directory) {
        return Some(uuid);
    }
    let statfs = rustix::fs::fstatfs(directory).ok()?;
    let (blocks, files, inode, time) = (statfs.f_blocks, statfs.f_files, status.st_ino, status.st_mtime);
    (statfs.f_type == SQUASHFS).then(|| format!("squashfs-{blocks}-{files}-{inode}-{time}"))
}

/// Skips other mounts unless `cross_mounts`: they may hang. Without read permission there is no UUID.
#[cfg(target_os = "linux")]
pub(crate) fn id_below(parent: &Dir, name: &[u8], device: u64, cross_mounts: bool) -> Option<Id> {
    use rustix::fd::{AsFd, BorrowedFd};
    use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat2};
    use rustix::io::Errno;
    let resolve = if cross_mounts { ResolveFlags::empty() } else { ResolveFlags::NO_XDEV };
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let of = |directory: BorrowedFd<'_>| {
        let status = fstat(directory).ok()?;
        if status.st_dev == device { id(directory) } else { None }
    };
    let mount = || {
        let directory = parent.open_below(name).ok()?;
        let (mount, facts) = Root::of(directory.path(), &directory).ok()?;
        (facts.device == Some(device)).then_some(mount)
    };
    let with_mount = |id: Id| Id { mount: if cross_mounts { mount() } else { None }, ..id };
    let open = |access| openat2(parent, name, flags | access, Mode::empty(), resolve);
    let id = match open(OFlags::RDONLY).or_else(|_| open(OFlags::PATH)) {
        Ok(directory) => of(directory.as_fd()),
        // Linux before 5.6, or a seccomp filter.
        Err(Errno::NOSYS | Errno::PERM) => of(parent.open_below_on_this_mount(name).ok()??.as_fd()),
        Err(_) => None,
    };
    id.map(with_mount)
}

/// Only Linux renumbers devices at each mount.
#[cfg(not(target_os = "linux"))]
pub(crate) fn id(_directory: &Dir) -> Option<Id> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn id_below(_parent: &Dir, _name: &[u8], _device: u64, _cross_mounts: bool) -> Option<Id> {
    None
}

#[cfg(test)]
mod tests {
    use super::{Id, Volume, Volumes};

    fn id(fsid: &str) -> Option<Id> {
        Some(Id { fsid: fsid.to_owned(), identity: None, mount: None })
    }

    fn uuid(fsid: &str, uuid: &str) -> Option<Id> {
        Some(Id { fsid: fsid.to_owned(), identity: Some(uuid.to_owned()), mount: None })
    }

    fn recorded(volumes: &[(Option<Id>, u64)]) -> Volumes {
        Volumes::of(volumes.iter().map(|(id, device)| id.clone().unwrap().on(*device)).collect())
    }

    fn devices(volumes: Volumes, keep: bool) -> Vec<u64> {
        volumes.record(keep).iter().map(|volume| volume.device).collect()
    }

    #[test]
    fn numbers_that_were_dealt_out_again_are_translated() {
        let mut volumes = recorded(&[(id("a"), 41), (id("b"), 42), (id("gone"), 43)]);
        assert_eq!(volumes.learn(41, id("b")), 42);
        assert_eq!(volumes.learn(42, id("a")), 41);
        assert_eq!(volumes.learn(42, None), 41, "once learned it stays");
        // A new volume avoids numbers of the inventory.
        assert_eq!(volumes.learn(43, id("new")), 44);
        assert_eq!(volumes.learn(44, None), 45);
        assert_eq!(devices(volumes, false), [41, 42, 44]);
        assert_eq!(devices(recorded(&[(id("a"), 41)]), true), [41]);
    }

    #[test]
    fn volumes_with_swapped_devices_are_distinguished_by_identity() {
        let mut volumes = recorded(&[(uuid("41", "a"), 41), (uuid("42", "b"), 42)]);
        assert_eq!(volumes.learn(42, uuid("42", "a")), 41);
        assert_eq!(volumes.learn(41, uuid("41", "b")), 42);
        // One that has the device of another is not that one.
        let mut volumes = recorded(&[(uuid("41", "a"), 41)]);
        assert_eq!(volumes.learn(41, uuid("41", "new")), 42);
        // Inventories of earlier versions, and kernels without the call.
        assert_eq!(recorded(&[(id("41"), 41)]).learn(41, uuid("41", "a")), 41);
        assert_eq!(recorded(&[(uuid("41", "a"), 41)]).learn(41, id("41")), 41);
        // Without an id, the source of the mount decides.
        let mut volumes =
            recorded(&[(uuid(super::NO_FSID, "fuse.sshfs h:/a"), 41), (id(super::NO_FSID), 42)]);
        assert_eq!(volumes.learn(50, id(super::NO_FSID)), 50);
        assert_eq!(volumes.learn(51, uuid(super::NO_FSID, "fuse.sshfs h:/a")), 41);
        // A snapshot has the same identity.
        let mut volumes = recorded(&[(uuid("41", "a"), 41), (uuid("42", "a"), 42)]);
        assert_eq!((volumes.learn(41, uuid("41", "a")), volumes.learn(42, uuid("42", "a"))), (41, 42));
        // A thread may meet the second one first.
        let mut volumes = recorded(&[(uuid("41", "a"), 41), (uuid("42", "a"), 42)]);
        assert_eq!((volumes.learn(42, uuid("42", "a")), volumes.learn(41, uuid("41", "a"))), (42, 41));
    }

    #[test]
    fn earlier_inventories_have_no_identities() {
        let volume: Volume = serde_json::from_str(r#"{"device":66,"fsid":"90d27687133a8f6d"}"#).unwrap();
        assert_eq!(volume.identity, None);
        assert_eq!(serde_json::to_string(&volume).unwrap(), r#"{"device":66,"fsid":"90d27687133a8f6d"}"#);
    }

    #[test]
    fn a_root_on_another_volume_takes_the_number_of_the_inventory() {
        let mut volumes = recorded(&[(id("a"), 41)]);
        volumes.learn_root(50, 41, id("copy"));
        assert_eq!((volumes.before(50), volumes.learn(51, id("a"))), (Some(41), 51));
    }
}
