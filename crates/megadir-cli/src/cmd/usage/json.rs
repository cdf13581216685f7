//! The report as a JSON object on one line; numbers are exact at any size.

use megadir::names;
use megadir::usage::{AgeRow, Amount, Sum};

use super::Answer;
use super::text::{exact_time, extension_name, whole_path};
use crate::ui::escape;

pub(super) fn write(text: &mut Vec<u8>, answer: &Answer<'_>) {
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
            push(
                text,
                &format!(
                    "\"from_s\":{},\"to_s\":{}",
                    escape::json_or_null(row.from_s),
                    escape::json_or_null(row.to_s)
                ),
            );
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
