//! Collects the rows of a walk for the sorter. A finished directory becomes one item, sorted by name.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use megadir::{Attributes, Batch, Conditions, DirPath, Entry, FileType, StatMask};

use super::collector::{Collector, DirRows};
use super::shared::Shared;
use super::{Excluded, Run, ScanOptions};
use crate::packed::Numbers;
use crate::path::{TreePath, split_bytes};
use crate::row::{Facts, device_number};
use crate::volumes::Devices;

/// Larger directories go to the sorter row by row.
const BLOCK_BYTES_MAX: usize = 4 << 20;

/// One for each thread. `blocks` are directories that are being listed; with one thread at a directory there
/// are few, unless large ones are split between threads. A block that is finished goes to `spare` and is used
/// again with its memory. `held_bytes` is the memory of all blocks of this thread, and above `held_bytes_max`
/// a directory is given to the sorter row by row.
pub(super) struct Gather<'o> {
    pub(super) run: &'o Run<'o>,
    collector: Collector<'o>,
    pub(super) newest_ns: Option<i64>,
    pub(super) devices: Devices,
    root: u32,
    path: PathBuf,
    blocks: BTreeMap<TreePath, Block>,
    spare: Vec<Block>,
    held_bytes: usize,
    pub(super) held_bytes_max: usize,
    /// Other entries of the directories are read separately, so that items of many rows would overlap.
    pub(super) one_by_one: bool,
}

/// Rows of one directory so far. `large` is set once it has been handed to the sorter in part: later rows
/// must go there one by one, because items of several rows must not overlap.
#[derive(Default)]
pub(super) struct Block {
    pub(super) rows: DirRows,
    large: bool,
    pub(super) first_failed: Option<(Vec<u8>, i32)>,
}

/// Number of the device. Subvolumes of btrfs are not distinguished from mounts, which does no harm.
#[inline]
fn on_other_mount(options: &ScanOptions, devices: &Devices, attributes: &Attributes) -> Option<u64> {
    if !options.cross_mounts || !attributes.have.contains(StatMask::DEVICE) {
        return None;
    }
    let device = device_number(attributes.device.0, attributes.device.1);
    (devices.root != Some(device)).then_some(device)
}

/// Rows below a directory need its row.
fn has_row(
    conditions: &Conditions,
    place: &megadir::Place,
    entry: &Entry<'_>,
    attributes: &Attributes,
) -> bool {
    let is_directory = attributes.kind == FileType::Directory || entry.kind == FileType::Directory;
    match is_directory {
        true => conditions.sees(place, entry.name),
        false => conditions.may_accept(place, entry.name, entry.kind, attributes),
    }
}

impl<'o> Gather<'o> {
    pub(super) fn new(run: &'o Run<'o>, root: u32, path: &Path, device: Option<u64>) -> Self {
        Self {
            run,
            collector: Collector::new(&run.shared),
            newest_ns: None,
            devices: Devices::new(device),
            root,
            path: path.to_owned(),
            blocks: BTreeMap::new(),
            spare: Vec::new(),
            held_bytes: 0,
            held_bytes_max: Shared::thread_bytes(run.options.memory_bytes, run.options.threads_max),
            one_by_one: false,
        }
    }

    pub(super) fn beside(&self) -> Self {
        Self {
            one_by_one: self.one_by_one,
            held_bytes_max: self.held_bytes_max,
            ..Self::new(self.run, self.root, &self.path, self.devices.root)
        }
    }

    pub(super) fn root(&mut self, facts: &Facts) -> io::Result<()> {
        self.collector.row(self.root, &TreePath::root(), b"", facts)
    }

    /// Called for each buffer of entries, so nothing here allocates for an entry. Conditions are asked before
    /// anything is stored. An entry that has vanished between listing and examination has no row. The newest
    /// time is kept for each mount, since a server's clock is another one, and comparisons need it to
    /// recognise racy files.
    pub(super) fn batch(
        &mut self,
        directory: &DirPath,
        batch: Batch<'_>,
        attributes: &[Attributes],
    ) -> io::Result<u64> {
        let path = directory.below();
        let options = self.run.options;
        let mut block = match self.blocks.remove(path) {
            Some(block) => block,
            None => self.spare.pop().unwrap_or_default(),
        };
        block.large |= self.one_by_one;
        let (before, mut added) = (block.rows.bytes(), 0);
        let conditions = options.conditions.as_deref();
        let place = conditions.map_or(megadir::Place::TOP, |conditions| conditions.place(path));
        for (index, entry) in batch.entries().enumerate() {
            let listed;
            let attributes = match attributes.get(index) {
                Some(attributes) => attributes,
                None => {
                    listed = Attributes { inode: entry.inode, have: StatMask::INODE, ..Attributes::NOTHING };
                    &listed
                }
            };
            // The walk does not enter a directory that has no row.
            if attributes.has_vanished() {
                continue;
            }
            if conditions.is_some_and(|conditions| !has_row(conditions, &place, &entry, attributes)) {
                continue;
            }
            let is_excluded = |excluded: &Excluded| {
                excluded.name == entry.name && excluded.is(entry.name, &Facts::new(entry.kind, attributes))
            };
            if options.exclude.iter().any(is_excluded) {
                continue;
            }
            if attributes.error != 0 {
                block.rows.failed += 1;
                block.first_failed.get_or_insert_with(|| (entry.name.to_vec(), attributes.error));
            }
            if attributes.kind == FileType::Directory && attributes.have.contains(StatMask::DEVICE) {
                self.devices.note(directory, entry.name, attributes);
            }
            let row = Numbers::queried(entry.kind, attributes);
            match on_other_mount(options, &self.devices, attributes) {
                None => self.newest_ns = self.newest_ns.max(row.newest_ns()),
                Some(device) => {
                    let newest = self.devices.newest_ns.entry(device).or_insert(i64::MIN);
                    *newest = row.newest_ns().map_or(*newest, |ns| ns.max(*newest));
                }
            }
            block.rows.add(&row, entry.name);
            added += 1;
        }
        self.held_bytes += block.rows.bytes() - before;
        if block.large || block.rows.bytes() > BLOCK_BYTES_MAX || self.held_bytes > self.held_bytes_max {
            block.large = true;
            self.put(path, &mut block)?;
        }
        self.blocks.insert(path.clone(), block);
        Ok(added)
    }

    pub(super) fn end(&mut self, directory: &DirPath) -> io::Result<Option<Block>> {
        let path = directory.below();
        let Some(mut block) = self.blocks.remove(path) else { return Ok(None) };
        self.put(path, &mut block)?;
        Ok(self.recycle(block))
    }

    pub(super) fn error(&mut self, path: &Path, error: &str) -> io::Result<()> {
        let path = megadir::names::from_os(path.as_os_str());
        let relative = relative(path, megadir::names::from_os(self.path.as_os_str()));
        let (parent, name) = split_bytes(&relative);
        self.collector.error(self.root, &parent.into(), name, error)
    }

    /// Facts of the directory may be in another part.
    pub(super) fn failed(&mut self, path: &TreePath, error: &str) -> io::Result<()> {
        let (parent, name) = path.split();
        self.collector.error(self.root, &parent, &name, error)
    }

    pub(super) fn end_all(&mut self) -> io::Result<()> {
        for (path, mut block) in std::mem::take(&mut self.blocks) {
            self.put(&path, &mut block)?;
            self.recycle(block);
        }
        Ok(())
    }

    fn put(&mut self, path: &TreePath, block: &mut Block) -> io::Result<()> {
        self.held_bytes -= block.rows.bytes();
        match block.large {
            true => self.collector.one_by_one(self.root, path, &mut block.rows),
            false => self.collector.rows(self.root, path, &mut block.rows),
        }
    }

    fn recycle(&mut self, mut block: Block) -> Option<Block> {
        if block.rows.failed > 0 {
            return Some(block);
        }
        block.large = false;
        // Enough for all threads, except in the deepest trees.
        if self.spare.len() < 16 && block.rows.capacity_bytes() <= BLOCK_BYTES_MAX / 8 {
            self.spare.push(block);
        }
        None
    }
}

pub(crate) fn relative<'p>(path: &'p [u8], prefix: &[u8]) -> std::borrow::Cow<'p, [u8]> {
    let rest = path.strip_prefix(prefix).unwrap_or(path);
    let separators: &[u8] = if cfg!(windows) { b"\\/" } else { b"/" };
    let start = rest.iter().position(|byte| !separators.contains(byte)).unwrap_or(rest.len());
    if cfg!(windows) && rest.contains(&b'\\') {
        let slash = |&byte: &u8| if byte == b'\\' { b'/' } else { byte };
        return rest[start..].iter().map(slash).collect::<Vec<_>>().into();
    }
    rest[start..].into()
}

#[cfg(test)]
mod tests {
    use super::relative;

    #[test]
    fn paths_are_relative_to_the_root_however_it_was_given() {
        for (path, prefix) in [("t/a/b", "t"), ("t/a/b", "t/"), ("/a/b", "/"), ("./a/b", ".")] {
            assert_eq!(&*relative(path.as_bytes(), prefix.as_bytes()), b"a/b", "{path}");
        }
        assert_eq!(&*relative(b"t", b"t"), b"");
    }
}
