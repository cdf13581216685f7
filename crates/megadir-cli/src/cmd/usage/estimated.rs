//! Estimates of `usage --time`: as a sentence and a table, or as a JSON object.

use megadir::usage::By;
use megadir::usage::sampled::{Estimated, QUANTITIES};
use megadir::{TreePath, names};

use super::text::{escaped, fitting};
use super::timed::Estimate;
use crate::cmd::amount::amount;
use crate::cmd::list::summary::text::{Look, push};
use crate::ui::message::tree_path;
use crate::ui::object::Object;
use crate::ui::screen::aligned;
use crate::ui::{screen, sizes};

/// Names of the quantities in JSON, in their order.
const KEYS: [&str; QUANTITIES] = ["entries", "directory_entries", "allocated", "apparent"];
const ENTRIES: usize = 0;
const ALLOCATED: usize = 2;
const APPARENT: usize = 3;

type Row<'e> = (&'e TreePath, &'e [Estimated; QUANTITIES]);

impl Estimate<'_> {
    fn ranking(&self) -> usize {
        match self.by {
            By::Allocated => ALLOCATED,
            By::Apparent => APPARENT,
            By::Entries | By::Newest | By::Oldest => ENTRIES,
        }
    }

    /// Directories with entries, the highest first; those without an estimate by what was counted.
    fn ranked(&self) -> Vec<Row<'_>> {
        let rank = |row: &Row<'_>| row.1[self.ranking()].estimate.unwrap_or(row.1[self.ranking()].low);
        let is_filled = |row: &Row<'_>| row.1[ENTRIES].estimate != Some(0);
        let mut rows: Vec<Row<'_>> = self.usage.directories.iter().map(|(path, of)| (path, of)).collect();
        rows.retain(is_filled);
        rows.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| a.0.cmp(b.0)));
        rows
    }

    fn root(&self) -> &[u8] {
        names::from_os(self.args.paths[0].as_os_str())
    }
}

pub(super) fn write(text: &mut Vec<u8>, estimate: &Estimate<'_>, is_terminal: bool) {
    let look = Look::new(is_terminal, is_terminal);
    let width = look.terminal.map_or(usize::MAX, |terminal| terminal.width);
    let mut answered = String::new();
    screen::wrapped(&mut answered, width, ("", ""), &sentence(estimate));
    push(text, &format!("{}\n\n", answered.trim_end()));
    let ranked = estimate.ranked();
    table(text, estimate, &ranked, look);
    text.push(b'\n');
    for note in notes(estimate, ranked.len(), look) {
        push(text, &format!("  {note}\n"));
    }
}

fn sentence(estimate: &Estimate<'_>) -> String {
    let total = &estimate.usage.total;
    let count = |number: u128| amount(u64::try_from(number).unwrap_or(u64::MAX));
    let meet = if estimate.is_selection { " that meet the conditions" } else { "" };
    let entries = figure(&total[ENTRIES], &format!(" entries{meet}"), count);
    let on_disk = figure(&total[ALLOCATED], " on disk", sizes::text);
    format!("{} has {entries}, {on_disk}", escaped(estimate.root(), true))
}

fn figure(of: &Estimated, unit: &str, text: impl Fn(u128) -> String) -> String {
    match (of.estimate, of.high) {
        (Some(value), _) if of.is_exact() => format!("{}{unit}", text(value)),
        (Some(value), Some(high)) => {
            format!("about {}{unit} ({} to {})", text(value), text(of.low), text(high))
        }
        _ => format!("at least {}{unit}", text(of.low)),
    }
}

/// The estimate and its interval, of the entries and of the space; of the sizes if these rank. Without an estimate, two cells are `-`.
fn table(text: &mut Vec<u8>, estimate: &Estimate<'_>, ranked: &[Row<'_>], look: Look) {
    let (bytes, heading) =
        if estimate.ranking() == APPARENT { (APPARENT, "size") } else { (ALLOCATED, "on disk") };
    let number = |number: u128| match look.terminal {
        Some(_) => amount(u64::try_from(number).unwrap_or(u64::MAX)),
        None => number.to_string(),
    };
    let cells = |of: &[Estimated; QUANTITIES]| -> [String; 6] {
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let (entries, space) = (&of[ENTRIES], &of[bytes]);
        [
            or_dash(entries.estimate.map(number)),
            number(entries.low),
            or_dash(entries.high.map(number)),
            or_dash(space.estimate.map(|bytes| look.bytes(bytes))),
            look.bytes(space.low),
            or_dash(space.high.map(|bytes| look.bytes(bytes))),
        ]
    };
    let mut rows = vec![(escaped(estimate.root(), false), cells(&estimate.usage.total))];
    for (path, of) in ranked.iter().take(estimate.args.printed()) {
        rows.push((format!("  {}", escaped(&path.to_vec(), false)), cells(of)));
    }
    let figures: Vec<_> = rows.iter().map(|row| row.1.clone()).collect();
    let figures = aligned(["entries", "from", "to", heading, "from", "to"], &figures);
    push(text, &format!("  {}  directory\n", figures[0]));
    for ((name, _), figures) in rows.iter().zip(&figures[1..]) {
        push(text, &format!("{}\n", fitting(&format!("  {figures}  {name}"), look)));
    }
}

/// Lines below the table: what the figures are of, and what limits them. The first has a longer time to try, since the number of
/// directories that a sample needs is not known.
fn notes(estimate: &Estimate<'_>, directories: usize, look: Look) -> Vec<String> {
    let usage = &estimate.usage;
    let (read, time) = (look.counted(usage.read, "directory", "directories"), estimate.time.as_secs());
    let sampled = match usage.total[ENTRIES].estimate {
        Some(_) => format!("estimated from {read}, with 95 % intervals"),
        None => format!("{read} are too few, or differ too much, for an estimate"),
    };
    let mut notes = vec![format!(
        "{time} s did not suffice for the whole tree; {sampled} (longer: --time {}s)",
        time * 6
    )];
    if usage.total.iter().all(|of| of.estimate.is_some())
        && usage.directories.iter().any(|row| row.1[ENTRIES].estimate.is_none())
    {
        notes.push(
            "-: too little below it was read, or it differs too much, for an estimate; from is what was counted".to_owned(),
        );
    }
    let mut note = |count: u64, singular: &str, several: &str, rest: &str| {
        if count > 0 {
            notes.push(look.counted(count, singular, several) + rest);
        }
    };
    let unlisted = directories.saturating_sub(estimate.args.printed()) as u64;
    note(unlisted, "directory", "directories", " of the first level not listed (-n N lists more)");
    let rest = " could not be read: what is in them is not in the estimates";
    note(estimate.unread, "directory", "directories", rest);
    let rest = " not entered (--cross-mounts enters them)";
    note(estimate.mounts_not_entered, "mount point", "mount points", rest);
    notes
}

/// The figures have the keys that they have without `--time`, with `_low` and `_high`; those that are not estimated are missing.
pub(super) fn json(text: &mut Vec<u8>, estimate: &Estimate<'_>) {
    let usage = &estimate.usage;
    let ranked = estimate.ranked();
    let listed = &ranked[..ranked.len().min(estimate.args.printed())];
    Object::line(text, |object| {
        object.string("by", estimate.by.name());
        figures(object, &usage.total);
        object.raw("time_s", estimate.time.as_secs());
        object.raw("seed", estimate.seed);
        object.raw("directories_read", usage.read);
        object.raw("unread", estimate.unread);
        object.raw("mounts_not_entered", estimate.mounts_not_entered);
        object.raw("unlisted_directories", ranked.len() - listed.len());
        object.list("trees", &[&usage.total], |row, of| {
            row.name("dir", estimate.root());
            figures(row, of);
        });
        object.list("directories", listed, |row, (path, of)| {
            row.name("dir", &tree_path(estimate.root(), path));
            row.raw("depth", 1);
            figures(row, of);
        });
    });
}

fn figures(object: &mut Object<'_>, of: &[Estimated; QUANTITIES]) {
    object.raw("exact", of.iter().all(Estimated::is_exact));
    for (key, of) in KEYS.iter().zip(of) {
        object.raw_or_null(key, of.estimate);
        object.raw(&format!("{key}_low"), of.low);
        object.raw_or_null(&format!("{key}_high"), of.high);
    }
}
