//! Summary as a JSON object on one line; numbers are exact at any size.

use megadir::names;
use megadir::summary::{Ranked, Sizes, Summary, Total};

use super::{Directories, Gaps, Scope};
use crate::cmd::list::lines;
use crate::ui::object::Object;

pub(super) fn tree(text: &mut Vec<u8>, scope: &Scope<'_>, summary: &Summary) {
    Object::line(text, |object| {
        begin(object, scope, summary.total());
        object.raw("linked", summary.linked());
        gaps_of(object, &scope.gaps);
        object.list("types", &summary.types(), |row, (kind, of_type)| {
            row.string("type", kind.name());
            total(row, *of_type);
        });
        sizes(object, summary.sizes());
        object.list("ages", &summary.ages().buckets(), |row, bucket| {
            row.ages(bucket.from_s, bucket.to_s);
            total(row, bucket.total);
        });
        named(object, "largest", &summary.largest(), |row, bytes| row.raw("size", bytes));
        for (key, entries) in [("newest", summary.newest()), ("oldest", summary.oldest())] {
            named(object, key, &entries, |row, time| row.string("mtime", &scope.how.exact_time(time)));
        }
    });
}

pub(super) fn directories(text: &mut Vec<u8>, scope: &Scope<'_>, directories: &Directories) {
    let Directories { rows, all } = directories;
    Object::line(text, |object| {
        begin(object, scope, all.total());
        object.raw("directories", all.directories());
        gaps_of(object, &scope.gaps);
        object.list("top", rows, |object, row| {
            object.name("dir", names::from_os(row.path.as_os_str()));
            total(object, row.totals.total);
            object.raw_or_null("largest", row.totals.largest_bytes);
            let newest = row.totals.newest.map(|time| scope.how.exact_time(time));
            object.string_or_null("newest", newest.as_deref());
        });
        let (others, of_others) = directories.others();
        object.part("others", |object| {
            object.raw("directories", others);
            total(object, of_others);
        });
    });
}

fn begin(object: &mut Object<'_>, scope: &Scope<'_>, all: Total) {
    object.name("dir", names::from_os(scope.path.as_os_str()));
    object.raw("recursive", scope.how.recursive);
    object.raw("now_s", scope.how.now_s);
    total(object, all);
}

fn gaps_of(object: &mut Object<'_>, gaps: &Gaps) {
    object.raw("unexamined", gaps.unexamined);
    object.raw("undecided", gaps.undecided);
    object.raw("unread", gaps.unread);
}

fn sizes(object: &mut Object<'_>, sizes: &Sizes) {
    for (key, share) in [("median", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        object.raw_or_null(key, sizes.quantile(share));
    }
    object.raw("quantile_error", Sizes::QUANTILE_ERROR);
    object.list("sizes", &sizes.buckets(), |row, bucket| {
        row.raw("from", bucket.from);
        row.raw("to", bucket.to);
        total(row, bucket.total);
    });
}

fn named<V: Copy>(
    object: &mut Object<'_>,
    key: &str,
    entries: &[Ranked<'_, V>],
    value: impl Fn(&mut Object<'_>, V),
) {
    object.list(key, entries, |row, entry| {
        if !entry.prefix.is_empty() {
            row.name("dir", lines::directory(entry.prefix));
        }
        row.name("name", entry.name);
        value(row, entry.value);
    });
}

fn total(object: &mut Object<'_>, total: Total) {
    object.raw("entries", total.entries);
    object.raw("bytes", total.bytes);
}
