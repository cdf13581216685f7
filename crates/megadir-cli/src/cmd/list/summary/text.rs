//! Summary as text: tables of types, sizes and ages, notable entries, and the directories with the most entries.

use megadir::Time;
use megadir::summary::{Ranked, Sizes, Summary, Total};

use super::{Directories, Gaps, How, Scope};
use crate::cmd::amount::grouped;
use crate::cmd::list::lines::Lines;
use crate::cmd::times::TimeStyle;
use crate::ui::screen::{aligned, bar};
use crate::ui::{is_unicode, sizes};

const BAR_MAX: usize = 30;
const BAR_MIN: usize = 4;
/// More empty rows in succession are one.
const GAP_MAX: usize = 2;
const WIDTH: usize = 80;

#[derive(Clone, Copy)]
pub(in crate::cmd) struct Look {
    pub(in crate::cmd) terminal: Option<Terminal>,
    pub(super) human: bool,
}

#[derive(Clone, Copy)]
pub(in crate::cmd) struct Terminal {
    pub(in crate::cmd) width: usize,
    pub(in crate::cmd) unicode: bool,
}

struct Table {
    heading: &'static str,
    rows: Vec<(String, Total)>,
    below: Option<String>,
}

impl Look {
    pub(in crate::cmd) fn new(is_terminal: bool, human: bool) -> Self {
        let width = || terminal_size::terminal_size().map_or(WIDTH, |(width, _)| usize::from(width.0));
        Self { terminal: is_terminal.then(|| Terminal { width: width(), unicode: is_unicode() }), human }
    }

    pub(in crate::cmd) fn number(self, value: impl Into<u128>) -> String {
        if self.terminal.is_some() { grouped(value) } else { value.into().to_string() }
    }

    pub(in crate::cmd) fn bytes(self, bytes: impl Into<u128>) -> String {
        if !self.human {
            return self.number(bytes);
        }
        let mut text = Vec::new();
        sizes::human(&mut text, bytes);
        String::from_utf8_lossy(&text).into_owned()
    }

    pub(super) fn bytes_and_unit(self, bytes: impl Into<u128>) -> String {
        if self.human { sizes::text(bytes) } else { format!("{} bytes", self.number(bytes)) }
    }

    pub(in crate::cmd) fn counted(self, count: u64, singular: &str, several: &str) -> String {
        format!("{} {}", self.number(count), if count == 1 { singular } else { several })
    }
}

/// Sums, then three tables with common columns, then the extreme entries, then notes. Notes come last because they
/// limit the figures above: entries that could not be read or examined, and files that count more than once because
/// of hard links.
pub(super) fn tree(text: &mut Vec<u8>, scope: &Scope<'_>, summary: &Summary) {
    let (how, look) = (scope.how, scope.how.look);
    heading(text, scope);
    let entries = look.counted(summary.total().entries, "entry", "entries");
    let bytes = look.bytes_and_unit(summary.total().bytes);
    push(text, &format!("{entries}, {bytes} (apparent size)\n"));
    let types = summary.types().into_iter().map(|(kind, total)| (kind.name().to_owned(), total));
    let sizes = summary.sizes().buckets().into_iter();
    let sizes = sizes.map(|bucket| (size_label(bucket.from, bucket.to), bucket.total));
    let ages = summary.ages().buckets().into_iter();
    let ages = ages.map(|bucket| (age_label(bucket.from_s, bucket.to_s), bucket.total));
    let tables = [
        Table { heading: "type", rows: types.collect(), below: None },
        Table { heading: "size", rows: sizes.collect(), below: quantiles(summary.sizes(), look) },
        Table { heading: "modified", rows: ages.collect(), below: None },
    ];
    write_tables(text, &tables, look);
    named(text, &how.lines, "largest", &summary.largest(), |bytes| look.bytes(bytes));
    named(text, &how.lines, "newest", &summary.newest(), |time| how.time(time));
    named(text, &how.lines, "oldest", &summary.oldest(), |time| how.time(time));
    let mut notes = Vec::new();
    if summary.linked() > 0 {
        let (who, counts) = match summary.linked() {
            1 => ("1 entry has".to_owned(), "it counts with its full size"),
            several => (format!("{} entries have", look.number(several)), "each counts with its full size"),
        };
        notes.push(format!("{who} more than one hard link: {counts}"));
    }
    notes.extend(scope.gaps.notes(look));
    write_notes(text, &notes);
}

fn heading(text: &mut Vec<u8>, scope: &Scope<'_>) {
    scope.how.lines.path(text, scope.path);
    push(text, if scope.how.recursive { " and below\n  " } else { "\n  " });
}

fn write_notes(text: &mut Vec<u8>, notes: &[String]) {
    if !notes.is_empty() {
        text.push(b'\n');
    }
    notes.iter().for_each(|note| push(text, &format!("  {note}\n")));
}

impl Gaps {
    pub(super) fn notes(&self, look: Look) -> Vec<String> {
        let not_counted = "examined: not counted, because the conditions cannot be checked";
        let not_read = "read to the end: the remaining entries are not counted";
        let notes = [
            (self.unexamined, "entry", "entries", "examined: counted, but without size and age"),
            (self.undecided, "entry", "entries", not_counted),
            (self.unread, "directory", "directories", not_read),
        ];
        let notes = notes.into_iter().filter(|(count, ..)| *count > 0);
        let note = |(count, singular, several, consequence): (u64, &str, &str, &str)| {
            format!("{} could not be {consequence}", look.counted(count, singular, several))
        };
        notes.map(note).collect()
    }
}

impl How {
    pub(super) fn time(&self, time: Time) -> String {
        match self.times {
            None => self.exact_time(Time { nanoseconds: 0, ..time }).replace(".000000000", ""),
            Some(_) => self.exact_time(time),
        }
    }

    pub(super) fn exact_time(&self, time: Time) -> String {
        self.times.unwrap_or(TimeStyle::Iso).text(time)
    }
}

fn quantiles(sizes: &Sizes, look: Look) -> Option<String> {
    let quantile = |share| sizes.quantile(share).map(|bytes| look.bytes(bytes));
    let (median, most, nearly_all) = (quantile(0.5)?, quantile(0.9)?, quantile(0.99)?);
    let within = (1000.0 * Sizes::QUANTILE_ERROR).ceil() / 10.0;
    let (about, within) = match look.human {
        true => ("about ", String::new()),
        false => ("", format!(" bytes (within {within} %)")),
    };
    let parts = [
        format!("median {about}{median}, "),
        format!("90 % up to {most}, "),
        format!("99 % up to {nearly_all}{within}"),
    ];
    let width = look.terminal.map_or(usize::MAX, |terminal| terminal.width);
    let (mut text, mut line) = (String::new(), String::from("  "));
    for part in parts {
        if line.len() + part.trim_end().len() > width && !line.trim().is_empty() {
            text.push_str(line.trim_end());
            text.push('\n');
            line = "  ".into();
        }
        line.push_str(&part);
    }
    Some(text + &line)
}

/// The tables have the same widths, so that their columns stand below each other. Bars are drawn only on a terminal
/// with room for two of at least `BAR_MIN` columns, and relative to the largest row of their own table. A run of
/// empty ranges becomes one line of dots, because a single old file would otherwise add dozens of zeros.
fn write_tables(text: &mut Vec<u8>, tables: &[Table], look: Look) {
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let widest = |of: &dyn Fn(&(String, Total)) -> usize| rows().map(of).max().unwrap_or(0);
    let label_width = widest(&|row| row.0.len()).max("modified".len());
    let entries_width = widest(&|row| look.number(row.1.entries).len()).max("entries".len());
    let bytes_width = widest(&|row| look.bytes(row.1.bytes).len()).max("bytes".len());
    let bars = look.terminal.and_then(|terminal| {
        // Two spaces before each column, one before each bar.
        let columns = label_width + entries_width + bytes_width + 8;
        let bar_width = (terminal.width.saturating_sub(columns) / 2).min(BAR_MAX);
        (bar_width >= BAR_MIN).then_some((bar_width, terminal.unicode))
    });
    let line = |label: &str, entries: &str, entries_bar: &str, bytes: &str, bytes_bar: &str| {
        let bar_width = bars.map_or(0, |(width, _)| width + 1);
        let line = format!(
            "  {label:label_width$}  {entries:>entries_width$}{entries_bar:bar_width$}  {bytes:>bytes_width$}{bytes_bar}"
        );
        format!("{}\n", line.trim_end())
    };
    for Table { heading, rows, below } in tables.iter().filter(|table| !table.rows.is_empty()) {
        push(text, &format!("\n{}", line(heading, "entries", "", "bytes", "")));
        let most_entries = rows.iter().map(|(_, total)| u128::from(total.entries)).max().unwrap_or(0);
        let most_bytes = rows.iter().map(|(_, total)| total.bytes).max().unwrap_or(0);
        let drawn = |value, most| {
            bars.map_or_else(String::new, |(width, unicode)| format!(" {}", bar(value, most, width, unicode)))
        };
        let is_empty = |row: &(String, Total)| row.1.entries == 0;
        for rows in rows.chunk_by(|row, next| is_empty(row) && is_empty(next)) {
            if rows.len() > GAP_MAX {
                push(text, "  ...\n");
                continue;
            }
            for (label, Total { entries, bytes }) in rows {
                let entries_bar = drawn(u128::from(*entries), most_entries);
                let (entries, bytes_bar) = (look.number(*entries), drawn(*bytes, most_bytes));
                push(text, &line(label, &entries, &entries_bar, &look.bytes(*bytes), &bytes_bar));
            }
        }
        below.iter().for_each(|below| push(text, &format!("{below}\n")));
    }
}

fn named<V: Copy>(
    text: &mut Vec<u8>,
    lines: &Lines,
    heading: &str,
    entries: &[Ranked<'_, V>],
    value: impl Fn(V) -> String,
) {
    if entries.is_empty() {
        return;
    }
    push(text, &format!("\n  {heading}\n"));
    let values: Vec<String> = entries.iter().map(|entry| value(entry.value)).collect();
    let width = values.iter().map(String::len).max().unwrap_or(0);
    for (entry, value) in entries.iter().zip(&values) {
        push(text, &format!("    {value:>width$}  "));
        lines.bare_name(text, entry.prefix, entry.name);
        text.push(b'\n');
    }
}

/// `4K-16K`; the upper bound is exclusive.
pub(in crate::cmd) fn size_label(from: u64, to: u64) -> String {
    match to {
        0 => "0".into(),
        u64::MAX => format!("{}-16E", size_bound(from)),
        to => format!("{}-{}", size_bound(from), size_bound(to + 1)),
    }
}

fn size_bound(bytes: u64) -> String {
    let units = ["", "K", "M", "G", "T", "P", "E"];
    let unit = (bytes.ilog2() / 10) as usize;
    format!("{}{}", bytes >> (10 * unit), units[unit])
}

/// `1h-1d ago`; the upper bound is inclusive.
pub(in crate::cmd) fn age_label(from_s: Option<i64>, to_s: Option<i64>) -> String {
    match (from_s, to_s) {
        (None, _) => "in future".into(),
        (Some(from_s), None) => format!(">{} ago", age_bound(from_s - 1)),
        (Some(0), Some(to_s)) => format!("0-{} ago", age_bound(to_s)),
        (Some(from_s), Some(to_s)) => format!("{}-{} ago", age_bound(from_s - 1), age_bound(to_s)),
    }
}

fn age_bound(age_s: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(365 * 86_400, "y"), (86_400, "d"), (3600, "h"), (60, "min")];
    let (unit_s, unit) = UNITS.into_iter().find(|(unit_s, _)| age_s % unit_s == 0).unwrap_or((1, "s"));
    format!("{}{unit}", age_s / unit_s)
}

pub(in crate::cmd) fn push(text: &mut Vec<u8>, more: &str) {
    text.extend_from_slice(more.as_bytes());
}

const HEADINGS: [&str; 4] = ["entries", "bytes", "largest", "newest"];

/// Unknown values are dashes. The line of the others makes the rows and the heading agree: what no row has is in it.
/// The path is in the last column, because it has no width that could be kept.
pub(super) fn write_directories(text: &mut Vec<u8>, scope: &Scope<'_>, directories: &Directories) {
    let (how, look, Directories { rows, all }) = (scope.how, scope.how.look, directories);
    heading(text, scope);
    let entries = look.counted(all.total().entries, "entry", "entries");
    let count = look.counted(all.directories(), "directory", "directories");
    let bytes = look.bytes_and_unit(all.total().bytes);
    push(text, &format!("{entries} in {count}, {bytes} (apparent size)\n"));
    let unknown = || "-".to_owned();
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            [
                look.number(row.totals.total.entries),
                look.bytes(row.totals.total.bytes),
                row.totals.largest_bytes.map_or_else(unknown, |bytes| look.bytes(bytes)),
                row.totals.newest.map_or_else(unknown, |time| how.time(time)),
            ]
        })
        .collect();
    let figures = aligned(HEADINGS, &cells);
    if !rows.is_empty() {
        push(text, &format!("\n  {}  directory\n", figures[0]));
    }
    for (of, line) in rows.iter().zip(&figures[1..]) {
        push(text, &format!("  {line}  "));
        how.lines.path(text, &of.path);
        text.push(b'\n');
    }
    let (others, total) = directories.others();
    if others > 0 && !rows.is_empty() {
        let more = look.number(others);
        let entries = look.counted(total.entries, "entry", "entries");
        let bytes = look.bytes_and_unit(total.bytes);
        push(text, &format!("  and {more} more with {entries}, {bytes}\n"));
    }
    write_notes(text, &scope.gaps.notes(look));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_round() {
        let size = size_label;
        assert_eq!(size(0, 0), "0");
        assert_eq!(size(1, 1023), "1-1K");
        assert_eq!(size(1 << 18, (1 << 20) - 1), "256K-1M");
        assert_eq!(size(1 << 62, u64::MAX), "4E-16E");
        let age = age_label;
        assert_eq!(age(None, Some(-1)), "in future");
        assert_eq!(age(Some(0), Some(60)), "0-1min ago");
        assert_eq!(age(Some(86_401), Some(7 * 86_400)), "1d-7d ago");
        assert_eq!(age(Some(90 * 86_400 + 1), Some(365 * 86_400)), "90d-1y ago");
        assert_eq!(age(Some(5 * 365 * 86_400 + 1), None), ">5y ago");
    }

    #[test]
    fn digits_stand_in_groups_on_a_terminal_only() {
        let terminal = Some(Terminal { width: 80, unicode: true });
        let look = Look { terminal, human: false };
        assert_eq!(look.number(1_234_567_u64), "1 234 567");
        assert_eq!((look.number(123_u64), look.number(1000_u64)), ("123".into(), "1 000".into()));
        assert_eq!(Look { terminal: None, human: false }.number(1_234_567_u64), "1234567");
        assert_eq!(Look { terminal, human: true }.bytes_and_unit(1536_u64), "1.5K");
    }
}
