//! Sums up the entries of directories.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use megadir::{Attributes, Batch, DirPath, FileType, WalkItem};
use megadir_inventory::Facts;

use crate::budget::Spending;
use crate::job::{Bytes, Item, Linked, Outcome, Sum, Task, TaskError, Used};
use crate::reach::{Reached, Roots, reach};
use crate::scan::{MESSAGES_MAX, start};

pub(crate) fn usage(task: &Task, stop: &AtomicBool) -> Result<Outcome, TaskError> {
    let mut spending = Spending::begin(task.job.budget, stop);
    let mut roots = Roots::new(&task.job);
    let (mut outcome, mut counts) =
        (Outcome::default(), Counts { depth: task.job.depth, ..Counts::default() });
    let mut items: Vec<Item> = task.items.iter().rev().cloned().collect();
    let mut visited = 0_u64;
    while let Some(item) = items.pop() {
        if visited > 0 && spending.is_spent() {
            outcome.unvisited.push(item);
            continue;
        }
        visited += 1;
        let reached = reach(roots.open(item.root)?, &item);
        let walk = match reached {
            Ok(Reached::Directory(directory)) => start(directory, &item, &task.job),
            Ok(Reached::Vanished) => continue,
            Ok(Reached::OtherMount) => {
                counts.mounts_not_entered += 1;
                continue;
            }
            Err(error) => Err(error),
        };
        let mut failed = |error: &megadir::Error| {
            outcome.failures += 1;
            if outcome.messages.len() < MESSAGES_MAX {
                outcome.messages.push(error.to_string());
            }
        };
        let mut walk = match walk {
            Ok(walk) => walk,
            Err(error) => {
                failed(&error);
                continue;
            }
        };
        while let Some(next) = walk.next_item() {
            match next {
                WalkItem::Batch { directory, batch, attributes } => {
                    spending.entries += counts.add(item.root, directory, batch, attributes);
                }
                WalkItem::Error(error) => failed(&error),
                WalkItem::OtherMount(_) => counts.mounts_not_entered += 1,
                WalkItem::End { .. } => {}
            }
            if spending.is_stopped() {
                return Err(TaskError::Stopped);
            }
            if spending.is_spent() {
                walk.end_early();
            }
        }
        items.extend(walk.unvisited().iter().rev().map(|unvisited| Item::of(item.root, unvisited)));
    }
    outcome.entries = spending.entries;
    outcome.used = Some(counts.into_used());
    Ok(outcome)
}

#[derive(Default)]
struct Counts {
    depth: u32,
    sums: HashMap<(u32, Vec<u8>), Sum>,
    linked: HashMap<(u64, u64), Linked>,
    unexamined: u64,
    mounts_not_entered: u64,
}

impl Counts {
    fn add(&mut self, root: u32, directory: &DirPath, batch: Batch<'_>, rows: &[Attributes]) -> u64 {
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
                    let path = Bytes(join(&path, entry.name));
                    self.link(Linked { id, root, path, allocated, apparent });
                }
                _ => {
                    sum.inodes += 1;
                    sum.allocated += allocated;
                    sum.apparent += apparent;
                }
            }
        }
        for prefix in prefixes(&path, self.depth) {
            let key = (root, prefix.to_vec());
            let of = self.sums.entry(key).or_insert_with(|| Sum {
                root,
                path: Bytes(prefix.to_vec()),
                ..Sum::default()
            });
            of.merge(&sum);
        }
        sum.entries
    }

    fn link(&mut self, new: Linked) {
        let known = self.linked.entry(new.id).or_insert_with(|| new.clone());
        known.keep_first(new);
    }

    fn into_used(self) -> Used {
        let mut sums: Vec<Sum> = self.sums.into_values().collect();
        sums.sort_unstable_by(|a, b| (a.root, &a.path).cmp(&(b.root, &b.path)));
        let mut linked: Vec<Linked> = self.linked.into_values().collect();
        linked.sort_unstable_by_key(|linked| linked.id);
        Used { sums, linked, unexamined: self.unexamined, mounts_not_entered: self.mounts_not_entered }
    }
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let separator: &[u8] = if directory.is_empty() { b"" } else { b"/" };
    [directory, separator, name].concat()
}

/// The root, and the directories above the end of the path, down to `depth` levels.
pub(crate) fn prefixes(path: &[u8], depth: u32) -> impl Iterator<Item = &[u8]> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    let ends = ends.chain((!path.is_empty()).then_some(path.len()));
    std::iter::once(&path[..0]).chain(ends.map(|end| &path[..end]).take(depth as usize))
}

impl Sum {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.entries += other.entries;
        self.directories += other.directories;
        self.inodes += other.inodes;
        self.allocated += other.allocated;
        self.apparent += other.apparent;
        self.newest_ns = self.newest_ns.max(other.newest_ns);
        self.oldest_ns = [self.oldest_ns, other.oldest_ns].into_iter().flatten().min();
    }
}

impl Linked {
    pub(crate) fn keep_first(&mut self, other: Self) {
        let order = |linked: &Self| {
            let (directory, name) =
                linked.path.0.split_at(linked.path.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0));
            (linked.root, directory.to_vec(), name.to_vec())
        };
        if order(&other) < order(self) {
            *self = other;
        }
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
