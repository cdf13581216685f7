//! Reads a tree: each thread counts its entries.

use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::{Item, Subtree, Tally, Usage};
use crate::attribute_listing::{AttributeListing, policy as attribute_policy};
use crate::attributes::{Attributes, StatMask};
use crate::batch::Entry;
use crate::conditions::{Conditions, Place};
use crate::dir::Dir;
use crate::error::{At, Error, ErrorKind, Result};
use crate::file_system::FileSystem;
use crate::file_type::FileType;
use crate::tree_path::TreePath;
use crate::walk::collect::{Collect, Message, Progress, Unexamined, collect};
use crate::walk::{TreeEvent, Walk, WalkContext, WalkItem, WalkOptions};

struct Counting<'r> {
    tally: Tally,
    conditions: Option<&'r Conditions>,
    failed: HashSet<PathBuf>,
}

/// Reads the tree below a directory by [`WalkOptions::threads`] threads, including other mounts if requested.
/// The options need a stat backend for [`Item::WANT`] and the conditions; only entries that meet the
/// conditions count. Breaks if `watch` requested a stop.
///
/// ```
/// use megadir::usage::{By, Item, Usage, UsageOptions, read};
/// use megadir::{Dir, STAT_BACKENDS, WalkOptions};
/// use std::ops::ControlFlow;
///
/// let mut usage = Usage::new(UsageOptions { top: 5, depth: None, by: By::Entries, now_s: 1_800_000_000 });
/// let options = WalkOptions { examine: Some((STAT_BACKENDS[0], Item::WANT)), ..WalkOptions::new(2) };
/// let _ = read(&mut usage, Dir::open("src")?, options, &mut |_| ControlFlow::Continue(()))?;
/// let report = usage.finish();
/// println!("{} entries", report.total.amount.entries);
/// for directory in &report.directories {
///     println!("{} in {}", directory.sum.amount.entries, directory.path);
/// }
/// # assert!(report.directories.len() == 5);
/// # Ok::<(), megadir::Error>(())
/// ```
///
/// Errors: as [`Walk::new`]; [`ErrorKind::NotFound`] if the directory was removed after it was opened. The report then lacks this tree.
pub fn read(
    usage: &mut Usage,
    root: Dir,
    options: WalkOptions,
    watch: &mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let path = root.path().to_owned();
    let mut removed = None;
    let flow = tree(usage, root, options, &mut |event| match event {
        TreeEvent::Failed(error) if error.kind() == ErrorKind::NotFound && error.path() == path => {
            removed = Some(Error::new("read", &path, ErrorKind::NotFound, error.reason()));
            ControlFlow::Break(())
        }
        event => watch(event),
    });
    match removed {
        Some(error) => {
            usage.drop_last_root();
            Err(error)
        }
        None => flow,
    }
}

/// A tree with many files in its root and no subdirectories would keep one thread busy in a walk, so it is
/// listed by several. The number of links shows this before anything is read. If it was wrong, because a
/// directory came or the file system does not count them, the directories found are walked afterwards as
/// trees of their own below the root.
fn tree(
    usage: &mut Usage,
    root: Dir,
    options: WalkOptions,
    watch: &mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let options = WalkOptions { report_ends: true, ..options };
    let subtree = usage.root(root.path().to_owned());
    let progress = Progress::default();
    let listed = if is_flat(&root, &options) { root.again().ok() } else { None };
    // A directory that may be read but not searched cannot be opened again.
    let Some(listed) = listed else {
        return walk(usage, (root, subtree), &options, &progress, watch);
    };
    let (mut flow, below) = listing(usage, (listed, &subtree), &options, &progress, watch)?;
    // Created since, or not counted as links.
    for name in below {
        if flow.is_break() {
            break;
        }
        let opened = match options.cross_mounts {
            true => root.open_below(&name).map(Some),
            false => root.open_below_on_this_mount(&name),
        };
        flow = match opened {
            Ok(Some(directory)) => walk(usage, (directory, subtree.below(&name)), &options, &progress, watch)
                .unwrap_or_else(|error| watch(TreeEvent::Failed(&error))),
            Ok(None) => watch(TreeEvent::OtherMount(&root.entry_path(&name))),
            Err(error) if error.kind() == ErrorKind::NotFound => ControlFlow::Continue(()),
            Err(error) => watch(TreeEvent::Failed(&error)),
        };
    }
    Ok(flow)
}

/// A walk would use one thread for a directory without subdirectories.
fn is_flat(root: &Dir, options: &WalkOptions) -> bool {
    let links = || root.attributes(StatMask::LINKS);
    options.threads_max > 1
        && counts_subdirectories(root.file_system())
        && links().is_ok_and(|links| links.have.contains(StatMask::LINKS) && links.links == 2)
}

/// A directory has a link more for each subdirectory. On other file systems the number is constant, or, as with FUSE,
/// made up by the server: subdirectories would be walked one after another.
fn counts_subdirectories(file_system: FileSystem) -> bool {
    use FileSystem::{Ext4, F2fs, Jfs, Nfs, Nilfs2, Reiserfs, Tmpfs, Xfs, Zfs};
    matches!(file_system, Ext4 | F2fs | Jfs | Nfs | Nilfs2 | Reiserfs | Tmpfs | Xfs | Zfs)
}

/// The flat case. Returns the subdirectories that were found after all. Entries are counted on the caller's
/// thread, since the threads of the listing read attributes, which takes longer than counting. A failure ends
/// the listing and is an event: counted entries stay.
fn listing(
    usage: &mut Usage,
    (root, subtree): (Dir, &Subtree),
    options: &WalkOptions,
    progress: &Progress,
    watch: &mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>,
) -> Result<(ControlFlow<()>, Vec<Vec<u8>>)> {
    let conditions = options.conditions.as_deref();
    let want = options.examine.map_or(StatMask::NOTHING, |examine| examine.1);
    let mut choice = attribute_policy::choose_between(&root, want, options.threads, options.threads_max)?;
    choice.listing.options.read_ahead = options.read_ahead;
    if let Some((stat_backend, _)) = options.examine {
        let fitting = attribute_policy::fitting(stat_backend, choice.listing.backend)?;
        choice = choice.with_stat_backend(fitting);
    }
    let path = root.path().to_owned();
    let mut listing = AttributeListing::with_choice(root, choice)?;
    let (mut tally, mut below) = (usage.tally(), Vec::new());
    let mut flow = ControlFlow::Continue(());
    while flow.is_continue() {
        match listing.next_batch() {
            Ok(Some(batch)) => {
                let directory = (subtree, &TreePath::root());
                let counted = count(&mut tally, directory, batch.entries(), conditions);
                let enters = |name: &[u8]| conditions.is_none_or(|all| all.enters(&Place::TOP, name));
                let items = batch.entries().map(|(entry, row)| Item::new(&entry, row));
                let directories = items.filter(|item| item.kind == FileType::Directory);
                below.extend(directories.filter(|item| enters(item.name)).map(|item| item.name.to_vec()));
                let read = progress.read.fetch_add(counted.entries, Ordering::Relaxed) + counted.entries;
                flow = watch(TreeEvent::Read(read));
                if let Some(message) = counted.unexamined.message(&path) {
                    flow = if flow.is_break() { flow } else { watch(message.event()) };
                }
            }
            Ok(None) => {
                tally.end(subtree);
                break;
            }
            Err(error) => {
                flow = watch(TreeEvent::Failed(&error));
                break;
            }
        }
    }
    usage.merge(&tally);
    Ok((flow, below))
}

fn walk(
    usage: &mut Usage,
    (root, subtree): (Dir, Subtree),
    options: &WalkOptions,
    progress: &Progress,
    watch: &mut dyn FnMut(TreeEvent<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let path = root.path().to_owned();
    let conditions = options.conditions.as_deref();
    let parts = Walk::parts_with(root, subtree, options)?;
    let begin = || Counting { tally: usage.tally(), conditions, failed: HashSet::new() };
    let (flow, tallies) =
        collect(parts, begin, progress, false, watch).at("start a thread to read", &path)?;
    tallies.iter().for_each(|tally| usage.merge(tally));
    Ok(flow)
}

impl Collect<Subtree> for Counting<'_> {
    const THREAD: &'static str = "megadir-usage";

    type Collected = Tally;

    fn beside(&self) -> Self {
        Self { tally: self.tally.beside(), conditions: self.conditions, failed: HashSet::new() }
    }

    fn item(
        &mut self,
        item: WalkItem<'_>,
        subtree: Option<&Subtree>,
        progress: &Progress,
    ) -> io::Result<Option<Message>> {
        Ok(match (item, subtree) {
            (WalkItem::Batch { directory, batch, attributes }, Some(subtree)) => {
                let entries = batch.entries().zip(attributes);
                let counted = count(&mut self.tally, (subtree, directory.below()), entries, self.conditions);
                progress.read.fetch_add(counted.entries, Ordering::Relaxed);
                counted.unexamined.message(directory)
            }
            (WalkItem::End { directory }, Some(subtree)) => {
                if self.failed.is_empty() || !self.failed.remove(&**directory) {
                    self.tally.end(subtree);
                }
                None
            }
            (WalkItem::Error(error), _) => {
                self.failed.insert(error.path().to_owned());
                Some(Message::Failed(error))
            }
            (WalkItem::OtherMount(path), _) => Some(Message::OtherMount(path)),
            _ => None,
        })
    }

    fn end(self) -> io::Result<Tally> {
        Ok(self.tally)
    }
}

#[derive(Default)]
struct Counted {
    entries: u64,
    unexamined: Unexamined,
}

fn count<'e>(
    tally: &mut Tally,
    directory: (&Subtree, &TreePath),
    entries: impl Iterator<Item = (Entry<'e>, &'e Attributes)>,
    conditions: Option<&Conditions>,
) -> Counted {
    let mut counted = Counted::default();
    let place = conditions.map(|conditions| conditions.place(directory.1)).unwrap_or_default();
    for (entry, attributes) in entries {
        if attributes.has_vanished() {
            continue;
        }
        if conditions.is_some_and(|all| !all.may_accept(&place, entry.name, entry.kind, attributes)) {
            continue;
        }
        if attributes.error != 0 {
            counted.unexamined.note(entry.name, attributes.error);
        }
        tally.add(directory, &Item::new(&entry, attributes));
        counted.entries += 1;
    }
    tally.flush(directory.0);
    counted
}

#[cfg(test)]
mod tests {
    use super::counts_subdirectories;
    use crate::file_system::FileSystem;

    #[test]
    fn two_links_prove_nothing_where_subdirectories_are_not_counted() {
        assert!(
            [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Tmpfs]
                .map(counts_subdirectories)
                .iter()
                .all(|counts| *counts)
        );
        for other in [FileSystem::Fuse, FileSystem::Cifs, FileSystem::Btrfs, FileSystem::unknown()] {
            assert!(!counts_subdirectories(other), "{other}");
        }
    }
}
