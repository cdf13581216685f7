//! The report for programs: a JSON object on one line, with numbers exact at any size; comma-separated values; metrics.

use std::path::PathBuf;
use std::time::Duration;

use megadir::summary::AgeBucket;
use megadir::usage::{Amount, Root, Sum};
use megadir::{Time, names};

use super::Answer;
use super::text::{exact_time, extension_name, whole_path};
use crate::cmd::prometheus::{Labels, Metrics, Name};
use crate::ui::escape::csv_value;
use crate::ui::object::Object;

/// One object for all trees together, with the sums first. Amounts are exact integers at any size. Lists are limited
/// as the text is, and the number of directories that are left out is a field, so that a program can notice it.
/// Fields of space on disk are null if an inventory does not have them.
pub(super) fn json(text: &mut Vec<u8>, answer: &Answer<'_>) {
    let Answer { args, report, .. } = answer;
    let has_allocated = report.has_allocated();
    let listed = report.best(args.printed());
    Object::line(text, |object| {
        object.string("by", report.by.name());
        object.raw("now_s", answer.now_s);
        sum(object, &report.total, has_allocated);
        object.raw("linked", report.linked_entries);
        object.raw("unexamined", report.unexamined());
        object.raw("unread", answer.unread);
        object.raw("mounts_not_entered", answer.mounts_not_entered);
        object.raw("unlisted_directories", report.unlisted(&listed, None));
        object.list("trees", &report.roots, |row, root| {
            row.name("dir", names::from_os(root.path.as_os_str()));
            sum(row, &root.sum, has_allocated);
        });
        object.list("directories", &listed, |row, directory| {
            row.name("dir", &whole_path(report, directory));
            row.raw("depth", directory.depth);
            sum(row, &directory.sum, has_allocated);
        });
        object.list("owners", &report.owners(), |row, (user, of)| {
            row.raw_or_null("uid", *user);
            amount(row, of, has_allocated);
        });
        object.list("extensions", &report.extensions(), |row, (extension, of)| {
            row.string("extension", &extension_name(*extension));
            amount(row, of, has_allocated);
        });
        for (key, rows) in [("modified", report.modified()), ("accessed", report.accessed())] {
            object.list(key, &rows, |row, age: &AgeBucket<Amount>| {
                row.ages(age.from_s, age.to_s);
                amount(row, &age.total, has_allocated);
            });
        }
        object.list("sizes", &report.sizes(), |row, size| {
            row.raw("from", size.from);
            row.raw("to", size.to);
            amount(row, &size.total, has_allocated);
        });
        object.list("files_per_directory", &report.files_per_directory(), |row, range| {
            row.raw("from", range.from);
            row.raw("to", range.to);
            row.raw("directories", range.directories);
            row.raw("files", range.files);
        });
    });
}

fn sum(object: &mut Object<'_>, sum: &Sum, has_allocated: bool) {
    amount(object, &sum.amount, has_allocated);
    object.raw("directory_entries", sum.directories);
    for (key, time) in [("newest", sum.newest), ("oldest", sum.oldest)] {
        object.string_or_null(key, time.map(exact_time).as_deref());
    }
}

fn amount(object: &mut Object<'_>, amount: &Amount, has_allocated: bool) {
    object.raw("entries", amount.entries);
    object.raw("inodes", amount.inodes);
    object.raw_or_null("allocated", has_allocated.then_some(amount.allocated));
    object.raw("apparent", amount.apparent);
}

pub(super) fn csv(text: &mut Vec<u8>, answer: &Answer<'_>) {
    text.extend_from_slice(
        b"directory,depth,entries,inodes,directories,allocated,apparent,newest,oldest\r\n",
    );
    let report = &answer.report;
    for root in &report.roots {
        csv_row(text, names::from_os(root.path.as_os_str()), "0", &root.sum, answer);
    }
    let listed = report.best(answer.args.printed());
    for directory in &listed {
        let depth = directory.depth.to_string();
        csv_row(text, &whole_path(report, directory), &depth, &directory.sum, answer);
    }
    if report.unlisted(&listed, None) > 0 {
        csv_row(text, b"", "", &Sum { newest: None, oldest: None, ..report.rest(&listed) }, answer);
    }
}

fn csv_row(text: &mut Vec<u8>, path: &[u8], depth: &str, sum: &Sum, answer: &Answer<'_>) {
    csv_value(text, path);
    let allocated =
        if answer.report.has_allocated() { sum.amount.allocated.to_string() } else { String::new() };
    let [newest, oldest] = [sum.newest, sum.oldest].map(|time| time.map(exact_time).unwrap_or_default());
    let (amount, directories) = (&sum.amount, sum.directories);
    let (entries, inodes, apparent) = (amount.entries, amount.inodes, amount.apparent);
    let rest =
        format!(",{depth},{entries},{inodes},{directories},{allocated},{apparent},{newest},{oldest}\r\n");
    text.extend_from_slice(rest.as_bytes());
}

pub(super) struct Tree {
    pub(super) path: PathBuf,
    pub(super) is_complete: bool,
    /// `None` for a tree of an inventory, or one that could not be read.
    pub(super) took: Option<Duration>,
    /// End of reading it, seconds since 1970-01-01 UTC; `None` if it could not be read.
    pub(super) read_s: Option<i64>,
}

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

const UNLISTED: Name = (
    "megadir_usage_tree_unlisted_directories",
    "Number of directories with entries below the tree's root that have no metrics of their own.",
);
const COMPLETE: Name = ("megadir_usage_complete", "1 if every entry of the tree could be read, otherwise 0.");
const READ: Name = ("megadir_usage_read_timestamp_seconds", "Time at which the tree had been read.");
const TOOK: Name = ("megadir_usage_read_duration_seconds", "Time that reading the tree took.");

/// Every tree has a gauge for its completeness, also one that could not be read. Figures are written only for trees
/// that were read to the end, because an alert must not take a part for the whole. Conditions are a label: figures of
/// a selection must not replace those of the whole tree.
pub(super) fn metrics(answer: &Answer<'_>) -> Metrics {
    let mut metrics = Metrics::default();
    let selection = answer.args.conditions.words();
    let of = |path: &[u8]| Labels::default().with_path("tree", path).with("conditions", &selection);
    for tree in &answer.trees {
        let labels = of(names::from_os(tree.path.as_os_str()));
        metrics.gauge(COMPLETE, &labels, u8::from(tree.is_complete));
        if let Some(read_s) = tree.read_s {
            metrics.gauge(READ, &labels, read_s);
        }
        if let Some(took) = tree.took {
            metrics.gauge(TOOK, &labels, took.as_secs_f64());
        }
    }
    let report = &answer.report;
    let has_allocated = report.has_allocated();
    // An alert on figures must not take a part for the whole.
    let is_unread =
        |root: &Root| answer.trees.iter().any(|tree| tree.read_s.is_none() && tree.path == root.path);
    let listed = report.best(answer.args.printed());
    for (at, root) in (0..).zip(&report.roots).filter(|(_, root)| !is_unread(root)) {
        let labels = of(names::from_os(root.path.as_os_str()));
        figures(&mut metrics, &TREE, &labels, &root.sum, has_allocated);
        metrics.gauge(UNLISTED, &labels, report.unlisted(&listed, Some(at)));
    }
    for directory in listed {
        let root = &report.roots[directory.root as usize];
        if is_unread(root) {
            continue;
        }
        let root = names::from_os(root.path.as_os_str());
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
