//! Rows of some directories of trees, for a part of an inventory: other parts have the others.

use std::path::PathBuf;

use megadir::{Attributes, Dir, Error, FileType, Result, StatMask, TreePath, WalkItem};

use super::gather::Gather;
use super::read::words;
use super::{Run, ScanOptions, ScanWatch};
use crate::metadata::{Metadata, Root};
use crate::row::{Facts, device_number};
use crate::rows::Sink;
use crate::volumes::Devices;

/// Scan that the caller drives, directory by directory, for a part of an inventory.
///
/// The directories are walked with [`Facts::WANT`] and the ends of directories. A directory that cannot be read gets a
/// row with an error and without facts if another part has its row.
pub struct PartScan<'o> {
    run: Run<'o>,
}

/// Rows of directories of one tree.
pub struct PartTree<'s> {
    gather: Gather<'s>,
    /// Number of the root's device here, and in the inventory, if it is another.
    devices: Option<[(u32, u32); 2]>,
    renumbered: Vec<Attributes>,
    ended: TreeEnd,
}

/// Figures of a [`PartTree`] that has ended.
///
/// Returned apart from the tree, so that a task may visit several directories of one root, each as a tree of
/// its own, and note their volumes together when the root is at hand.
#[derive(Debug, Default)]
pub struct TreeEnd {
    root: u32,
    path: PathBuf,
    newest_ns: Option<i64>,
    devices: Devices,
    unread_directories: u64,
    mounts_not_entered: u64,
}

impl<'o> PartScan<'o> {
    /// Begins a part. `roots` and `stat_backend` must be the same in each part of an inventory.
    pub fn new(roots: Vec<Root>, stat_backend: String, options: &'o ScanOptions) -> Self {
        let mut run = Run::new(options);
        run.metadata.roots = roots;
        run.metadata.scanned.stat_backend = stat_backend;
        Self { run }
    }

    /// Begins directories of the tree below `directory`, which was opened by its path. Entries on its device get the number
    /// `device` (major, minor): another machine may number the device otherwise. In a range (`is_range`) of a
    /// directory's positions, rows are kept apart from rows of other ranges. Errors: as statx(2).
    pub fn tree(
        &mut self,
        root: u32,
        directory: &Dir,
        device: (u32, u32),
        is_range: bool,
    ) -> Result<PartTree<'_>> {
        let here = directory.attributes(StatMask::DEVICE)?.device;
        let devices = (here != device).then_some([here, device]);
        let device = Some(device_number(device.0, device.1));
        self.run.note_volume(directory, device);
        let path = directory.path().to_owned();
        let mut gather = Gather::new(&self.run, root, &path, device);
        gather.one_by_one = is_range;
        let ended = TreeEnd { root, path, ..TreeEnd::default() };
        Ok(PartTree { gather, devices, renumbered: Vec::new(), ended })
    }

    /// Takes the figures of directories that have ended.
    pub fn end(&mut self, ended: &TreeEnd, directory: &Dir) {
        self.run.note_volumes(directory, &ended.path, &ended.devices);
        let metadata = &mut self.run.metadata;
        metadata.unread_directories += ended.unread_directories;
        metadata.scanned.mounts_not_entered += ended.mounts_not_entered;
        if let Some(root) = metadata.roots.get_mut(ended.root as usize) {
            root.newest_ns = root.newest_ns.max(ended.newest_ns);
        }
    }

    /// Passes the rows to the sink, in the order of keys. Returns `None` if `watch` requested a stop. Errors: of temporary
    /// files and the sink.
    pub fn finish(self, watch: &mut ScanWatch<'_>, sink: &mut dyn Sink) -> Result<Option<Metadata>> {
        self.run.emit(watch, sink)
    }
}

impl PartTree<'_> {
    /// Adds the row of the root. Errors: of temporary files.
    pub fn root(&mut self, attributes: &Attributes) -> Result<()> {
        let facts = Facts::new(FileType::Directory, &renumbered(attributes, self.devices));
        self.gather.root(&facts).map_err(|error| self.spill(error))
    }

    /// Adds an item of a walk; returns the number of rows. Errors: of temporary files.
    pub fn add(&mut self, item: WalkItem<'_>) -> Result<u64> {
        let added = match item {
            WalkItem::Batch { directory, batch, attributes } => match self.devices {
                None => self.gather.batch(directory, batch, attributes),
                devices => {
                    self.renumbered.clear();
                    self.renumbered.extend(attributes.iter().map(|row| renumbered(row, devices)));
                    self.gather.batch(directory, batch, &self.renumbered)
                }
            },
            WalkItem::End { directory } => self.gather.end(directory).map(|_| 0),
            WalkItem::Error(error) => {
                self.ended.unread_directories += 1;
                self.gather.error(error.path(), &words(&error)).map(|()| 0)
            }
            WalkItem::OtherMount(_) => {
                self.ended.mounts_not_entered += 1;
                Ok(0)
            }
        };
        added.map_err(|error| self.spill(error))
    }

    /// Records that a directory could not be read. Errors: of temporary files.
    pub fn failed(&mut self, path: &TreePath, error: &Error) -> Result<()> {
        self.ended.unread_directories += 1;
        self.gather.failed(path, &words(error)).map_err(|error| self.spill(error))
    }

    /// Ends the directories. Errors: of temporary files.
    pub fn end(mut self) -> Result<TreeEnd> {
        self.gather.end_all().map_err(|error| self.spill(error))?;
        let Self { gather, ended, .. } = self;
        Ok(TreeEnd { newest_ns: gather.newest_ns, devices: gather.devices, ..ended })
    }

    fn spill(&self, error: std::io::Error) -> Error {
        self.gather.run.spill(error)
    }
}

fn renumbered(attributes: &Attributes, devices: Option<[(u32, u32); 2]>) -> Attributes {
    match devices {
        Some([here, there]) if attributes.device == here => Attributes { device: there, ..*attributes },
        _ => *attributes,
    }
}
