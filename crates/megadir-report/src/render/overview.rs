//! Table of file systems or volumes by kind of work, and what the volumes are.
//!
//! ```text
//! time          ext4           xfs             tmpfs
//! create
//!   1 thread    12.1 us ±1 %   < 9.0 us ±1 %*  ! 3.2 us ±2 %
//!   4 threads    5.0 us ±2 %   = 5.1 us ±2 %   ! 1.1 us ±3 %
//! ```
//!
//! Before a time is its verdict against the first column (< > = ?) or a `!` for other storage, after it a
//! star for a fastest one that was shown. Signs are explained in the legend, and colour repeats only the
//! star.

use megadir_record::{FileSystem, LabFileSystem, Place};

use crate::render::Style;
use crate::render::grid::{Bars, Column, Grid, Text, bar};
use crate::render::paint::{Tone, length};
use crate::summary::{Outcome, OutcomeClass, Overview, OverviewCell, OverviewRow, Summary};
use crate::text;

pub(super) const BARS: &str = "The same as bars, each operation on its own scale, uncut:";
/// Widths of bars in characters: below each other, and the least and the most next to each other.
const BAR_MAX: usize = 40;
const BAR_SIDE_BY_SIDE: (usize, usize) = (4, 16);

/// Columns are never dropped, since each is a file system that was requested. If they do not fit, the table
/// is continued below with the same rows. The widths are computed with the mark of the fastest, which may be
/// needed in any cell.
pub(crate) fn tables(overview: &Overview, width: usize) -> Vec<Grid> {
    let first = overview.rows.iter().map(|row| length(&row.label) + 2).max().unwrap_or(0);
    let widths = (0..overview.columns.len()).map(|column| {
        let cells =
            overview.rows.iter().map(|row| length(&cell(row.cells[column].as_ref(), overview, column, true)));
        cells.max().unwrap_or(0).max(length(&overview.columns[column].name)) + 2
    });
    // Columns fill the width from left to right; each continuation repeats the names of the rows.
    let mut chunks: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (column, needed) in widths.enumerate() {
        match chunks.last_mut().filter(|_| needed <= room) {
            Some(chunk) => {
                chunk.push(column);
                room -= needed;
            }
            None => {
                chunks.push(vec![column]);
                room = width.saturating_sub(2 + first + needed);
            }
        }
    }
    let grid = |chunk: Vec<usize>| {
        let named = chunk.iter().map(|column| Column::right(overview.columns[*column].name.clone(), 0));
        let columns = std::iter::once(Column::left("time", 0)).chain(named).collect();
        let rows = rows(overview, |row| {
            let of = |column: &usize| {
                let cell_of = row.cells[*column].as_ref();
                let fastest = row.fastest == Some(*column);
                let tone = if fastest { Tone::Good } else { Tone::Plain };
                Text { text: cell(cell_of, overview, *column, fastest), tone }
            };
            chunk.iter().map(of).collect()
        });
        Grid::new(columns, rows, "")
    };
    chunks.into_iter().map(grid).collect()
}

/// A change of section writes its heading; rows below are indented. Sections come from the order of the
/// rows.
fn rows(overview: &Overview, fields: impl Fn(&OverviewRow) -> Vec<Text>) -> Vec<Vec<Text>> {
    let mut rows = Vec::new();
    let mut section = "";
    for row in &overview.rows {
        if row.section != section {
            section = &row.section;
            rows.push(vec![Text::heading(section)]);
        }
        let indent = if row.section.is_empty() { "" } else { "  " };
        let mut line = vec![Text::plain(format!("{indent}{}", row.label))];
        line.extend(fields(row));
        rows.push(line);
    }
    rows
}

/// For a screen that has no room for all rows: the first of each kind of work. The full table, cut after its first
/// lines, would have a single kind of work with its heading.
pub(super) fn first_of_each_section(overview: &Overview) -> Overview {
    let mut first = overview.clone();
    let mut section = None;
    first.rows.retain(|row| {
        let is_next = section.replace(row.section.clone()).as_ref() != Some(&row.section);
        is_next || row.section.is_empty()
    });
    // A single row would hide that there are more kinds of work.
    if first.rows.len() < 2 {
        return overview.clone();
    }
    for row in &mut first.rows {
        let section = std::mem::take(&mut row.section);
        if !section.is_empty() {
            row.label = format!("{section}, {}", row.label);
        }
    }
    first
}

/// Comparison with the first, median, half-interval, and mark of a proven fastest.
/// The star has its place in every cell, so that times stay aligned.
fn cell(cell: Option<&OverviewCell>, overview: &Overview, column: usize, fastest: bool) -> String {
    let Some(cell) = cell else { return "-".into() };
    let against = match (&cell.against_first, overview.columns[column].comparable) {
        (_, false) => "! ",
        (Some(outcome), true) => sign(outcome),
        (None, true) => "",
    };
    let figure = &cell.time_ns;
    let half = figure.interval.map(|interval| 100.0 * interval.half_width() / figure.value);
    let half = half.map(|half| format!(" ±{}", text::percent(half))).unwrap_or_default();
    format!("{against}{}{half}{}", text::time(figure.value), if fastest { "*" } else { " " })
}

/// Signs instead of words, because a cell has no room. A question mark is also the sign of an outcome
/// without a verdict.
fn sign(outcome: &Outcome) -> &'static str {
    match outcome.class() {
        Some(OutcomeClass::Faster) => "< ",
        Some(OutcomeClass::Slower) => "> ",
        Some(OutcomeClass::Same) => "= ",
        None if *outcome == Outcome::Baseline => "",
        Some(OutcomeClass::Open) | None => "? ",
    }
}

pub(crate) fn title(summary: &Summary) -> String {
    format!("How fast is each {} at each kind of work?", summary.place_word())
}

/// Explains only the marks that this table has. The confidence and the band come from the run's rules, and
/// the number of rows without a fastest file system is stated, because a table of stars looks more decided
/// than it is.
pub(crate) fn legend(summary: &Summary, overview: &Overview) -> Vec<String> {
    let first = overview.columns.first().map_or("", |column| &column.name);
    let open = overview.rows.iter().filter(|row| row.fastest.is_none()).count();
    let mut legend = volume_lines(summary);
    let places = summary.place_word();
    legend.push(format!(
        "Median time of one operation, ± half of its interval ({} by order statistics). Before it, against {first}, round by round, adjusted for all rows of the \
         column (Holm): < faster, > slower, = as fast or negligible, ? not decided; -: not measured. *: shown to be faster than every other of its row \
         by more than {}, adjusted for every comparison of this table (Holm); in {open} of {} rows no {places} is.",
        text::chosen(summary.rules.confidence),
        text::chosen(summary.rules.equivalence_band),
        overview.rows.len()
    ));
    let named = overview.columns.iter().filter(|column| column.label != column.name);
    let named: Vec<String> = named.map(|column| column.label.clone()).collect();
    if !named.is_empty() {
        legend.push(format!("Served by another's driver: {}.", text::list(&named)));
    }
    let apart = overview.columns.iter().filter(|column| !column.comparable);
    let apart: Vec<String> = apart.map(|column| format!("{} on {}", column.name, column.ground)).collect();
    if !apart.is_empty() {
        legend.push(format!(
            "!: differs in more than the file system ({}; {first} lies on {}) and is not to be compared.",
            text::list(&apart),
            overview.columns.first().map_or("", |column| &column.ground),
        ));
    }
    let unavailable = summary
        .unavailable
        .iter()
        .map(|unavailable| format!("{}: unavailable, {}.", unavailable.name, unavailable.reason));
    legend.extend(unavailable);
    legend
}

/// Lines for a screen, which has no room for the legend: columns that look comparable and are not, the
/// meaning of the signs, unavailable file systems.
pub(super) fn omitted_lines(summary: &Summary) -> Vec<String> {
    let Some(overview) = &summary.overview else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(first) = overview.columns.first() {
        let apart: Vec<&str> = text::distinct(
            overview.columns.iter().filter(|column| !column.comparable).map(|column| column.ground.as_str()),
        );
        for ground in apart {
            let on = overview.columns.iter().filter(|column| column.ground == ground);
            lines.push(format!(
                "Not compared (!): {} (on {ground}, not on {} as {}).",
                text::list(on.map(|column| &column.name)),
                first.ground,
                first.name
            ));
        }
    }
    // The table over all kinds of work has no signs, so their meaning is printed for the other table only.
    if overall(overview).is_none() && overview.comparable().count() > 1 {
        lines.push(format!("{MARKS}."));
    }
    match &summary.unavailable[..] {
        [] => {}
        [unavailable] => lines.push(format!("Unavailable: {}: {}.", unavailable.name, unavailable.reason)),
        // Several reasons would fill the screen.
        several => {
            let names = text::list(several.iter().map(|unavailable| &unavailable.name));
            lines.push(format!("Unavailable: {names}; --verbose prints the reasons."));
        }
    }
    lines
}

const MARKS: &str = "Against the first: < faster, > slower, = equal or negligible, ? not decided";

/// Each with the one that takes least time, fastest first; `None` if fewer than two are comparable.
pub(super) fn overall(overview: &Overview) -> Option<Grid> {
    let (least, others) = overview.against_least()?;
    let name = |column: usize| overview.columns[column].label.clone();
    let row = |(column, outcome): &(usize, Outcome)| {
        vec![Text::plain(name(*column)), Text::plain(outcome.ratio_text())]
    };
    let first = vec![Text::plain(name(least)), Text::plain("1x")];
    let lengths = others.iter().map(|(_, outcome)| outcome.ratio_value());
    let values = std::iter::once(Some(1.0)).chain(lengths).collect();
    let columns = vec![Column::left("file system", 0), Column::left(format!("against {}", name(least)), 0)];
    let rows = std::iter::once(first).chain(others.iter().map(row)).collect();
    let legend = "Geometric mean over all kinds of work, in each round. [ ]: 95 % interval, adjusted for all pairs (Holm).";
    let bars = Some(Bars { label: "time", values, needed: true });
    Some(Grid { bars, ..Grid::new(columns, rows, legend) })
}

/// Bars next to each other, one column for each file system, or `None` on a terminal that is too narrow for
/// them.
pub(super) fn bars(overview: &Overview, width: usize, style: Style) -> Option<Grid> {
    let first = overview.rows.iter().map(|row| length(&row.label) + 2).max()?;
    let room = width.checked_sub(2 + first)? / overview.columns.len().max(1);
    let (least, most) = BAR_SIDE_BY_SIDE;
    let bar_width = room.checked_sub(2).filter(|room| *room >= least)?.min(most);
    let columns = overview.columns.iter().map(|column| Column::left(shortened(&column.name, bar_width), 0));
    let rows = rows(overview, |row| {
        let longest = longest(overview, &row.section);
        let field = |cell: &Option<OverviewCell>| {
            let bar = cell.as_ref().map(|cell| bar(cell.time_ns.value / longest, bar_width, style));
            Text::plain(bar.unwrap_or_default())
        };
        row.cells.iter().map(field).collect()
    });
    Some(Grid::new(std::iter::once(Column::left("bars", 0)).chain(columns).collect(), rows, ""))
}

fn shortened(name: &str, width: usize) -> String {
    name.chars().take(width.max(4)).collect()
}

/// Bars below each other, for Markdown: their width does not depend on a terminal.
pub(super) fn lines(overview: &Overview) -> Vec<String> {
    let style = Style { color: false, unicode: true };
    let names = overview.columns.iter().map(|column| length(&column.name)).max().unwrap_or(0);
    let mut lines = Vec::new();
    for row in &overview.rows {
        let section = if row.section.is_empty() { String::new() } else { format!("{}, ", row.section) };
        lines.push(format!("{section}{}", row.label));
        let longest = longest(overview, &row.section);
        for (column, cell) in overview.columns.iter().zip(&row.cells) {
            let Some(cell) = cell else { continue };
            let bar = bar(cell.time_ns.value / longest, BAR_MAX, style);
            let pad = " ".repeat(names - length(&column.name));
            lines.push(format!("  {}{pad}  {bar} {}", column.name, text::time(cell.time_ns.value)));
        }
    }
    lines
}

/// All bars of a section share a scale, since its rows are the same operation.
fn longest(overview: &Overview, section: &str) -> f64 {
    let of = overview.rows.iter().filter(|row| row.section == section);
    let times = of.flat_map(|row| row.cells.iter().flatten()).map(|cell| cell.time_ns.value);
    times.fold(f64::MIN_POSITIVE, f64::max)
}

pub(crate) fn each_against_each(overview: &Overview) -> Option<Grid> {
    let shown: Vec<usize> = overview.comparable().collect();
    // Two file systems have one ratio, which other tables have.
    if shown.len() < 3 {
        return None;
    }
    let name = |column: usize| overview.columns[column].name.clone();
    let field = |of: usize, than: usize| match overview.against(of, than) {
        Some(outcome) => {
            let tone = match outcome.class() {
                Some(OutcomeClass::Faster) => Tone::Good,
                Some(OutcomeClass::Slower) => Tone::Bad,
                _ => Tone::Plain,
            };
            Text { text: outcome.ratio_text(), tone }
        }
        None => Text::plain(""),
    };
    let row = |of: &usize| {
        let fields = shown.iter().map(|than| field(*of, *than));
        std::iter::once(Text::plain(name(*of))).chain(fields).collect()
    };
    let columns = shown.iter().map(|column| Column::right(format!("against {}", name(*column)), 0));
    let columns = std::iter::once(Column::left("time", 0)).chain(columns).collect();
    let legend = "Time of the row's file system over the time of the column's file system: geometric mean over all kinds of work that both have, in each round. [ ]: adjusted for all pairs (Holm).";
    Some(Grid::new(columns, shown.iter().map(row).collect(), legend))
}

/// Volumes are described before their times, because they may differ in anything.
pub(crate) fn volume_lines(summary: &Summary) -> Vec<String> {
    let volumes = volumes(summary);
    let each = volumes.iter().map(|(of, mounted)| describe(of, mounted));
    each.chain(differences(&volumes)).chain(one_device(&volumes)).collect()
}

pub(super) fn differences_line(summary: &Summary) -> Option<String> {
    differences(&volumes(summary))
}

fn volumes(summary: &Summary) -> Vec<(&LabFileSystem, &FileSystem)> {
    let given = summary.file_systems.iter().filter(|of| of.place.is_directory());
    let mounted = |of: &LabFileSystem| summary.mounted.iter().find(|mount| mount.on == of.id);
    let volumes: Vec<_> = given.filter_map(|of| Some((of, &mounted(of)?.file_system))).collect();
    // A single volume is the run's directory, which the line on the machine describes.
    if volumes.len() < 2 { Vec::new() } else { volumes }
}

fn describe(of: &LabFileSystem, mounted: &FileSystem) -> String {
    let path = match &of.place {
        Place::Directory { path } => path.as_str(),
        _ => "",
    };
    let size = mounted.block_bytes.zip(mounted.blocks).map(|(block, (all, free))| {
        let used = 100.0 * all.saturating_sub(free) as f64 / all.max(1) as f64;
        format!("{}, {} in use", text::bytes(block.saturating_mul(all)), text::percent(used))
    });
    let parts = [
        mounted.device.as_ref().map(|device| format!("on {device}")),
        mounted.mount_options.as_ref().map(|options| format!("mounted {options}")),
        size,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().map(|part| format!(", {part}")).collect();
    format!("Volume {}: {path}, {}{}.", of.label, mounted.kind, parts.concat())
}

/// Properties in which at least one volume differs from the first; values are not repeated, since each
/// volume's line has them.
fn differences(volumes: &[(&LabFileSystem, &FileSystem)]) -> Option<String> {
    type Property = fn(&FileSystem) -> String;
    let properties: [(&str, Property); 5] = [
        ("file system", |mounted| mounted.kind.clone()),
        ("device", |mounted| mounted.device.clone().unwrap_or_default()),
        ("mount options", |mounted| mounted.mount_options.clone().unwrap_or_default()),
        ("block size", |mounted| format!("{:?}", mounted.block_bytes)),
        ("features", |mounted| format!("{:?}", mounted.features)),
    ];
    let differs = |of: &Property| volumes.iter().any(|(_, mounted)| of(mounted) != of(volumes[0].1));
    let all: Vec<&str> = properties.iter().filter(|(_, of)| differs(of)).map(|(name, _)| *name).collect();
    (!all.is_empty()).then(|| {
        format!(
            "The volumes differ in {}; a difference in time may be due to any of these, and to what the volumes hold already.",
            text::list(all)
        )
    })
}

fn one_device(volumes: &[(&LabFileSystem, &FileSystem)]) -> Option<String> {
    // Only devices with a path: names such as `tmpfs` or `overlay` are no common device.
    let device = |mounted: &FileSystem| mounted.device.clone().filter(|device| device.starts_with('/'));
    let shared = volumes.iter().find_map(|(of, mounted)| {
        let own = device(mounted)?;
        let same = |(_, other): &&(&LabFileSystem, &FileSystem)| device(other).as_ref() == Some(&own);
        let labels: Vec<&str> = volumes.iter().filter(same).map(|(other, _)| &*other.label).collect();
        (labels.len() > 1 && labels[0] == of.label).then_some((text::list(labels), own))
    });
    shared.map(|(labels, own)| {
        format!("{labels} are on the same device, {own}: it causes no difference between them.")
    })
}
