//! Random trees against an oracle that sorts all files in memory: ties, hard links, times to come, units.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::super::{Budget, Measure, SelectOptions};
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

#[derive(Clone, Copy, Debug, PartialEq)]
enum Units {
    Files,
    Directories,
}

/// Names that are left of the tree, by sorting everything in memory.
fn oracle(
    all: &[OfInode],
    budget: Budget,
    by: TimeKind,
    units: Units,
    (keeps, is_shallow): (bool, bool),
) -> BTreeSet<String> {
    let Budget::Holds(measure, limit) = budget else { unreachable!() };
    let time = |inode: &OfInode| match by {
        TimeKind::Modified => inode.times[0],
        TimeKind::Accessed => inode.times[1],
        _ => inode.times[0].max(inode.times[1]),
    };
    let weight = |inode: &OfInode| if measure == Measure::Bytes { inode.bytes } else { 1 };
    let unit = |name: &str| name.split_once('/').map(|(unit, _)| unit.to_owned());
    let mut of_units: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for inode in all {
        for unit in inode.names.iter().filter_map(|name| unit(name)) {
            let latest = of_units.entry(unit).or_insert((i64::MIN, 0));
            *latest = (*latest).max(time(inode));
        }
    }
    // Place of the last name; `None` if a name stays, or is elsewhere, or if the time is to come.
    let place = |inode: &OfInode| -> Option<((i64, i64), String)> {
        let mut last = None;
        if inode.links > inode.names.len() as u64 {
            return None;
        }
        for name in &inode.names {
            let place = match units {
                Units::Files if keeps && name.ends_with(".keep") => return None,
                Units::Files if time(inode).0 >= TO_COME as i64 => return None,
                Units::Files if is_shallow && name.matches('/').count() > 1 => return None,
                Units::Files => (time(inode), name.clone()),
                Units::Directories => {
                    let unit = unit(name)?;
                    if keeps && unit == "3" || of_units[&unit].0 >= TO_COME as i64 {
                        return None;
                    }
                    (of_units[&unit], unit)
                }
            };
            last = last.max(Some(place));
        }
        last
    };
    let mut order: Vec<_> = all.iter().filter_map(|inode| Some((place(inode)?, inode))).collect();
    order.sort_by(|a, b| a.0.cmp(&b.0));
    let mut excess = all.iter().map(weight).sum::<u64>().saturating_sub(limit);
    let mut threshold = None;
    for (place, inode) in &order {
        if excess == 0 {
            break;
        }
        excess = excess.saturating_sub(weight(inode));
        threshold = Some(place.clone());
    }
    let mut left = names(all);
    let Some(threshold) = threshold else { return left };
    match units {
        Units::Files => {
            for (place, inode) in &order {
                if *place <= threshold {
                    inode.names.iter().for_each(|name| assert!(left.remove(name)));
                }
            }
        }
        Units::Directories => left.retain(|name| {
            let stays = |unit: &String| keeps && unit == "3" || of_units[unit].0 >= TO_COME as i64;
            unit(name).is_none_or(|unit| stays(&unit) || (of_units[&unit], unit) > threshold)
        }),
    }
    left
}

#[test]
fn kept_files_match_an_oracle_that_sorts_in_memory() {
    for seed in 0..160 {
        let mut random = Random(seed * 7919);
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().join("t");
        let files = 1 + random.below(120);
        build(&top, &scratch.path().join("outside"), &mut random, files);
        let all = inodes(&top);
        let total: u64 = all.iter().map(|inode| inode.bytes).sum();
        let count = all.len() as u64;
        let budget = match random.below(6) {
            0 => Budget::Holds(Measure::Bytes, 0),
            1 => Budget::Holds(Measure::Bytes, total + random.below(2)),
            2 | 3 => Budget::Holds(Measure::Bytes, random.below(total + 1)),
            _ => Budget::Holds(Measure::Files, random.below(count + 2)),
        };
        let by = [TimeKind::Modified, TimeKind::Accessed, TimeKind::Used][random.below(3) as usize];
        let units = if random.below(3) == 0 { Units::Directories } else { Units::Files };
        let keeps = random.below(3) == 0;
        let is_shallow = units == Units::Files && random.below(4) == 0;
        let excludes = units == Units::Files && random.below(4) == 0;
        let mut conditions = Conditions { by, ..Conditions::default() };
        conditions.depth_max = is_shallow.then_some(2);
        if excludes {
            conditions.exclude = Globs::of_names(&["*5"]).unwrap();
        }
        if keeps {
            let globs: &[&str] = match units {
                // Everything but names that end in .keep, as `accepts` sees it.
                Units::Files => &["*[!p]"],
                Units::Directories => &["[!3]*", "3-"],
            };
            conditions.names = Globs::of_names(globs).unwrap();
        }
        let conditions = Arc::new(conditions);
        // So little memory that ranges are joined and read again.
        let memory_bytes = if seed % 2 == 0 { 14 << 10 } else { 32 << 20 };
        let options = SelectOptions {
            conditions: Arc::clone(&conditions),
            by_directory: units == Units::Directories,
            threads: Some(1 + random.below(3) as usize),
            memory_bytes,
            ..SelectOptions::new(budget)
        };
        let protected = (keeps, is_shallow, excludes);
        let context = format!("seed {seed}: {budget} by {} {units:?} {protected:?}", by.name());
        // Excluded names do not exist, but for the files that have them.
        let seen = |of: &[OfInode]| -> Vec<OfInode> {
            let mut seen = of.to_vec();
            seen.iter_mut().for_each(|inode| inode.names.retain(|name| !excludes || !name.ends_with('5')));
            seen.retain(|inode| !inode.names.is_empty());
            seen
        };
        let mut expected = oracle(&seen(&all), budget, by, units, (keeps, is_shallow));
        expected.extend(names(&all).difference(&names(&seen(&all))).cloned());
        let (total, count) = (seen(&all).iter().map(|inode| inode.bytes).sum(), seen(&all).len() as u64);
        let dry = selected(&top, &options);
        let (counted, would_go) = remove(&top, &dry, &conditions, true);
        assert_eq!(names(&inodes(&top)), names(&all), "{context}: a dry run removes nothing");
        let stays: BTreeSet<_> = names(&all).difference(&would_go).cloned().collect();
        let wrong: BTreeSet<_> = stays.symmetric_difference(&expected).collect();
        let of_wrong: Vec<_> =
            all.iter().filter(|inode| inode.names.iter().any(|name| wrong.contains(name))).collect();
        let context = format!("{context}: {of_wrong:?} {:?} {:?}", dry.threshold(), dry.outcome());
        assert_eq!(stays, expected, "{context}");
        let selection = selected(&top, &options);
        let (removed, gone) = remove(&top, &selection, &conditions, false);
        assert_eq!((removed.counts, &gone), (counted.counts, &would_go), "{context}");
        assert_eq!(dry.outcome(), selection.outcome(), "{context}");
        let left = inodes(&top);
        assert_eq!(names(&left), expected, "{context}");
        let left = seen(&left);
        let outcome = selection.outcome();
        let (now, held): (u64, u64) = match budget.measure() {
            Measure::Bytes => (left.iter().map(|inode| inode.bytes).sum(), total),
            Measure::Files => (left.len() as u64, count),
        };
        assert_eq!((outcome.now, budget.measure().of(&outcome.held)), (now, held), "{context}");
        assert_eq!(outcome.selected, outcome.freed, "{context}");
        assert_eq!(outcome.is_met, now <= outcome.limit, "{context}");
        assert_eq!(removed.counts.bytes, outcome.freed.bytes, "{context}");
        assert!(removed.complete, "{context}");
    }
}
