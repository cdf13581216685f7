//! The report for programs: a JSON object on one line, with numbers exact at any size; comma-separated values; metrics.

use std::path::PathBuf;
use std::time::Duration;

use megadir::usage::{AgeRow, Amount, Sum};
use megadir::{Time, names};

use super::Answer;
use super::text::{exact_time, extension_name, whole_path};
use crate::cmd::prometheus::{Labels, Metrics};
use crate::ui::escape;

pub(super) fn json(text: &mut Vec<u8>, answer: &Answer<'_>) {
    let Answer { args, report, .. } = answer;
    let has_allocated = report.has_allocated();
    push(text, &format!("{{\"v\":1,\"by\":\"{}\",\"now_s\":{}", report.by.name(), answer.now_s));
    sum(text, &report.total, has_allocated);
    for (key, count) in [
        ("linked", report.linked_entries),
        ("unexamined", report.unexamined()),
        ("unread", answer.unread),
        ("mounts_not_entered", answer.mounts_not_entered),
    ] {
        push(text, &format!(",\"{key}\":{count}"));
    }
    escape::json_list(text, "trees", &report.roots, |text, root| {
        escape::json_member(text, "dir", names::from_os(root.path.as_os_str()));
        sum(text, &root.sum, has_allocated);
    });
    escape::json_list(text, "directories", &report.best(args.printed()), |text, directory| {
        escape::json_member(text, "dir", &whole_path(report, directory));
        push(text, &format!(",\"depth\":{}", directory.depth));
        sum(text, &directory.sum, has_allocated);
    });
    escape::json_list(text, "owners", &report.owners(), |text, row| {
        push(text, &format!("\"uid\":{}", escape::json_or_null(row.user)));
        amount(text, &row.amount, has_allocated);
    });
    escape::json_list(text, "extensions", &report.extensions(), |text, row| {
        push(text, "\"extension\":");
        escape::json_string(text, &extension_name(row.extension));
        amount(text, &row.amount, has_allocated);
    });
    for (key, rows) in [("modified", report.modified()), ("accessed", report.accessed())] {
        escape::json_list(text, key, &rows, |text, row: &AgeRow| {
            escape::json_ages(text, row.from_s, row.to_s);
            amount(text, &row.amount, has_allocated);
        });
    }
    escape::json_list(text, "sizes", &report.sizes(), |text, row| {
        push(text, &format!("\"from\":{},\"to\":{}", row.from, row.to));
        amount(text, &row.amount, has_allocated);
    });
    escape::json_list(text, "files_per_directory", &report.files_per_directory(), |text, row| {
        let (from, to, directories, files) = (row.from, row.to, row.directories, row.files);
        push(text, &format!("\"from\":{from},\"to\":{to},\"directories\":{directories},\"files\":{files}"));
    });
    push(text, "}\n");
}

fn sum(text: &mut Vec<u8>, sum: &Sum, has_allocated: bool) {
    amount(text, &sum.amount, has_allocated);
    push(text, &format!(",\"directory_entries\":{}", sum.directories));
    for (key, time) in [("newest", sum.newest), ("oldest", sum.oldest)] {
        let time = time.map(|time| format!("\"{}\"", exact_time(time)));
        push(text, &format!(",\"{key}\":{}", escape::json_or_null(time)));
    }
}

fn amount(text: &mut Vec<u8>, amount: &Amount, has_allocated: bool) {
    let Amount { entries, inodes, allocated, apparent } = amount;
    let allocated = escape::json_or_null(has_allocated.then_some(allocated));
    push(
        text,
        &format!(
            ",\"entries\":{entries},\"inodes\":{inodes},\"allocated\":{allocated},\"apparent\":{apparent}"
        ),
    );
}

fn push(text: &mut Vec<u8>, more: &str) {
    text.extend_from_slice(more.as_bytes());
}

/// Directories.
pub(super) fn csv(text: &mut Vec<u8>, answer: &Answer<'_>) {
    text.extend_from_slice(
        b"directory,depth,entries,inodes,directories,allocated,apparent,newest,oldest\r\n",
    );
    for root in &answer.report.roots {
        csv_row(text, names::from_os(root.path.as_os_str()), 0, &root.sum, answer);
    }
    for directory in answer.report.best(answer.args.printed()) {
        csv_row(text, &whole_path(&answer.report, directory), directory.depth, &directory.sum, answer);
    }
}

fn csv_row(text: &mut Vec<u8>, path: &[u8], depth: u32, sum: &Sum, answer: &Answer<'_>) {
    escape::csv_value(text, path);
    let allocated = match answer.report.has_allocated() {
        true => sum.amount.allocated.to_string(),
        false => String::new(),
    };
    let [newest, oldest] = [sum.newest, sum.oldest].map(|time| time.map(exact_time).unwrap_or_default());
    let (amount, directories) = (&sum.amount, sum.directories);
    let (entries, inodes, apparent) = (amount.entries, amount.inodes, amount.apparent);
    let rest =
        format!(",{depth},{entries},{inodes},{directories},{allocated},{apparent},{newest},{oldest}\r\n");
    text.extend_from_slice(rest.as_bytes());
}

/// Tree of the metrics.
pub(super) struct Tree {
    pub(super) path: PathBuf,
    pub(super) is_complete: bool,
    /// `None` for a tree of an inventory, or one that could not be read.
    pub(super) took: Option<Duration>,
    /// End of reading it, seconds since 1970-01-01 UTC; `None` if it could not be read.
    pub(super) read_s: Option<i64>,
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

/// Figures of the trees, and of the listed directories.
pub(super) fn metrics(answer: &Answer<'_>) -> Metrics {
    let mut metrics = Metrics::default();
    let selection = answer.args.selection();
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
