//! Lists the rows of an inventory as the entries of the tree that it was written of. The tree is not read.
//!
//! A file that is an inventory stands for its tree, as in `usage` and `changes`. A folder of parts is a directory as any other: looking for the file
//! that marks it would take as long as reading the whole directory where names have no index. That file stands for the folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use megadir::{Attributes, BatchBuilder, DirPath, FileType, TreePath, names};
use megadir_inventory::{Inventory, Key, PARTS_FILE, Row, Rows, SeenRows};

use super::args::{Args, Of, Sort};
use super::field::Field;
use super::lines::{Label, Lines};
use super::sampled::Sampled;
use super::{Run, Stop};
use crate::cmd::conditions::refuse_unrecorded;
use crate::cmd::recorded::{recorded_roots, refuse_reading_options};
use crate::exit::{CliError, SOME_FAILED, describe};
use crate::ui::message::quoted;

/// Entries of one directory are printed together.
const HELD_ENTRIES: usize = 1 << 12;
const HELD_BYTES: usize = 64 << 10;

/// Path of the inventory that `path`, which is not a directory, stands for.
pub(super) fn inventory_at(path: &Path) -> Option<PathBuf> {
    if path.file_name()? == PARTS_FILE {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        return Some(folder.unwrap_or(Path::new(".")).to_owned());
    }
    Inventory::recognizes(path).then(|| path.to_owned())
}

/// Entries of the current directory that have not been printed.
struct Held {
    batch: BatchBuilder,
    attributes: Vec<Attributes>,
    parent: Vec<u8>,
    root: u32,
}

impl Held {
    fn is_of(&self, key: &Key<'_>) -> bool {
        (self.root, &self.parent[..]) == (key.root, key.parent)
    }

    fn add(&mut self, row: &Row<'_>) {
        if self.batch.push(row.key.name, row.facts.inode.unwrap_or(0), row.facts.kind, 0) {
            self.attributes.push(row.facts.attributes());
        }
    }

    fn is_full(&self) -> bool {
        self.attributes.len() == HELD_ENTRIES
    }
}

impl Run<'_> {
    pub(super) fn recorded(&mut self, path: &Path) -> Result<(), Stop> {
        let inventory = Inventory::open(path)?;
        check(self.args, &inventory)?;
        refuse_unrecorded(&self.conditions, &inventory)?;
        if let Some(error) = inventory.unfinished() {
            let message = describe(&error);
            self.fail(&CliError::some_failed(message));
        }
        let roots = recorded_roots(inventory.metadata())?;
        if self.args.explain {
            eprintln!("megadir: {}: rows of the inventory; the tree is not read", quoted(path));
        }
        match self.conditions.limits_sight() {
            true => self.rows_of(SeenRows::new(inventory, Arc::clone(&self.conditions)), &roots),
            false => self.rows_of(inventory, &roots),
        }
    }

    /// Gathers the rows of one directory into a batch, so that they pass through the same functions as entries of a
    /// tree. Rows come in the order of the inventory, in which those of a directory follow each other; the batch is
    /// printed when the directory changes or `HELD_BYTES` are full. A directory that the scan could not read is
    /// reported as a failure where its row comes. The row of the root itself is no entry.
    fn rows_of(&mut self, mut rows: impl Rows, roots: &[PathBuf]) -> Result<(), Stop> {
        let roots: Vec<DirPath> = roots.iter().map(|root| DirPath::from(root.as_path())).collect();
        let lines = Lines { with_path: self.lines.with_path || roots.len() > 1, ..self.lines };
        let label = |directory: DirPath| {
            let mut label = lines.label(directory);
            label.is_recorded = true;
            label
        };
        let Some(first) = roots.first() else { return Ok(()) };
        let mut current = label(first.clone());
        let batch = BatchBuilder::new(HELD_BYTES, false);
        let mut held = Held { batch, attributes: Vec::new(), parent: Vec::new(), root: 0 };
        self.place = self.conditions.place(&TreePath::root());
        while let Some(row) = rows.next_row()? {
            if !self.args.recursive && !row.key.parent.is_empty() {
                continue;
            }
            if !held.is_of(&row.key) {
                self.print(&mut held, &current)?;
                let below = TreePath::sharing(row.key.parent, current.directory.below());
                self.place = self.conditions.place(&below);
                let root = roots.get(row.key.root as usize).unwrap_or(first);
                // Trees of one inventory are sampled as if each were named.
                for _ in held.root..row.key.root {
                    self.sampled.iter_mut().for_each(Sampled::next_tree);
                }
                current = label(root.at(below));
                held.root = row.key.root;
                held.parent.clear();
                held.parent.extend_from_slice(row.key.parent);
            }
            if let Some(reason) = unread(&row, self.args.recursive) {
                let below = current.directory.join(&*names::to_os(row.key.name)?);
                let path = if row.key.is_root() { current.directory.to_path_buf() } else { below };
                let message = format!("{}: not read by the scan: {reason}", quoted(&path));
                self.fail_below(reason, 1, &CliError { message, code: SOME_FAILED });
            }
            if !row.key.is_root() {
                held.add(&row);
            }
            if held.is_full() {
                self.print(&mut held, &current)?;
            }
        }
        self.print(&mut held, &current)
    }

    fn print(&mut self, held: &mut Held, label: &Label) -> Result<(), Stop> {
        let batch = held.batch.batch();
        self.read(batch.len());
        let printed = match self.want() {
            Some(_) => self.rows(batch.entries().zip(&held.attributes), label, &label.directory),
            None => self.batch(batch, label),
        };
        held.batch.clear();
        held.attributes.clear();
        printed
    }
}

/// Error of the scan, for a directory whose entries are missing in the inventory.
fn unread<'r>(row: &Row<'r>, recursive: bool) -> Option<&'r str> {
    let is_listed = row.key.is_root() || recursive && row.facts.kind == FileType::Directory;
    row.error.filter(|_| is_listed)
}

/// Refuses options that read a tree, and fields or orders that this inventory lacks, before rows are read: an option
/// that is ignored would make the output look like one of the tree as it is now.
fn check(args: &Args, inventory: &Inventory) -> Result<(), CliError> {
    let path = inventory.path();
    refuse_reading_options(
        path,
        &[
            (args.cross_mounts, "--cross-mounts"),
            (args.threads.is_some(), "--threads"),
            (args.buffer.is_some(), "--buffer"),
            (args.backend.is_some(), "--backend"),
            (args.stat_backend.is_some(), "--stat-backend"),
            (args.read_ahead.is_given(), "--read-ahead"),
            (args.raw, "--raw"),
            (args.estimate, "--estimate"),
        ],
    )?;
    let path = quoted(path);
    if args.summary == Some(Of::Directories) {
        let instead = format!("use: megadir usage --by entries {path}");
        return Err(CliError::usage(format!("--summary=directories: {path} is an inventory; {instead}")));
    }
    let unrecorded = |field: &&Field| matches!(field, Field::Target | Field::Mount | Field::Special);
    if let Some(field) = args.fields.iter().find(unrecorded) {
        return Err(CliError::usage(format!("--fields {}: inventories do not record it", field.name())));
    }
    let by_access = args.sort == Sort::Atime || args.fields.contains(&Field::Accessed);
    if by_access && !inventory.has_access_times() {
        let reason = "has no access times, because an older version wrote it; scan again";
        return Err(CliError::usage(format!("atime: {path} {reason}")));
    }
    Ok(())
}
