//! Summary as a JSON object on one line; numbers are exact at any size.

use std::path::Path;

use megadir::names;
use megadir::summary::{Ranked, Sizes, Summary, Total};

use super::text::push;
use super::{Directories, Gaps, How};
use crate::cmd::list::lines;
use crate::ui::escape;

pub(super) fn tree(text: &mut Vec<u8>, how: &How, summary: &Summary, gaps: &Gaps, path: &Path) {
    begin(text, how, path, summary.total());
    number(text, "linked", summary.linked());
    gaps_of(text, gaps);
    escape::json_list(text, "types", &summary.types(), |text, (kind, of_type)| {
        push(text, "\"type\":");
        escape::json_string(text, kind.name());
        total(text, *of_type);
    });
    sizes(text, summary.sizes());
    escape::json_list(text, "ages", &summary.ages().buckets(), |text, bucket| {
        escape::json_ages(text, bucket.from_s, bucket.to_s);
        total(text, bucket.total);
    });
    named(text, "largest", "size", &summary.largest(), |text, bytes| push(text, &bytes.to_string()));
    let time = |text: &mut Vec<u8>, time| escape::json_string(text, &how.exact_time(time));
    named(text, "newest", "mtime", &summary.newest(), time);
    named(text, "oldest", "mtime", &summary.oldest(), time);
    push(text, "}\n");
}

pub(super) fn directories(
    text: &mut Vec<u8>,
    how: &How,
    directories: &Directories,
    gaps: &Gaps,
    path: &Path,
) {
    let Directories { rows, all } = directories;
    begin(text, how, path, all.total());
    number(text, "directories", all.directories());
    gaps_of(text, gaps);
    escape::json_list(text, "top", rows, |text, row| {
        escape::json_member(text, "dir", names::from_os(row.path.as_os_str()));
        total(text, row.totals.total);
        push(text, &format!(",\"largest\":{},\"newest\":", escape::json_or_null(row.totals.largest_bytes)));
        match row.totals.newest {
            Some(time) => escape::json_string(text, &how.exact_time(time)),
            None => push(text, "null"),
        }
    });
    let (others, of_others) = directories.others();
    push(text, &format!(",\"others\":{{\"directories\":{others}"));
    total(text, of_others);
    push(text, "}}\n");
}

fn begin(text: &mut Vec<u8>, how: &How, path: &Path, all: Total) {
    push(text, "{\"v\":1,");
    escape::json_member(text, "dir", names::from_os(path.as_os_str()));
    push(text, &format!(",\"recursive\":{},\"now_s\":{}", how.recursive, how.now_s));
    total(text, all);
}

fn gaps_of(text: &mut Vec<u8>, gaps: &Gaps) {
    number(text, "unexamined", gaps.unexamined);
    number(text, "undecided", gaps.undecided);
    number(text, "unread", gaps.unread);
}

fn sizes(text: &mut Vec<u8>, sizes: &Sizes) {
    for (key, share) in [("median", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        push(text, &format!(",\"{key}\":{}", escape::json_or_null(sizes.quantile(share))));
    }
    push(text, &format!(",\"quantile_error\":{}", Sizes::QUANTILE_ERROR));
    escape::json_list(text, "sizes", &sizes.buckets(), |text, bucket| {
        push(text, &format!("\"from\":{},\"to\":{}", bucket.from, bucket.to));
        total(text, bucket.total);
    });
}

fn named<V: Copy>(
    text: &mut Vec<u8>,
    key: &str,
    of: &str,
    entries: &[Ranked<'_, V>],
    value: impl Fn(&mut Vec<u8>, V),
) {
    escape::json_list(text, key, entries, |text, entry| {
        if !entry.prefix.is_empty() {
            escape::json_member(text, "dir", lines::directory(entry.prefix));
            push(text, ",");
        }
        escape::json_member(text, "name", entry.name);
        push(text, &format!(",\"{of}\":"));
        value(text, entry.value);
    });
}

fn total(text: &mut Vec<u8>, total: Total) {
    push(text, &format!(",\"entries\":{},\"bytes\":{}", total.entries, total.bytes));
}

fn number(text: &mut Vec<u8>, key: &str, value: u64) {
    push(text, &format!(",\"{key}\":{value}"));
}
