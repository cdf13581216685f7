//! Report in Markdown, the same text on the terminal and in the file.

use super::arms::{ARMS, Section, baseline};
use super::child::Sample;
use super::rounds::Results;
use super::table::{Figure, markdown, number};
use super::targets::Judged;

/// Result of one comparison on one file system.
pub(crate) struct Compared {
    pub(crate) file_system: &'static str,
    pub(crate) judged: Vec<Judged>,
    /// Figures in Markdown.
    pub(crate) text: String,
}

/// Result on one file system.
pub(crate) struct Measured {
    pub(crate) file_system: &'static str,
    /// How it was created and read.
    pub(crate) notes: Vec<String>,
    pub(crate) results: Results,
    pub(crate) judged: Vec<Judged>,
}

const HEADER: &[&str] =
    &["contender", "wall, ms [95 %]", "CPU, s", "peak RSS, MiB", "time / first row [95 %]", "rounds"];

/// The same command twice.
const ONCE: &str = "megadir list";
const AGAIN: &str = "megadir list (again)";
/// A run is noisy if the interval of a command against itself is wider than this.
const NOISY: f64 = 0.05;

/// Sections in display order, with headings.
const SECTIONS: &[(Section, &str)] = &[
    (Section::List, "warm, output to /dev/null"),
    (Section::Pipe, "warm, into `wc -l` (wall and CPU time include wc)"),
    (Section::Sort, "warm, sorted by name, output to /dev/null"),
    (Section::Split, "warm, one directory on one and two threads, output to /dev/null"),
    (Section::First, "warm, to the first byte (CPU and memory of an aborted run)"),
    (Section::Long, "warm, size, modification time and name of each entry, into `wc -l`"),
    (
        Section::LongLs,
        "warm, the columns of `ls -l`, and ls with fewer and fewer of them, output to /dev/null",
    ),
    (Section::Cold, "remounted with dropped caches before each run, output to /dev/null"),
    (
        Section::LongCold,
        "remounted with dropped caches before each run, size, modification time and name, into `wc -l`",
    ),
];

/// Writes the part of one file system. Peaks up to `floor_bytes` are not the program's own.
pub(crate) fn file_system(measured: &Measured, floor_bytes: u64) -> String {
    let mut text = format!("## {}\n\n", measured.file_system);
    for note in &measured.notes {
        text += &format!("* {note}\n");
    }
    text += &resolution(&measured.results, ONCE, AGAIN).unwrap_or_default();
    for (section, heading) in SECTIONS {
        let rows = rows(*section, &measured.results, floor_bytes);
        if !rows.is_empty() {
            text += &format!("\n{}, {heading}:\n\n{}", measured.file_system, table(&rows));
        }
    }
    text
}

/// Returns the resolution of the run: the ratio of a command to itself.
pub(super) fn resolution(results: &Results, once: &str, again: &str) -> Option<String> {
    let figure = Figure::ratio(&results.walls_s(again), &results.walls_s(once))?;
    let interval = figure.interval?;
    let noisy = if interval.half_width() > NOISY { "; NOISY: the machine was busy" } else { "" };
    Some(format!("* `{once}` against itself: {}; smaller differences mean nothing{noisy}\n", figure.text()))
}

fn rows(section: Section, results: &Results, floor_bytes: u64) -> Vec<Row> {
    let Some(first) = baseline(section) else { return Vec::new() };
    let arms = ARMS.iter().filter(|arm| arm.section == section && !results.samples(arm.name).is_empty());
    arms.map(|arm| row(arm.name, results, first.name, floor_bytes)).collect()
}

pub(super) type Row = Vec<String>;

/// Returns the cells of a contender, with its ratio to `first`.
pub(super) fn row(name: &str, results: &Results, first: &str, floor_bytes: u64) -> Row {
    let samples = results.samples(name);
    let walls_s = results.walls_s(name);
    let wall = Figure::median(&walls_s).map(|figure| figure.times(1e3).text());
    let ratio = Figure::ratio(&walls_s, &results.walls_s(first)).map(|figure| figure.text());
    let cells =
        [Some(format!("`{name}`").replace('|', "\\|")), wall, cpu(samples), peak(samples, floor_bytes)];
    let cells = cells.into_iter().chain([ratio, Some(samples.len().to_string())]);
    cells.map(Option::unwrap_or_default).collect()
}

pub(super) fn table(rows: &[Row]) -> String {
    markdown(HEADER, rows)
}

fn cpu(samples: &[Sample]) -> Option<String> {
    let cpu_s: Vec<f64> = samples.iter().map(|sample| sample.cpu_s).collect();
    Figure::median(&cpu_s).map(|figure| number(figure.value))
}

/// Returns the largest peak of all rounds.
fn peak(samples: &[Sample], floor_bytes: u64) -> Option<String> {
    let bytes = samples.iter().map(|sample| sample.peak_bytes).max()?;
    let mib = |bytes: u64| number(bytes as f64 / f64::from(1 << 20));
    Some(if bytes <= floor_bytes { format!("<= {}", mib(floor_bytes)) } else { mib(bytes) })
}

/// Writes the list of targets.
pub(crate) fn targets(judged: &[(&str, &Judged)], entries: u64) -> String {
    let row = |(file_system, judged): &(&str, &Judged)| {
        let wanted = format!("{file_system}: {}", judged.wanted).replace('|', "\\|");
        vec![wanted, judged.found.clone(), judged.verdict.clone()]
    };
    let rows: Vec<Row> = judged.iter().map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let size = if entries == 1_000_000 {
        String::new()
    } else {
        format!("The targets are for 1 000 000 entries; these are {entries}.\n\n")
    };
    format!("## Targets\n\n{size}{}", markdown(&["target", "found", "verdict"], &rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_shown() {
        for arm in ARMS {
            assert!(SECTIONS.iter().any(|(section, _)| *section == arm.section), "{}", arm.name);
        }
    }

    #[test]
    fn a_command_that_differs_from_itself_means_noise() {
        let text = |spread: f64| {
            let mut results = Results::default();
            for round in 0..10 {
                let wall_s = 1.0 + spread * f64::from(round % 3 - 1);
                results.add(ONCE, Sample { wall_s, cpu_s: 1.0, peak_bytes: 0 });
                results.add(AGAIN, Sample { wall_s: 1.0, cpu_s: 1.0, peak_bytes: 0 });
            }
            resolution(&results, ONCE, AGAIN).unwrap()
        };
        assert!(text(0.01).ends_with("mean nothing\n"), "{}", text(0.01));
        assert!(text(0.5).contains("NOISY"), "{}", text(0.5));
        assert_eq!(resolution(&Results::default(), ONCE, AGAIN), None);
    }

    #[test]
    fn a_file_system_shows_what_ran_and_nothing_else() {
        let mut results = Results::default();
        for (arm, wall_s, peak_bytes) in
            [("megadir list | wc -l", 0.25, 3 << 20), ("bfs | wc -l", 0.5, 12 << 20)]
        {
            results.add(arm, Sample { wall_s, cpu_s: 0.5, peak_bytes });
        }
        let measured =
            Measured { file_system: "ext4", notes: vec!["made".into()], results, judged: Vec::new() };
        let text = file_system(&measured, 4 << 20);
        assert!(text.starts_with("## ext4\n\n* made\n\next4, warm, into `wc -l`"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
        let cells: Vec<&str> = rows[1].split(" | ").map(str::trim).collect();
        assert_eq!(cells, ["| `bfs \\| wc -l`", "500", "0.500", "12.0", "2.00", "1 |"]);
        assert!(rows.len() == 2 && rows[0].contains("<= 4.00"), "{text}");
        assert_eq!(targets(&[], 1_000_000), "");
    }
}
