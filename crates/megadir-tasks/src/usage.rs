//! Sums up the entries of directories.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use megadir::{Attributes, Batch, DirPath, FileType, WalkItem};
use megadir_inventory::Facts;

use crate::job::{Bytes, Linked, Outcome, Sum, Task, TaskError, Used};
use crate::scan::{start, visit_all};
use crate::visit::{Reached, reach, visit_items};

/// A directory that cannot be opened is a failure of the outcome and not of the task, and the same holds
/// below it: the sums then lack its contents, and the caller reports them as incomplete. Only a stop or a
/// root that is not the job's directory ends the task. Nothing is written, so a task that runs twice does no
/// harm: the schedule takes the first outcome.
pub(crate) fn usage(task: &Task, stop: &AtomicBool) -> Result<Outcome, TaskError> {
    let mut totals = Totals::default();
    let mut outcome = visit_items(task, stop, |item, root, spending, outcome| {
        let walk = match reach(root?, item) {
            Ok(Reached::Directory(directory)) => start(directory, item, &task.job),
            Ok(Reached::Vanished) => return Ok(Vec::new()),
            Ok(Reached::OtherMount) => {
                totals.mounts_not_entered += 1;
                return Ok(Vec::new());
            }
            Err(error) => Err(error),
        };
        let mut failed = |error: &megadir::Error| {
            outcome.failures += 1;
            outcome.note(error);
        };
        let walk = match walk {
            Ok(walk) => walk,
            Err(error) => {
                failed(&error);
                return Ok(Vec::new());
            }
        };
        visit_all(walk, item.root, spending, |next| {
            match next {
                WalkItem::Batch { directory, batch, attributes } => {
                    let depth = task.job.depth;
                    return Ok(totals.add_batch(depth, item.root, directory, batch, attributes));
                }
                WalkItem::Error(error) => failed(&error),
                WalkItem::OtherMount(_) => totals.mounts_not_entered += 1,
                WalkItem::End { .. } => {}
            }
            Ok(0)
        })
    })?;
    outcome.used = Some(totals.into_used());
    Ok(outcome)
}

#[derive(Debug, Default)]
pub(crate) struct Totals {
    sums: HashMap<(u32, Vec<u8>), Sum>,
    linked: HashMap<(u64, u64), Linked>,
    pub(crate) unexamined: u64,
    pub(crate) mounts_not_entered: u64,
}

impl Totals {
    /// A batch is summed once and then added to the root and to each directory above it down to `depth`
    /// levels, since these have sums of their own; one addition per level and batch, not per entry. An entry
    /// that has vanished between listing and examination does not count. One whose attributes could not be
    /// read counts as a name without bytes, and in `unexamined`.
    fn add_batch(
        &mut self,
        depth: u32,
        root: u32,
        directory: &DirPath,
        batch: Batch<'_>,
        rows: &[Attributes],
    ) -> u64 {
        let path = directory.below().to_vec();
        let mut sum = Sum::default();
        for (entry, attributes) in batch.entries().zip(rows) {
            if attributes.has_vanished() {
                continue;
            }
            let facts = Facts::new(entry.kind, attributes);
            self.unexamined += u64::from(attributes.error != 0);
            sum.entries += 1;
            sum.directories += u64::from(facts.kind == FileType::Directory);
            sum.newest_ns = sum.newest_ns.max(facts.modified_ns);
            sum.oldest_ns = [sum.oldest_ns, facts.modified_ns].into_iter().flatten().min();
            let (allocated, apparent) = (facts.allocated_bytes.unwrap_or(0), facts.size_bytes.unwrap_or(0));
            match (facts.links, facts.device.zip(facts.inode)) {
                // A directory's links are its subdirectories.
                (Some(2..), Some(id)) if facts.kind != FileType::Directory => {
                    let separator: &[u8] = if path.is_empty() { b"" } else { b"/" };
                    let path = Bytes([&path[..], separator, entry.name].concat());
                    self.link(Linked { id, root, path, allocated, apparent });
                }
                _ => {
                    sum.inodes += 1;
                    sum.allocated += allocated;
                    sum.apparent += apparent;
                }
            }
        }
        for prefix in prefixes(&path, depth) {
            self.add(root, prefix, &sum);
        }
        sum.entries
    }

    fn add(&mut self, root: u32, path: &[u8], sum: &Sum) {
        let new = || Sum { root, path: Bytes(path.to_vec()), ..Sum::default() };
        self.sums.entry((root, path.to_vec())).or_insert_with(new).merge(sum);
    }

    pub(crate) fn merge(&mut self, used: Used) {
        self.unexamined += used.unexamined;
        self.mounts_not_entered += used.mounts_not_entered;
        used.sums.iter().for_each(|sum| self.add(sum.root, &sum.path.0, sum));
        used.linked.into_iter().for_each(|linked| self.link(linked));
    }

    fn link(&mut self, new: Linked) {
        let known = self.linked.entry(new.id).or_insert_with(|| new.clone());
        // The first name by directory counts, whichever task found it.
        let order = |linked: &Linked| {
            let (directory, name) =
                linked.path.0.split_at(linked.path.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0));
            (linked.root, directory.to_vec(), name.to_vec())
        };
        if order(&new) < order(known) {
            *known = new;
        }
    }

    fn into_used(self) -> Used {
        let mut linked: Vec<Linked> = self.linked.into_values().collect();
        linked.sort_unstable_by_key(|linked| linked.id);
        let (unexamined, mounts_not_entered) = (self.unexamined, self.mounts_not_entered);
        Used { sums: sorted(self.sums), linked, unexamined, mounts_not_entered }
    }

    pub(crate) fn sums(&self, depth: u32) -> Vec<Sum> {
        let mut sums = self.sums.clone();
        for linked in self.linked.values() {
            let directory = linked.path.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            for prefix in prefixes(&linked.path.0[..directory], depth) {
                if let Some(sum) = sums.get_mut(&(linked.root, prefix.to_vec())) {
                    sum.inodes += 1;
                    sum.allocated += linked.allocated;
                    sum.apparent += linked.apparent;
                }
            }
        }
        sorted(sums)
    }
}

fn sorted(sums: HashMap<(u32, Vec<u8>), Sum>) -> Vec<Sum> {
    let mut sums: Vec<Sum> = sums.into_values().collect();
    sums.sort_unstable_by(|a, b| (a.root, &a.path).cmp(&(b.root, &b.path)));
    sums
}

/// The root, and the directories above the end of the path, down to `depth` levels.
fn prefixes(path: &[u8], depth: u32) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let ends = ends.chain((!path.is_empty()).then_some(path.len()));
    std::iter::once(&path[..0]).chain(ends.map(|end| &path[..end]).take(depth as usize))
}

impl Sum {
    fn merge(&mut self, other: &Self) {
        self.entries += other.entries;
        self.directories += other.directories;
        self.inodes += other.inodes;
        self.allocated += other.allocated;
        self.apparent += other.apparent;
        self.newest_ns = self.newest_ns.max(other.newest_ns);
        self.oldest_ns = [self.oldest_ns, other.oldest_ns].into_iter().flatten().min();
    }
}

#[cfg(test)]
mod tests {
    use super::prefixes;

    #[test]
    fn prefixes_are_whole_directories() {
        let of = |path: &'static str, depth| -> Vec<&str> {
            prefixes(path.as_bytes(), depth).map(|prefix| std::str::from_utf8(prefix).unwrap()).collect()
        };
        assert_eq!(of("", 3), [""]);
        assert_eq!(of("a/bb/c", 0), [""]);
        assert_eq!(of("a/bb/c", 2), ["", "a", "a/bb"]);
        assert_eq!(of("a/bb/c", 9), ["", "a", "a/bb", "a/bb/c"]);
    }
}
