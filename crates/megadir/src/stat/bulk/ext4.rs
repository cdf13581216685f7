//! StatBackend `ext4-device`: inodes from the inode tables on the device, read through its page cache.
//!
//! ext4 changes an inode's block in the device's page cache whenever it changes the inode, so buffered reads see
//! it long before it is on the disk. What it keeps in memory only are times with the mount option `lazytime`, and
//! sizes and blocks of data not yet allocated: the sync at the start writes those, and a later write changes the
//! time of change, which is in the page cache at once. A read may meet half a change; the checksum reveals it.
//!
//! Tables are never read past their used part, which the kernel initialises behind the page cache. Uncached inodes of a
//! batch are read ahead together; in a tree with a growing part of the table behind them, and with the first blocks of
//! the subdirectories found. The strategy is windows of a million entries: in the order of the listing no two
//! neighbours share a block, and a call for one inode takes as long as statx(2).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use megadir_sys::ext4::{Ext4Directory, uuid};
use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};
use rustix::thread::{CapabilitySet, capabilities};

use super::worth::{self, Terms};
use super::{Answer, Bulk, Wanted};
use crate::attributes::{Attributes, StatMask, Time};
use crate::block_device::{block_device, has_its_numbers, read_soon};
use crate::dir::Dir;
use crate::error::reason_of;
use crate::ext4_disk::{Geometry, Place, Refusal, SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET, Unusable};
use crate::file_type::FileType;
use crate::mounts::Mount;

/// One thread's state. `bytes` takes one read, of inodes that lie next to each other. `window` is the range
/// read ahead so far; it grows while batches stay near. `is_cold` is `true` if a few inodes of the batch were
/// looked up in the page cache and not all were there: only then is anything read ahead.
pub(in crate::stat) struct InodeTables {
    bytes: Box<[u8]>,
    /// Tables of the groups seen so far: where each begins, and the inodes in it that are read; `None` if one is invalid.
    tables: BTreeMap<u32, Option<(u64, Range<u32>)>>,
    of: Option<Arc<Device>>,
    window: Window,
    is_cold: bool,
    /// Blocks of the directories of a cold batch, bytes from the start of the device.
    directories: Vec<Range<u64>>,
}

pub(in crate::stat) struct Device {
    file: File,
    geometry: Geometry,
}

const READ_BYTES: usize = 64 << 10;

/// Inodes of a batch that are looked up to see if it is cached.
const SAMPLES: usize = 4;

/// Blocks of a subdirectory that are read ahead; `read_ahead` cares for large ones.
const DIRECTORY_BYTES_MAX: u64 = 64 << 10;

/// Two ranges this near are read as one, unless an inode table fits between them: its unused part must not be read.
const NEAR_BYTES: u64 = 16 << 10;

/// Reads of a block that is being written at the moment.
const ATTEMPTS: usize = 3;

/// The superblock is written now and then, by another path than the page cache's.
const SUPERBLOCK_ATTEMPTS: usize = 100;

/// Read-ahead of a table: as long as uncached batches are near each other, each reads twice as far as the one before.
/// Directories are entered in the order of their inodes, which are near the inodes of their files.
#[derive(Default)]
struct Window {
    last: Range<u64>,
    ahead: u64,
}

const AHEAD_FIRST: u64 = 64 << 10;
const AHEAD_MAX: u64 = 4 << 20;

impl Window {
    fn extend(&mut self, needed: Range<u64>, table_end: u64) -> Range<u64> {
        let near = self.last.start.saturating_sub(AHEAD_MAX)..self.last.end + AHEAD_MAX;
        let follows = near.contains(&needed.start);
        self.ahead = if follows { (self.ahead * 2).clamp(AHEAD_FIRST, AHEAD_MAX) } else { 0 };
        self.last = needed.start..needed.end.max((needed.end + self.ahead).min(table_end));
        self.last.clone()
    }
}

impl Bulk for InodeTables {
    const NAME: &str = "ext4-device";
    const ABOUT: &str =
        "inodes from the device's page cache, after a sync of the file system (ext4 with checksums, root)";
    const READS_NEIGHBOURS: bool = true;
    const NUMBERS_DIRECTORIES: bool = true;
    const ALL_IS_LATE: bool = true;
    const LACKING: StatMask = StatMask::NOTHING;
    // A call for one inode takes as long as statx, and a page of inodes hardly longer.
    const TERMS: Terms = Terms { gap: 16, run_min: 1, walked_max: 32 };

    type Source = Arc<Device>;

    fn new() -> Self {
        Self {
            bytes: vec![0; READ_BYTES].into(),
            tables: BTreeMap::new(),
            of: None,
            window: Window::default(),
            is_cold: false,
            directories: Vec::new(),
        }
    }

    fn probe(directory: &Dir, mount: &Mount) -> Result<Arc<Device>, String> {
        let Ok(on_ext4) = Ext4Directory::check(directory.as_fd()) else {
            return Err(format!("ext4-device is for ext4, and this is {}", directory.file_system()));
        };
        check_mount(mount)?;
        check_process()?;
        let device = Device::open(directory)
            .map_err(|error| format!("cannot read the device: {}", reason_of(&error)))?;
        match uuid(on_ext4) {
            Ok(mounted) if mounted != device.geometry.uuid => {
                Err("the device has another UUID than the mounted file system".to_owned())
            }
            // Linux before 6.0 does not report it; the device number was compared already.
            _ => Ok(Arc::new(device)),
        }
    }

    fn settled(source: &Arc<Device>, settled: Time) -> Time {
        match source.geometry.keeps_seconds_only() {
            true => Time { nanoseconds: 0, ..settled },
            false => settled,
        }
    }

    fn prepare(&mut self, source: &Arc<Device>, wanted: &[Wanted]) {
        let samples = wanted.iter().step_by(wanted.len() / SAMPLES + 1);
        let offsets = samples.filter_map(|sample| self.range(source, std::slice::from_ref(sample))?.1);
        self.is_cold = !offsets.into_iter().all(|offset| source.is_cached(offset));
        if !self.is_cold {
            return;
        }
        let mut left = wanted;
        while !left.is_empty() {
            let run = &left[..worth::run(left, Self::TERMS.gap)];
            let Some((within, offset)) = self.range(source, run) else {
                left = &left[run.len()..];
                continue;
            };
            if let Some(offset) = offset {
                let inodes = within[within.len() - 1].inode - within[0].inode + 1;
                let end = offset + inodes * source.geometry.inode_bytes as u64;
                let table_end = self.table_end(source, within[0].inode).unwrap_or(end);
                // If it fails, only the time differs.
                let _ = read_soon(&source.file, self.window.extend(offset..end, table_end));
            }
            left = &left[within.len()..];
        }
    }

    fn finish(&mut self, source: &Arc<Device>) {
        self.directories.sort_unstable_by_key(|blocks| blocks.start);
        let near_bytes = NEAR_BYTES.min(source.geometry.table_bytes() - 1);
        let mut left = self.directories.drain(..).peekable();
        while let Some(mut blocks) = left.next() {
            while let Some(near) = left.next_if(|next| next.start <= blocks.end + near_bytes) {
                blocks.end = blocks.end.max(near.end);
            }
            // If it fails, only the time differs.
            let _ = read_soon(&source.file, blocks);
        }
    }

    fn call(
        &mut self,
        _directory: &Dir,
        source: &Arc<Device>,
        run: &[Wanted],
        mut given: impl FnMut(u64, Attributes),
    ) -> Option<Answer> {
        // One read for a run of inodes in one table. A damaged or changing inode has no row and is read by
        // statx later, so an error here is never the user's. In a cold batch the first blocks of
        // subdirectories are noted, because a walk lists these next.
        let Device { file, geometry } = &**source;
        let (within, offset) = self.range(source, run)?;
        let (first, last) = (within.first()?.inode, within.last()?.inode);
        let Some(offset) = offset else { return Some(Answer { last, walked: 0 }) };
        let inode_bytes = geometry.inode_bytes;
        let bytes = &mut self.bytes[..(last - first + 1) as usize * inode_bytes];
        file.read_exact_at(bytes, offset).ok()?;
        let mut before = None;
        for wanted in within.iter().map(|wanted| wanted.inode) {
            if before.replace(wanted) == Some(wanted) {
                continue;
            }
            let start = (wanted - first) as usize * inode_bytes;
            let raw = &mut bytes[start..start + inode_bytes];
            if let Some(row) = attributes(source, wanted, raw, offset + start as u64) {
                if self.is_cold && row.kind == FileType::Directory {
                    let blocks = geometry.first_extent(raw);
                    self.directories
                        .extend(blocks.map(|all| all.start..all.end.min(all.start + DIRECTORY_BYTES_MAX)));
                }
                given(wanted, row);
            }
        }
        Some(Answer { last, walked: (last - first + 1) as usize })
    }
}

impl InodeTables {
    /// Inodes from the first on that are read in one call, and where the first is on the device; `None` instead of
    /// that for inodes that are not read. Fails if the file system has no such inode.
    fn range<'w>(&mut self, source: &Arc<Device>, run: &'w [Wanted]) -> Option<(&'w [Wanted], Option<u64>)> {
        let geometry = &source.geometry;
        let first = run.first()?.inode;
        let Place { group, index } = geometry.place(first)?;
        let (offset, readable) = self.table(source, group).unwrap_or_default();
        let (end, offset) = if readable.contains(&index) {
            let at_once = (self.bytes.len() / geometry.inode_bytes) as u32;
            let offset = offset + u64::from(index) * geometry.inode_bytes as u64;
            (readable.end.min(index.saturating_add(at_once)), Some(offset))
        } else if index < readable.start {
            (readable.start, None)
        } else {
            (u32::MAX, None)
        };
        let within = run.partition_point(|wanted| {
            let place = geometry.place(wanted.inode);
            place.is_some_and(|place| place.group == group && place.index < end)
        });
        Some((&run[..within], offset))
    }

    fn table_end(&mut self, source: &Arc<Device>, inode: u64) -> Option<u64> {
        let (offset, readable) = self.table(source, source.geometry.place(inode)?.group)?;
        Some(offset + u64::from(readable.end) * source.geometry.inode_bytes as u64)
    }

    fn table(&mut self, device: &Arc<Device>, group: u32) -> Option<(u64, Range<u32>)> {
        if !self.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, device)) {
            self.tables.clear();
            self.of = Some(Arc::clone(device));
        }
        self.tables.entry(group).or_insert_with(|| device.table(group)).clone()
    }
}

#[inline]
fn attributes(device: &Device, inode: u64, raw: &mut [u8], offset: u64) -> Option<Attributes> {
    for _ in 1..ATTEMPTS {
        match device.geometry.attributes(inode, raw) {
            Ok(row) => return Some(row),
            Err(Unusable::Incomplete) => return None,
            Err(Unusable::Invalid) => device.file.read_exact_at(raw, offset).ok()?,
        }
    }
    device.geometry.attributes(inode, raw).ok()
}

impl Device {
    fn is_cached(&self, offset: u64) -> bool {
        let mut byte = [0];
        let into = &mut [IoSliceMut::new(&mut byte)];
        preadv2(&self.file, into, offset, ReadWriteFlags::NOWAIT).is_ok()
    }

    fn open(directory: &Dir) -> io::Result<Self> {
        let file = block_device(directory)?;
        // The kernel would read beyond the used blocks.
        fadvise(&file, 0, None, Advice::Random)?;
        let mut superblock = [0; SUPERBLOCK_BYTES];
        let mut decoded = Err(Refusal::NoSuperblock);
        for _ in 0..SUPERBLOCK_ATTEMPTS {
            file.read_exact_at(&mut superblock, SUPERBLOCK_OFFSET)?;
            decoded = Geometry::decode(&superblock);
            if decoded != Err(Refusal::NoSuperblock) {
                break;
            }
        }
        let geometry = decoded.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        Ok(Self { file, geometry })
    }

    fn table(&self, group: u32) -> Option<(u64, Range<u32>)> {
        let mut descriptor = vec![0; self.geometry.descriptor_bytes];
        for _ in 0..ATTEMPTS {
            self.file.read_exact_at(&mut descriptor, self.geometry.descriptor_offset(group)).ok()?;
            if let Some(table) = self.geometry.table(group, &descriptor) {
                let page_bytes = rustix::param::page_size() as u64;
                return Some((table.offset, self.geometry.readable(table, page_bytes)));
            }
        }
        None
    }
}

fn check_mount(mount: &Mount) -> Result<(), String> {
    if *mount.driver != *b"ext4" {
        let driver = String::from_utf8_lossy(&mount.driver).into_owned();
        return Err(format!("ext4-device is for ext4, and this is mounted as {driver}"));
    }
    if mount.maps_users {
        return Err("the mount is idmapped, and the device holds unmapped users".to_owned());
    }
    match ["nouid32", "sb"].into_iter().find(|option| mount.has_option(option)) {
        Some(option) => Err(format!("the mount option {option} changes what the device means")),
        None => Ok(()),
    }
}

/// Only root of the first user namespace may see every inode, by the numbers on the device.
fn check_process() -> Result<(), String> {
    let may = capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN));
    if !may {
        return Err("reading the device needs root or CAP_SYS_ADMIN".to_owned());
    }
    match has_its_numbers() {
        true => Ok(()),
        false => Err("this is a user namespace, and the device holds the numbers of the first".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    #[test]
    fn the_window_grows_while_batches_are_near_each_other_and_ends_with_the_table() {
        let mut window = Window::default();
        let far = 1 << 30;
        assert_eq!(window.extend(far..far + KIB, far * 2), far..far + KIB, "the first reads what it needs");
        assert_eq!(window.extend(far + KIB..far + 2 * KIB, far * 2), far + KIB..far + 66 * KIB);
        assert_eq!(window.extend(far..far + KIB, far * 2).end, far + 129 * KIB, "backwards too");
        assert_eq!(window.extend(far..far + KIB, far + 8 * KIB).end, far + 8 * KIB);
        for _ in 0..10 {
            window.extend(far..far + KIB, far * 2);
        }
        assert_eq!(window.extend(far..far + KIB, far * 2).end, far + KIB + AHEAD_MAX);
        assert_eq!(window.extend(0..KIB, far), 0..KIB, "another part of the device");
        assert_eq!(window.extend(0..2 * KIB, KIB).end, 2 * KIB, "needed blocks are read in any case");
    }
}
