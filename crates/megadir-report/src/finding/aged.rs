//! Finding on aged directories: did they shrink again after they had grown?

use megadir_record::{AGED_GROUP, BuiltSet, Data};

use super::{Finding, FindingKind};
use crate::summary::Summary;
use crate::text;

/// An aged directory at least this many times larger than a fresh one has kept space that it does not need.
const KEPT: f64 = 1.5;

/// Compares the largest aged directory of each file system with a fresh one that holds as many files.
pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let Some(built) = &summary.built else { return Vec::new() };
    let largest = |data: &Data| {
        let others = built.sets.iter().filter(|set| set.aged.is_some());
        let mut others =
            others.filter_map(|set| self::data(summary, set)).filter(|other| other.on == data.on);
        others.all(|other| other.entries <= data.entries)
    };
    let told = built.sets.iter().filter_map(|aged| {
        let data = data(summary, aged).filter(|data| largest(data))?;
        let fresh = built.sets.iter().find(|fresh| {
            fresh.aged.is_none() && self::data(summary, fresh).is_some_and(|fresh| is_twin(data, fresh))
        });
        let text = tell(summary, data, aged, fresh?)?;
        Some(Finding::of_group(FindingKind::Aged, AGED_GROUP, text))
    });
    told.collect()
}

fn data<'a>(summary: &'a Summary, set: &BuiltSet) -> Option<&'a Data> {
    summary.data.iter().map(|check| &check.data).find(|data| data.id == set.data)
}

/// `true` if two data sets differ in age only.
fn is_twin(aged: &Data, fresh: &Data) -> bool {
    let (Some(made), Some(other)) = (aged.source.made(), fresh.source.made()) else { return false };
    let fresh_made = megadir_record::Made { aged_files: 0, ..made.clone() };
    aged.entries == fresh.entries && aged.on == fresh.on && fresh_made == *other
}

fn tell(summary: &Summary, data: &Data, aged: &BuiltSet, fresh: &BuiltSet) -> Option<String> {
    let of = aged.aged?;
    let (now, usual) = (aged.directory_bytes?, fresh.directory_bytes?);
    let (held, left) = (of.files.saturating_add(data.entries), data.entries);
    let (full, now_text) = (text::bytes(of.directory_bytes), text::bytes(now));
    let so = match () {
        () if now as f64 > KEPT * usual as f64 => {
            format!("still says {now_text}, and so is larger than it need be")
        }
        () if now == of.directory_bytes => format!("says {now_text} now too"),
        () => format!("says {now_text} now: it gave back what it had grown to"),
    };
    Some(format!(
        "On {}, a directory of {} that had held {} was of {full} when full and {so}; a fresh one is of {}.",
        summary.place_of(data.id),
        text::counted(left, "file"),
        text::count(held),
        text::bytes(usual)
    ))
}
