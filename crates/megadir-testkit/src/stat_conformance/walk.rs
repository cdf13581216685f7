//! Trees: every entry of every directory with its attributes; other mounts only on request.
//!
//! A queue of one directory makes workers wait for each other, which is where a walk could stop or lose a
//! directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use megadir::{Attributes, Dir, Error, ErrorKind, Result, StatMask, Walk, WalkItem, WalkOptions};

use super::{Ground, trees};
use crate::stat_conformance::trees::oracle;
use crate::stat_conformance::values::Mounted;

struct Walked {
    rows: BTreeMap<PathBuf, Attributes>,
    errors: Vec<Error>,
    other_mounts: Vec<PathBuf>,
}

fn walk(ground: &Ground, root: &Path, threads: usize, queue: usize, cross_mounts: bool) -> Result<Walked> {
    let options = WalkOptions {
        buffer_bytes: 4 << 10,
        queue_directories_max: queue,
        cross_mounts,
        examine: Some((ground.stat_backend, StatMask::ALL)),
        ..WalkOptions::new(threads)
    };
    let mut walk = Walk::new(Dir::open(root)?, &options)?;
    let mut walked = Walked { rows: BTreeMap::new(), errors: Vec::new(), other_mounts: Vec::new() };
    while let Some(item) = walk.next_item() {
        match item {
            WalkItem::Batch { directory, batch, attributes } => {
                assert_eq!(batch.len(), attributes.len(), "a row for every entry");
                for (entry, row) in batch.entries().zip(attributes) {
                    let path = directory.join(megadir::names::to_os(entry.name)?);
                    let before = walked.rows.insert(path.clone(), *row);
                    assert!(before.is_none(), "{} came twice", path.display());
                }
            }
            WalkItem::End { .. } => panic!("ends were not asked for"),
            WalkItem::Error(error) => walked.errors.push(error),
            WalkItem::OtherMount(path) => walked.other_mounts.push(path),
        }
    }
    Ok(walked)
}

/// A plain recursion with the oracle of single directories.
fn truth(root: &Path, leave_out: &[PathBuf]) -> BTreeMap<PathBuf, Attributes> {
    let mut all = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for (name, row) in oracle(&directory) {
            let path = directory.join(megadir::names::to_os(&name).unwrap());
            if row.kind == megadir::FileType::Directory && !leave_out.contains(&path) {
                directories.push(path.clone());
            }
            all.insert(path, row);
        }
    }
    all
}

fn compare(ground: &Ground, walked: &Walked, truth: &BTreeMap<PathBuf, Attributes>) {
    for (path, row) in &walked.rows {
        let truth = truth.get(path).unwrap_or_else(|| panic!("{} is not there", path.display()));
        if let Some(wrong) = ground.wrong(row, truth) {
            panic!("{} walking at {}: {wrong}", ground.stat_backend.name(), path.display());
        }
    }
    let missing = truth.keys().find(|path| !walked.rows.contains_key(*path));
    assert_eq!(missing, None, "{} walking", ground.stat_backend.name());
}

impl Ground {
    pub fn check_tree(&self, path: &Path) {
        // A stat backend that refuses the root must refuse the walk, without rows.
        if !self.accepts(&Dir::open(path).unwrap()) {
            let refused = walk(self, path, 2, 8, false).map(drop).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
            return;
        }
        let truth = truth(path, &[]);
        for (threads, queue) in [(1, 1), (1, 64), (3, 1), (3, 64)] {
            let walked = walk(self, path, threads, queue, false).unwrap();
            assert!(walked.errors.is_empty() && walked.other_mounts.is_empty(), "{:?}", walked.errors);
            compare(self, &walked, &truth);
        }
    }
}

pub(super) fn tree(ground: &Ground) {
    let path = trees::ensure(&ground.directory, "tree", build);
    ground.check_tree(&path);
    if rustix::process::geteuid().is_root() && ground.stat_backend.probe(&Dir::open(&path).unwrap()).is_ok() {
        across_mounts(ground);
    }
}

fn build(path: &Path) {
    trees::kinds(path);
    trees::various(path, 700);
    // Wide, to fill the queue, and deep, to need paths of many parts.
    for wide in 0..12 {
        let directory = path.join(format!("wide-{wide}"));
        std::fs::create_dir(&directory).unwrap();
        trees::fill(&directory, wide * 5);
    }
    let mut deep = path.join("deep");
    for _ in 0..30 {
        std::fs::create_dir(&deep).unwrap();
        trees::fill(&deep, 3);
        deep.push("deeper");
    }
}

fn across_mounts(ground: &Ground) {
    let path = ground.directory.join(format!("across-{}", ground.stat_backend.name()));
    let other = path.join("other");
    std::fs::create_dir_all(&other).unwrap();
    trees::fill(&path, 10);
    let mut mounted = Mounted::default();
    mounted.mount(&["-t", "tmpfs", "none"], &other).unwrap();
    trees::fill(&other, 20);
    let walked = walk(ground, &path, 2, 8, false).unwrap();
    assert_eq!(walked.other_mounts, std::slice::from_ref(&other));
    compare(ground, &walked, &truth(&path, std::slice::from_ref(&other)));
    let walked = walk(ground, &path, 2, 8, true).unwrap();
    // It must report what it cannot examine there.
    let refused = walked.errors.iter().all(|error| error.kind() == ErrorKind::Unavailable);
    assert!(refused && walked.errors.len() <= 1, "{:?}", walked.errors);
    let not_examined = if walked.errors.is_empty() { vec![] } else { vec![other] };
    compare(ground, &walked, &truth(&path, &not_examined));
    mounted.end().unwrap();
    std::fs::remove_dir_all(&path).unwrap();
}
