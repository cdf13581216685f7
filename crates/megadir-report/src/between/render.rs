//! Formats of a comparison of runs: its sentences and its grid.
//!
//! ```text
//! Between -> heading, alarms, caution, notes (sentences), grid (rows) -> screen, table, html, markdown
//!         `-> csv: a row for each arm, and rows of the kinds above      `-> json: the type
//! ```
//!
//! All formats take their sentences from here, so that a warning cannot be missing in one of them.

use crate::between::{Basis, Between, Doubt, GateVerdict, Row};
use crate::formats::View;
use crate::page::{FAINT, LOUD, Page, answer, document, push_grid};
use crate::render::grid::{Grid, Legends, Text, headings};
use crate::render::paint::{self, Tone};
use crate::render::{
    SCREEN_LINES_MAX, SCREEN_WIDTH_MAX, Style, markdown as md, pretty, push_table, quoted, rounded,
};
use crate::summary::{OutcomeClass, Resolution};
use crate::{chart, render, text};

fn heading(between: &Between) -> String {
    let counted = |runs: &[String], noun| text::counted(runs.len() as u64, noun);
    let sides = match between.basis {
        Basis::Rounds => "a new run against an old one".into(),
        Basis::Runs | Basis::TooFewRuns => format!(
            "{} against {}",
            counted(&between.new_runs, "new run"),
            counted(&between.old_runs, "old run")
        ),
    };
    format!("Study {}: {sides}", between.study)
}

/// Kinds of warnings that end in "Do not use this run": a screen has room for three alarms, and these decide.
const UNUSABLE: [&str; 2] = ["disturbed", "differs-from-itself"];

/// Lines above everything else, the ones that forbid any use of the numbers first.
fn alarms(between: &Between) -> Vec<String> {
    let differences = between.differences.iter().map(|difference| format!("Not the same {difference}."));
    let line = |doubt: &Doubt| format!("{}: {}", text::capital(&doubt.run), doubt.text);
    let (unusable, others): (Vec<&Doubt>, Vec<&Doubt>) =
        between.doubts.iter().partition(|doubt| UNUSABLE.contains(&doubt.kind.as_str()));
    let unusable = unusable.into_iter().map(line);
    let disturbances = between.disturbances.iter().cloned();
    unusable.chain(differences).chain(disturbances).chain(others.into_iter().map(line)).collect()
}

/// Lines of the gate, or the answer if none was asked for.
fn leading(between: &Between) -> Vec<String> {
    let lines = gate(between);
    if lines.is_empty() { vec![headline(between)] } else { lines }
}

/// Limit of a comparison by rounds, or the reason why there is none; printed even without a warning.
fn caution(between: &Between) -> Option<String> {
    let needed = megadir_stats::RUNS_MIN;
    match between.basis {
        Basis::Runs => None,
        Basis::Rounds => Some(format!(
            "This shows how these two runs differ, not whether the versions do: two runs of one version differ too, often by several \
             per cent. For the versions take {needed} or more runs a side (--old A B C --new D E F)."
        )),
        Basis::TooFewRuns => {
            Some(format!("Nothing is judged: an interval over runs takes {needed} runs on either side."))
        }
    }
}

fn gate(between: &Between) -> Vec<String> {
    let Some(gate) = &between.gate else { return Vec::new() };
    std::iter::once(gate.sentence())
        .chain(gate.lines().iter().map(|line| text::capital(line) + "."))
        .collect()
}

/// Notes belong to the method of the basis, which decides what the brackets mean.
fn notes(between: &Between) -> Vec<String> {
    let ratio = "Ratio: new / old, below 1 the new run is faster.";
    let mut notes = vec![match between.basis {
        Basis::Rounds => format!(
            "{ratio} [ ]: 95 % interval (Mann-Whitney), adjusted for all rows (Holm). Two runs share no rounds: what differed between \
             them as wholes, such as load, is in the ratios."
        ),
        Basis::Runs => "Ratio: new / old, below 1 the new version is faster. Each run is one observation: times are medians of the runs' \
                        medians, ratios those of geometric means. [ ]: 95 % interval over runs (Welch), adjusted for all rows (Holm). \
                        (~n): the number of runs a side that would probably decide."
            .into(),
        Basis::TooFewRuns => ratio.into(),
    }];
    // With several runs a side, the resolution of a single run is not the limit of the comparison.
    for (which, resolution) in [("old", &between.resolution_old), ("new", &between.resolution_new)] {
        let half_width = |resolution: &Resolution| resolution.half_width_percent;
        let of_run = resolution.iter().find_map(half_width).filter(|_| between.basis == Basis::Rounds);
        let note = |percent| format!("The {which} run's own resolution: {}.", text::percent(percent));
        notes.extend(of_run.map(note));
    }
    let runs = if between.basis == Basis::Rounds { "run" } else { "runs" };
    for (which, arms) in [("old", &between.only_old), ("new", &between.only_new)] {
        if !arms.is_empty() {
            notes.push(format!("Only in the {which} {runs}: {}.", arms.join("; ")));
        }
    }
    notes
}

pub(crate) fn grid(between: &Between) -> Grid {
    let runs = between.basis != Basis::Rounds;
    let count = if runs { "runs" } else { "rounds" };
    let columns = headings![
        left "arm" 0, right "old" 1, right "new" 1, right count 2, left "ratio" 0, left "verdict" 0
    ];
    // The state of the cache is part of the name only if rows differ in it.
    let caches = between.rows.iter().any(|row| row.cache != between.rows[0].cache);
    let row = |row: &Row| {
        let (ratio, verdict, tone) = paint::outcome(&row.outcome);
        let time = |figure: &Option<crate::Figure>| {
            figure.map(|figure| text::time(figure.value)).unwrap_or_default()
        };
        let name = if caches { format!("{} ({})", row.arm, row.cache) } else { row.arm.clone() };
        let counts = match runs {
            true => format!("{}/{}", row.old_each_ns.len(), row.new_each_ns.len()),
            false => format!("{}/{}", row.old_rounds, row.new_rounds),
        };
        let fields = [name, time(&row.old_ns), time(&row.new_ns), counts, ratio];
        fields.into_iter().map(Text::plain).chain([Text { text: verdict, tone }]).collect()
    };
    let mut rows: Vec<Vec<Text>> = between.rows.iter().map(row).collect();
    // The mean is no row of the data: it has neither times nor a verdict.
    if let Some(mean) = between.geometric_mean {
        let of = format!("of {}", text::counted(between.ratios as u64, "ratio"));
        let fields: [&str; 6] = ["geometric mean", "", "", "", &text::ratio(mean, None), &of];
        rows.push(fields.map(Text::heading).into());
    }
    Grid::new(columns, rows, "")
}

pub fn table(between: &Between, width: usize, style: Style) -> String {
    let mut page = render::Page::new(width, style);
    page.paragraph(&heading(between), "", Tone::Heading);
    page.paragraphs(alarms(between).iter().map(|alarm| format!("! {alarm}")), "", Tone::Alarm);
    page.paragraphs(caution(between), "", Tone::Plain);
    page.gap();
    page.grid(&grid(between));
    page.paragraphs(notes(between), "", Tone::Faint);
    // Standard error has the reasons.
    page.paragraphs(gate(between).iter().take(1), "", tone(between));
    page.text
}

fn tone(between: &Between) -> Tone {
    match &between.gate {
        Some(gate) if gate.verdict != GateVerdict::Passed => Tone::Alarm,
        _ => Tone::Plain,
    }
}

pub fn html(between: &Between) -> String {
    let (title, alarms) = (heading(between), alarms(between));
    let mut page = Page::default();
    page.push("<main>\n");
    page.element("h1", &title);
    // The first alarms stand above the answer, all others below the table, as on a screen.
    let (first, others) = alarms.split_at(alarms.len().min(WARNINGS_MAX));
    page.elements(LOUD, first);
    let is_unusable = between.doubts.iter().any(|doubt| UNUSABLE.contains(&doubt.kind.as_str()));
    page.elements(answer(is_unusable), leading(between));
    page.elements("p", caution(between));
    push_grid(&mut page, &grid(between), false);
    page.elements(LOUD, others);
    page.elements(FAINT, notes(between));
    page.push("</main>\n</body>\n</html>\n");
    let mark = format!("<meta name=\"megadir-comparison\" content=\"{}\">", chart::escape(&between.study));
    document(&mark, &title, &page)
}

pub fn markdown(between: &Between) -> String {
    let mut page = format!("## {}\n\n", md::clean(&heading(between)));
    leading(between).iter().for_each(|line| page.push_str(&format!("**{}**\n\n", md::clean(line))));
    alarms(between).iter().for_each(|line| page.push_str(&format!("**Warning:** {}\n\n", md::clean(line))));
    caution(between).iter().for_each(|line| md::paragraph(&mut page, line));
    md::push_grid(&mut page, &mut Legends::default(), &grid(between));
    notes(between).iter().for_each(|line| md::paragraph(&mut page, line));
    page.truncate(page.trim_end().len());
    page + "\n"
}

/// Other kinds of rows use the columns `arm` and `text` and leave the numbers empty, so that one file has
/// everything that a program may look for.
const HEADINGS: &str = "row,arm,cache,old_runs,new_runs,old_rounds,new_rounds,old_ns,new_ns,ratio,low,high,adjusted_low,\
                        adjusted_high,text\n";

pub fn csv(between: &Between) -> String {
    let mut rows: Vec<[String; 15]> = between.rows.iter().map(|row| of_arm(between, row)).collect();
    if let Some(mean) = between.geometric_mean {
        let mut fields = line_of("geometric-mean", "", "");
        fields[9] = rounded(mean).to_string();
        rows.push(fields);
    }
    rows.extend(between.only_old.iter().map(|arm| line_of("only-old", arm, "")));
    rows.extend(between.only_new.iter().map(|arm| line_of("only-new", arm, "")));
    rows.extend(between.differences.iter().map(|line| line_of("difference", "", line)));
    rows.extend(between.disturbances.iter().map(|line| line_of("disturbance", "", line)));
    let warning = |doubt: &Doubt| line_of("warning", "", &format!("{}: {}", doubt.run, doubt.text));
    rows.extend(between.doubts.iter().map(warning));
    for reason in &between.unjudged {
        let text = format!("{}: {}", reason.kind.name(), reason.text);
        rows.push(line_of("unjudged", &reason.arms.join("; "), &text));
    }
    if let Some(gate) = &between.gate {
        rows.push(line_of("gate", "", gate.verdict.name()));
        rows.extend(gate.lines().iter().map(|line| line_of("gate", "", line)));
    }
    let line = |fields: [String; 15]| fields.each_ref().map(|field| quoted(field)).join(",") + "\n";
    std::iter::once(HEADINGS.to_owned()).chain(rows.into_iter().map(line)).collect()
}

fn of_arm(between: &Between, row: &Row) -> [String; 15] {
    let (_, verdict, _) = paint::outcome(&row.outcome);
    let adjusted = row.outcome.adjusted().and_then(|ratio| ratio.interval);
    // The own interval is for readers of the file; texts print the adjusted one.
    let own = row.outcome.ratio().and_then(|ratio| ratio.interval);
    let field = |value: Option<f64>| value.map(|value| rounded(value).to_string()).unwrap_or_default();
    [
        "arm".into(),
        row.arm.clone(),
        row.cache.clone(),
        between.old_runs.len().to_string(),
        between.new_runs.len().to_string(),
        row.old_rounds.to_string(),
        row.new_rounds.to_string(),
        field(row.old_ns.map(|figure| figure.value)),
        field(row.new_ns.map(|figure| figure.value)),
        field(row.outcome.ratio_value()),
        field(own.map(|range| range.low)),
        field(own.map(|range| range.high)),
        field(adjusted.map(|range| range.low)),
        field(adjusted.map(|range| range.high)),
        verdict,
    ]
}

fn line_of(kind: &str, arm: &str, text: &str) -> [String; 15] {
    let mut fields = [const { String::new() }; 15];
    fields[0] = kind.into();
    fields[1] = arm.into();
    fields[14] = text.into();
    fields
}

#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub name: &'static str,
    pub description: &'static str,
    /// With a final newline; only terminal formats use the view.
    pub render: fn(&Between, &View) -> String,
}

const fn format(
    name: &'static str,
    description: &'static str,
    render: fn(&Between, &View) -> String,
) -> Format {
    Format { name, description, render }
}

pub const FORMATS: &[Format] = &[
    format("screen", "the arms that differ most, on one screen", |between, view| {
        screen(between, view.width, view.style)
    }),
    format("table", "every ratio and verdict, for a terminal (as --verbose)", |between, view| {
        table(between, view.width, view.style)
    }),
    format("html", "the same as one file for a browser", |between, _| html(between)),
    format("markdown", "the same for a pull request or a CI job's summary", |between, _| markdown(between)),
    format("csv", "a row for each arm and each warning", |between, _| csv(between)),
    format("json", "everything as data, versioned", |between, _| pretty(between)),
];

pub fn format_named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Alarms of a screen and above the answer of a page.
const WARNINGS_MAX: usize = 3;

pub fn screen(between: &Between, width: usize, style: Style) -> String {
    let alarms = alarms(between);
    let mut page = render::Page::new(width.min(SCREEN_WIDTH_MAX), style);
    page.sentences(&heading(between), "", Tone::Heading, 2);
    page.each_within(alarms.iter().take(WARNINGS_MAX), "! ", Tone::Alarm, 2);
    page.each_within(leading(between).first(), "", tone(between), 2);
    page.each_within(caution(between), "", Tone::Plain, 2);
    let more = alarms.len().saturating_sub(WARNINGS_MAX) as u64;
    let more = if more > 0 { format!("{} and ", text::counted(more, "more warning")) } else { String::new() };
    // Sorted in a copy: the other formats keep the order of the plan.
    let mut shown = between.clone();
    let distance = |row: &Row| row.outcome.ratio_value().map_or(0.0, |ratio| ratio.ln().abs());
    shown.rows.sort_by(|a, b| rank(a).cmp(&rank(b)).then(distance(b).total_cmp(&distance(a))));
    let mut table = grid(&shown);
    table.legend = notes(between);
    let room = SCREEN_LINES_MAX.saturating_sub(page.lines() + 2);
    push_table(&mut page, None, table, room);
    page.gap();
    page.paragraph(&format!("More ({more}every arm): megadir bench compare --verbose"), "", Tone::Faint);
    page.text
}

fn headline(between: &Between) -> String {
    let number = |class| between.rows.iter().filter(|row| row.outcome.class() == class).count() as u64;
    let parts = ORDER.map(|(class, word)| (number(class), word));
    text::divided(&text::counted(between.rows.len() as u64, "arm"), &parts)
}

/// Order of the rows on a screen, and of the counts in its headline: decided differences first, and rows
/// that a reader can do nothing with last.
const ORDER: [(Option<OutcomeClass>, &str); 5] = [
    (Some(OutcomeClass::Slower), "slower"),
    (Some(OutcomeClass::Faster), "faster"),
    (None, "not comparable"),
    (Some(OutcomeClass::Open), "undecided"),
    (Some(OutcomeClass::Same), "the same"),
];

fn rank(row: &Row) -> usize {
    ORDER.iter().position(|(class, _)| row.outcome.class() == *class).unwrap_or(ORDER.len())
}
