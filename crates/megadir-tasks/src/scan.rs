//! Scans directories into a part of an inventory.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use megadir::{Dir, Error, ErrorKind, PartialLimits, PartialWalk, WalkItem, WalkOptions, attribute_policy};
use megadir_inventory::{Facts, GROUP_ROWS, PartScan, PartTree, ScanOptions, WriteOptions, Writer};

use crate::job::{Item, Job, Outcome, Part, Root, Task, TaskError};
use crate::publish::{NOTE, attempt_name, publish, published};
use crate::visit::{Next, Reached, Spending, reach, visit_items};

/// Most directories that a task returns for each of its items.
pub(crate) const UNVISITED_MAX: usize = 16 << 10;
/// A range is read to its end, which takes 10 s where a server returns 5000 entries per second.
const RANGE_ENTRIES_MAX: u64 = 50_000;
/// Rows that wait to be sorted, bytes; more wait in temporary files.
const MEMORY_BYTES: usize = 64 << 20;

/// A part appears under its name whole or not at all, and only one process can give it that name:
///
/// ```text
/// part exists -> its outcome
/// otherwise   -> rows -> sort -> attempt file of this process -> note: the outcome -> publish: rename, unless the name is taken
///                                                                    taken -> the other process's outcome
/// ```
///
/// The counts come from the metadata of the part, after the last row, and the note with the outcome must be
/// in the file before it is finished. One thread, because the processes of a job are the parallelism.
pub(crate) fn scan(task: &Task, stop: &AtomicBool) -> Result<Outcome, TaskError> {
    let job = &task.job;
    let Some(folder) = &job.folder else {
        let reason = "no folder for the parts";
        return Err(Error::new("scan", "".as_ref(), ErrorKind::BadOption, reason).into());
    };
    let folder = folder.to_path()?;
    let name = task.part_name();
    let part = folder.join(&name);
    if let Some(outcome) = published(&part)? {
        return Ok(outcome);
    }
    let attempt = folder.join(attempt_name(&name));
    let paths = job.roots.iter().map(|root| root.path.0.clone()).collect();
    let options = WriteOptions { threads: 0, level: 1, group_rows: GROUP_ROWS };
    let mut writer = Writer::create(&attempt, paths, options)?;
    let options = ScanOptions::new(1, MEMORY_BYTES, folder);
    let mut scan =
        PartScan::new(job.roots.iter().map(described).collect(), job.stat_backend.clone(), &options);
    let mut outcome = visit(task, stop, &mut scan)?;
    let mut watch = |_: megadir::TreeEvent<'_>| match stop.load(std::sync::atomic::Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let Some(metadata) = scan.finish(&mut watch, &mut writer)? else { return Err(TaskError::Stopped) };
    outcome.part = outcome.part.map(|part| Part {
        file: name,
        rows: metadata.rows,
        failed: metadata.failed,
        unread_directories: metadata.unread_directories,
        ..part
    });
    outcome.failures = metadata.failed;
    let text = serde_json::to_string(&outcome)
        .map_err(|error| Error::new("write", &attempt, ErrorKind::Io, error.to_string()))?;
    writer.add_note(NOTE, text);
    writer.finish(&metadata)?;
    Ok(publish(&attempt, &part)?.unwrap_or(outcome))
}

fn described(root: &Root) -> megadir_inventory::Root {
    let Root { path, file_system, driver, lasting_inodes, granule_ns, .. } = root;
    let (path, file_system, driver) = (path.0.clone(), file_system.clone(), driver.clone());
    megadir_inventory::Root {
        path,
        file_system,
        driver,
        lasting_inodes: *lasting_inodes,
        granule_ns: *granule_ns,
        newest_ns: None,
    }
}

/// An item that cannot be opened has its row too, with the error, so that the inventory shows what
/// is missing. `repeated` counts such rows below the roots: the directory's entry in its parent is a row of
/// another part. A directory that is gone by now needs no row.
fn visit(task: &Task, stop: &AtomicBool, scan: &mut PartScan<'_>) -> Result<Outcome, TaskError> {
    let mut repeated = 0;
    let mut outcome = visit_items(task, stop, |item, root, spending, outcome| {
        let (root, is_below) = (root?, !item.path.0.is_empty());
        let device = task.job.roots[item.root as usize].device;
        let mut tree = scan.tree(item.root, root, device, item.range.is_some())?;
        let mut unvisited = Vec::new();
        match reach(root, item) {
            Ok(Reached::Directory(directory)) => {
                let mut failed = |error: &Error, is_top| {
                    repeated += u64::from(is_top && is_below);
                    outcome.note(error);
                };
                unvisited = scan_directory(directory, item, &task.job, &mut tree, spending, &mut failed)?;
            }
            Ok(Reached::Vanished) => {}
            Ok(Reached::OtherMount) => {
                tree.add(WalkItem::OtherMount(PathBuf::new()))?;
            }
            Err(error) => {
                repeated += u64::from(is_below);
                outcome.note(&error);
                tree.failed(&item.tree_path(), &error)?;
            }
        }
        let ended = tree.end()?;
        scan.end(&ended, root);
        Ok(unvisited)
    })?;
    outcome.part = Some(Part { repeated, ..Part::default() });
    Ok(outcome)
}

/// `failed` gets each error, and `true` if it is one of the directory itself.
fn scan_directory(
    directory: Dir,
    item: &Item,
    job: &Job,
    tree: &mut PartTree<'_>,
    spending: &mut Spending<'_>,
    failed: &mut dyn FnMut(&Error, bool),
) -> Next {
    if item.path.0.is_empty() && item.range.is_none() {
        if job.fresh().is_some() {
            directory.refresh()?;
        }
        tree.root(&directory.attributes(Facts::WANT)?)?;
    }
    let path = directory.path().to_owned();
    let walk = match start(directory, item, job) {
        Ok(walk) => walk,
        Err(error) => {
            failed(&error, true);
            tree.failed(&item.tree_path(), &error)?;
            return Ok(Vec::new());
        }
    };
    visit_all(walk, item.root, spending, |next| {
        if let WalkItem::Error(error) = &next {
            failed(error, error.path() == path);
        }
        Ok(tree.add(next)?)
    })
}

/// `take` returns the number of entries. Returns the directories that were not visited.
pub(crate) fn visit_all(
    mut walk: PartialWalk,
    root: u32,
    spending: &mut Spending<'_>,
    mut take: impl FnMut(WalkItem<'_>) -> Result<u64, TaskError>,
) -> Next {
    while let Some(next) = walk.next_item() {
        spending.entries += take(next)?;
        if spending.is_stopped() {
            return Err(TaskError::Stopped);
        }
        if spending.is_spent() {
            walk.end_early();
        }
    }
    Ok(walk.unvisited().iter().rev().map(|unvisited| Item::of(root, unvisited)).collect())
}

pub(crate) fn start(directory: Dir, item: &Item, job: &Job) -> megadir::Result<PartialWalk> {
    let stat_backend = attribute_policy::stat_backend(&directory, Facts::WANT, job.fresh())?;
    let examine = Some((stat_backend, Facts::WANT));
    let options = WalkOptions { examine, report_ends: true, looks_again: true, ..WalkOptions::new(1) };
    let entries_per_range = job.budget.entries.div_ceil(2).min(RANGE_ENTRIES_MAX);
    let limits = PartialLimits { unvisited_max: UNVISITED_MAX, entries_per_range };
    PartialWalk::new(directory, item.position_range(), &options, limits)
}
