//! The report as metrics: figures of the trees, and of the listed directories.

use std::path::PathBuf;
use std::time::Duration;

use megadir::usage::Sum;
use megadir::{Time, names};

use super::Answer;
use crate::cmd::prometheus::{Labels, Metrics};

pub(super) struct Tree {
    pub(super) path: PathBuf,
    pub(super) is_complete: bool,
    /// `None` for a tree of an inventory.
    pub(super) took: Option<Duration>,
    /// End of reading it, seconds since 1970-01-01 UTC.
    pub(super) read_s: i64,
}

type Name = (&'static str, &'static str);

/// Entries, directories, inodes, space on disk, sizes, newest, oldest.
type Names = [Name; 7];

const TREE: Names = [
    ("megadir_usage_tree_entries", "Number of names below the tree's root."),
    ("megadir_usage_tree_directories", "Number of directories below the tree's root."),
    ("megadir_usage_tree_inodes", "Number of inodes below the tree's root; hard links count once."),
    ("megadir_usage_tree_allocated_bytes", "Space on disk of everything below the tree's root."),
    ("megadir_usage_tree_apparent_bytes", "Sum of the sizes of everything below the tree's root."),
    ("megadir_usage_tree_newest_timestamp_seconds", "Latest modification time of an entry of the tree."),
    ("megadir_usage_tree_oldest_timestamp_seconds", "Earliest modification time of an entry of the tree."),
];

const DIRECTORY: Names = [
    ("megadir_usage_directory_entries", "Number of names below one of the highest-ranking directories."),
    ("megadir_usage_directory_directories", "Number of directories below the directory."),
    ("megadir_usage_directory_inodes", "Number of inodes below the directory; hard links count once."),
    ("megadir_usage_directory_allocated_bytes", "Space on disk of everything below the directory."),
    ("megadir_usage_directory_apparent_bytes", "Sum of the sizes of everything below the directory."),
    ("megadir_usage_directory_newest_timestamp_seconds", "Latest modification time below the directory."),
    ("megadir_usage_directory_oldest_timestamp_seconds", "Earliest modification time below the directory."),
];

const COMPLETE: Name = ("megadir_usage_complete", "1 if every entry of the tree could be read, otherwise 0.");
const READ: Name = ("megadir_usage_read_timestamp_seconds", "Time at which the tree had been read.");
const TOOK: Name = ("megadir_usage_read_duration_seconds", "Time that reading the tree took.");

pub(super) fn metrics(answer: &Answer<'_>) -> Metrics {
    let mut metrics = Metrics::default();
    let selection = answer.args.selection();
    let of = |path: &[u8]| Labels::default().with_path("tree", path).with("conditions", &selection);
    for tree in &answer.trees {
        let labels = of(names::from_os(tree.path.as_os_str()));
        metrics.gauge(COMPLETE, &labels, u8::from(tree.is_complete));
        metrics.gauge(READ, &labels, tree.read_s);
        if let Some(took) = tree.took {
            metrics.gauge(TOOK, &labels, took.as_secs_f64());
        }
    }
    let report = &answer.report;
    let has_allocated = report.has_allocated();
    for root in &report.roots {
        let labels = of(names::from_os(root.path.as_os_str()));
        figures(&mut metrics, &TREE, &labels, &root.sum, has_allocated);
    }
    for directory in report.best(answer.args.printed()) {
        let root = names::from_os(report.roots[directory.root as usize].path.as_os_str());
        let labels = of(root).with_path("directory", &directory.path.to_vec());
        figures(&mut metrics, &DIRECTORY, &labels, &directory.sum, has_allocated);
    }
    metrics
}

fn figures(metrics: &mut Metrics, names: &Names, labels: &Labels, sum: &Sum, has_allocated: bool) {
    let [entries, directories, inodes, allocated, apparent, newest, oldest] = *names;
    metrics.gauge(entries, labels, sum.amount.entries);
    metrics.gauge(directories, labels, sum.directories);
    metrics.gauge(inodes, labels, sum.amount.inodes);
    if has_allocated {
        metrics.gauge(allocated, labels, sum.amount.allocated);
    }
    metrics.gauge(apparent, labels, sum.amount.apparent);
    for (name, time) in [(newest, sum.newest), (oldest, sum.oldest)] {
        if let Some(Time { seconds, .. }) = time {
            metrics.gauge(name, labels, seconds);
        }
    }
}
