//! Random trees against an oracle that sorts all files in memory: ties, hard links, times to come, conditions.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::super::{Budget, Measure, Outcome, SelectOptions};
use super::{OfInode, Random, TO_COME, inodes, names, remove, selected, set_times};
use crate::conditions::{Conditions, Globs, TimeKind};

/// Directories `0` to `5`, some in each other, with files whose times and sizes repeat, and hard links to earlier files.
fn build(top: &Path, outside: &Path, random: &mut Random, files: u64) {
    let directories = ["", "0", "1", "1/a", "1/a/b", "2", "3-", "3"];
    directories.iter().for_each(|directory| fs::create_dir_all(top.join(directory)).unwrap());
    fs::create_dir_all(outside).unwrap();
    let mut made = Vec::new();
    for index in 0..files {
        let directory = directories[random.below(8) as usize];
        let suffix = if random.below(5) == 0 { ".keep" } else { "" };
        let path = top.join(directory).join(format!("{}{index}{suffix}", random.below(10)));
        match random.below(10) {
            0 if !made.is_empty() => {
                let earlier: &std::path::PathBuf = &made[random.below(made.len() as u64) as usize];
                fs::hard_link(earlier, &path).unwrap();
                if random.below(6) == 0 {
                    fs::hard_link(earlier, outside.join(index.to_string())).unwrap();
                }
            }
            _ => {
                fs::write(&path, vec![b'x'; random.below(5) as usize * 5000]).unwrap();
                made.push(path.clone());
            }
        }
        let to_come = if random.below(25) == 0 { TO_COME } else { 1_000_000 };
        let times = (1_000_000 + random.below(6), to_come + random.below(6));
        set_times(&path, times.0, times.1);
    }
    for index in 0..3 {
        std::os::unix::fs::symlink("0", top.join(format!("link{index}"))).unwrap();
    }
}

/// Names that are left of the tree, by sorting everything in memory; and whether the budget is out of reach.
fn oracle(
    all: &[OfInode],
    budget: Budget,
    by: TimeKind,
    (keeps, is_shallow): (bool, bool),
) -> (BTreeSet<String>, bool) {
    let Budget::Holds(measure, limit) = budget else { unreachable!() };
    let time = |inode: &OfInode| match by {
        TimeKind::Modified => inode.times[0],
        TimeKind::Accessed => inode.times[1],
        _ => inode.times[0].max(inode.times[1]),
    };
    let weight = |inode: &OfInode| if measure == Measure::Bytes { inode.bytes } else { 1 };
    let sum = |of: &dyn Fn(&OfInode) -> bool| all.iter().filter(|inode| of(inode)).map(weight).sum::<u64>();
    let mut excess = sum(&|_| true).saturating_sub(limit);
    let is_past = |inode: &OfInode| inode.times.iter().all(|time| time.0 < TO_COME.cast_signed());
    let is_out_of_reach = sum(&|inode| inode.links == 1 && is_past(inode)) < excess;
    let mut order: Vec<_> = all
        .iter()
        .filter(|inode| inode.links == 1 && weight(inode) > 0)
        .filter(|inode| !keeps || !inode.names[0].ends_with(".keep"))
        .filter(|inode| !is_shallow || inode.names[0].matches('/').count() < 2)
        .filter(|inode| is_past(inode))
        .map(|inode| (time(inode), inode.names[0].clone(), weight(inode)))
        .collect();
    order.sort();
    let mut left = names(all);
    for (_, name, weight) in order {
        if excess == 0 || is_out_of_reach {
            break;
        }
        excess = excess.saturating_sub(weight);
        assert!(left.remove(&name));
    }
    (left, is_out_of_reach)
}

#[test]
fn kept_files_match_an_oracle_that_sorts_in_memory() {
    let mut unreachable = 0;
    for seed in 0..200 {
        let mut random = Random(seed * 7919);
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("t");
        let files = 1 + random.below(120);
        build(&top, &scratch.path().join("outside"), &mut random, files);
        let all = inodes(&top);
        let total: u64 = all.iter().map(|inode| inode.bytes).sum();
        let count = all.len() as u64;
        let budget = match random.below(6) {
            0 => Budget::Holds(Measure::Bytes, 1 + total / 2),
            1 => Budget::Holds(Measure::Bytes, total + random.below(2)),
            2 | 3 => Budget::Holds(Measure::Bytes, random.below(total + 1)),
            _ => Budget::Holds(Measure::Files, random.below(count + 2)),
        };
        let by = [TimeKind::Modified, TimeKind::Accessed, TimeKind::Used][random.below(3) as usize];
        let (keeps, is_shallow) = (random.below(3) == 0, random.below(4) == 0);
        let excludes = random.below(4) == 0;
        let mut conditions = Conditions { by, ..Conditions::default() };
        conditions.depth_max = is_shallow.then_some(2);
        if excludes {
            conditions.exclude = Globs::of_names(&["*5"]).unwrap();
        }
        if keeps {
            // Everything but names that end in .keep, as `accepts` sees it.
            conditions.names = Globs::of_names(&["*[!p]"]).unwrap();
        }
        // So little memory that many passes are needed.
        let memory_bytes = if seed % 2 == 0 { 1 << 10 } else { 32 << 20 };
        let options = SelectOptions {
            conditions: Arc::new(conditions),
            threads: Some(1 + random.below(3) as usize),
            memory_bytes,
            ..SelectOptions::new(budget)
        };
        let protected = (keeps, is_shallow, excludes);
        let context = format!("seed {seed}: {budget} by {} {protected:?}", by.name());
        // Excluded names do not exist, but for the files that have them.
        let seen = |of: &[OfInode]| -> Vec<OfInode> {
            let mut seen = of.to_vec();
            seen.iter_mut().for_each(|inode| inode.names.retain(|name| !excludes || !name.ends_with('5')));
            seen.retain(|inode| !inode.names.is_empty());
            seen
        };
        let (mut expected, is_out_of_reach) = oracle(&seen(&all), budget, by, (keeps, is_shallow));
        unreachable += u64::from(is_out_of_reach);
        expected.extend(names(&all).difference(&names(&seen(&all))).cloned());
        let (total, count) =
            (seen(&all).iter().map(|inode| inode.bytes).sum::<u64>(), seen(&all).len() as u64);
        let mut dry = selected(&top, &options);
        let (counted, would_go) = remove(&top, &mut dry, true);
        assert_eq!(names(&inodes(&top)), names(&all), "{context}: a dry run removes nothing");
        let stays: BTreeSet<_> = names(&all).difference(&would_go).cloned().collect();
        assert_eq!(stays, expected, "{context}: {:?}", dry.outcome());
        let mut selection = selected(&top, &options);
        let (removed, removed_names) = remove(&top, &mut selection, false);
        assert_eq!((removed.counts, &removed_names), (counted.counts, &would_go), "{context}");
        // What memory holds at first depends on the order of reading.
        let selected = selection.outcome().selected;
        assert_eq!(Outcome { selected, ..dry.outcome() }, selection.outcome(), "{context}");
        let left = inodes(&top);
        assert_eq!(names(&left), expected, "{context}");
        let left = seen(&left);
        let outcome = selection.outcome();
        let (now, held) = match budget.measure() {
            Measure::Bytes => (left.iter().map(|inode| inode.bytes).sum(), total),
            Measure::Files => (left.len() as u64, count),
        };
        assert_eq!((outcome.now, budget.measure().of(&outcome.held)), (now, held), "{context}");
        assert_eq!(outcome.is_met, now <= outcome.limit, "{context}");
        assert_eq!(outcome.is_out_of_reach, is_out_of_reach, "{context}");
        assert_eq!(removed.counts.bytes, outcome.freed.bytes, "{context}");
        assert!(removed.complete, "{context}");
    }
    assert!((3..100).contains(&unreachable), "{unreachable}");
}
