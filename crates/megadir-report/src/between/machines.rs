//! Studies run on several machines: which ratios have the same verdict everywhere, and how far the times lie apart.
//! Machines are not compared with each other, only their verdicts: a ratio is judged on each machine by its own
//! rounds. Arms are matched by study, group and name; sizes that differ have other names.
//!
//! ```text
//! machine A: study x, study y      ratios by (study, group, arm, baseline) -> one outcome for each machine
//! machine B: study x               `-> travels: yes, no, undecided
//!                                  times: quotients to the first machine, per study, smallest and largest
//! ```

use serde::Serialize;

use crate::formats::View;
use crate::render::grid::{Column, Grid, Legends, Text};
use crate::render::machine::machine_line;
use crate::render::paint::{self, Tone};
use crate::render::{Page, SCREEN_LINES_MAX, SCREEN_WIDTH_MAX, markdown as md, pretty, push_table};
use crate::report::Report;
use crate::summary::{GroupReading, GroupSummary, Outcome, OutcomeClass, Summary};
use crate::text;

/// Version of the JSON form.
const VERSION: u32 = 1;

/// Runs of one machine, one per study.
#[derive(Clone, Copy, Debug)]
pub struct MachineRuns<'a> {
    pub name: &'a str,
    pub reports: &'a [Report],
}

impl<'a> MachineRuns<'a> {
    /// The first report of a study counts; a folder of runs has one for each.
    fn summary(&self, name: &str) -> Option<&'a Summary> {
        self.reports.iter().find(|report| study(report) == name).map(|report| &report.summary)
    }
}

/// One entry of `machines` for each machine, and `Ratio::each` has its verdicts in the same order. Times of
/// machines stand side by side and are never divided by each other, since nothing was interleaved between
/// them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machines {
    pub version: u32,
    pub machines: Vec<Described>,
    /// Ratios judged on at least two machines, in the order of the first machine's studies.
    pub ratios: Vec<Ratio>,
    /// Times of the arms that all machines measured.
    pub times: Vec<Times>,
    /// Studies that not every machine has.
    pub missing: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Described {
    pub name: String,
    pub line: String,
}

/// Time of an arm over the time of its baseline, as each machine judged it in its own run. Equal names
/// identify it across machines. `answers` is `true` if its group answers the question of the study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    pub study: String,
    pub title: String,
    pub answers: bool,
    pub arm: String,
    pub baseline: String,
    /// `None` where it was not measured.
    pub each: Vec<Option<Outcome>>,
    pub travels: Travels,
}

/// In the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Travels {
    /// Two machines have different verdicts.
    No,
    /// The same verdict on every machine that measured it.
    Yes,
    /// A machine is undecided, and no two have different verdicts.
    Undecided,
}

/// Times of a study's arms on each machine, divided by those on the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    pub study: String,
    pub arms: usize,
    /// Smallest and largest quotient, for each machine but the first.
    pub each: Vec<(f64, f64)>,
}

pub fn machines(runs: &[MachineRuns<'_>]) -> Machines {
    // Studies in the order in which the machines have them.
    let studies = text::distinct(
        runs.iter().flat_map(|machine| machine.reports).map(|report| study(report).to_owned()),
    );
    let mut compared = Machines {
        version: VERSION,
        machines: runs.iter().map(described).collect(),
        ratios: Vec::new(),
        times: Vec::new(),
        missing: Vec::new(),
    };
    for name in studies {
        let summaries: Vec<Option<&Summary>> = runs.iter().map(|machine| machine.summary(&name)).collect();
        compared.ratios.extend(ratios(&name, &summaries));
        // Times need every machine; ratios need any two.
        match summaries.iter().copied().collect::<Option<Vec<&Summary>>>() {
            Some(summaries) => compared.times.extend(times(&name, &summaries)),
            None => compared.missing.push(name),
        }
    }
    compared
}

fn study(report: &Report) -> &str {
    &report.record.header.plan.study
}

fn described(machine: &MachineRuns<'_>) -> Described {
    // The line of a report, without its label.
    let line = machine.reports.first().map(|report| machine_line(&report.summary));
    let line = line.as_deref().map(|line| line.trim_start_matches("Machine: ").to_owned());
    Described { name: machine.name.to_owned(), line: line.unwrap_or_default() }
}

struct Judged<'a> {
    group: &'a GroupSummary,
    arm: &'a str,
    baseline: &'a str,
    outcome: &'a Outcome,
}

/// Two arms may be compared in several groups.
impl Judged<'_> {
    fn is_like(&self, other: &Judged<'_>) -> bool {
        (&self.group.name, self.arm, self.baseline) == (&other.group.name, other.arm, other.baseline)
    }
}

/// All ratios of a run that have a verdict, whatever rule their group is read by, as pairs of arms: a filling
/// against its first bucket, growth from the smallest size to the largest. Decompositions, refusals and
/// break-even shares are figures without such a verdict, so there is nothing that could travel.
fn judged(summary: &Summary) -> Vec<Judged<'_>> {
    let name = |arm| summary.arm(arm).map_or("", |arm| arm.planned.name.as_str());
    let of_group = |group| {
        let row =
            |arm, baseline, outcome| Judged { group, arm: name(arm), baseline: name(baseline), outcome };
        match &group.reading {
            // The order of a match by rule: each gives the arm, the one that it is compared with, and the
            // verdict.
            // A baseline against itself describes a run, not a machine.
            GroupReading::Compare(read) => {
                let arms = read.rows.iter().filter(|contrast| !summary.is_control(contrast.arm));
                arms.map(|contrast| row(contrast.arm, read.baseline, &contrast.outcome)).collect()
            }
            GroupReading::Pairs(read) => {
                read.rows.iter().map(|pair| row(pair.pair.arm, pair.pair.to, &pair.outcome)).collect()
            }
            GroupReading::Fill(read) => {
                let others = read.buckets.iter().skip(1);
                others.map(|bucket| row(bucket.arm, read.buckets[0].arm, &bucket.outcome)).collect()
            }
            GroupReading::Grow(read) => {
                let ends = read.series.iter().filter_map(|series| match (&series.points[..], &series.ends) {
                    ([first, .., last], Some(outcome)) => Some(row(last.arm, first.arm, outcome)),
                    _ => None,
                });
                ends.collect()
            }
            GroupReading::Decompose(_)
            | GroupReading::Refusal(_)
            | GroupReading::BreakEven(_)
            | GroupReading::Unreadable { .. } => Vec::new(),
        }
    };
    summary
        .groups
        .iter()
        .flat_map(of_group)
        .filter(|row: &Judged<'_>| row.outcome.class().is_some())
        .collect()
}

fn ratios(study: &str, summaries: &[Option<&Summary>]) -> Vec<Ratio> {
    // One list for each machine, empty if it lacks the study.
    let of_machines: Vec<Vec<Judged<'_>>> =
        summaries.iter().map(|summary| summary.map(judged).unwrap_or_default()).collect();
    let mut rows: Vec<&Judged<'_>> = Vec::new();
    for row in of_machines.iter().flatten() {
        if !rows.iter().any(|known| known.is_like(row)) {
            rows.push(row);
        }
    }
    let ratio = |row: &Judged<'_>| {
        let find = |rows: &Vec<Judged<'_>>| {
            rows.iter().find(|other| other.is_like(row)).map(|other| other.outcome.clone())
        };
        let each: Vec<Option<Outcome>> = of_machines.iter().map(find).collect();
        Ratio {
            study: study.to_owned(),
            title: row.group.title.clone(),
            answers: row.group.answers,
            arm: row.arm.to_owned(),
            baseline: row.baseline.to_owned(),
            travels: travels(each.iter().flatten()),
            each,
        }
    };
    // A single machine shows nothing about other machines.
    rows.into_iter().map(ratio).filter(|ratio| ratio.each.iter().flatten().count() > 1).collect()
}

fn travels<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Travels {
    // Outcomes without a class were not compared, and count neither for nor against.
    let classes: Vec<OutcomeClass> = outcomes.filter_map(Outcome::class).collect();
    let decided = text::distinct(classes.iter().copied().filter(|class| *class != OutcomeClass::Open));
    match decided.len() {
        2.. => Travels::No,
        1 if !classes.contains(&OutcomeClass::Open) => Travels::Yes,
        _ => Travels::Undecided,
    }
}

fn times(study: &str, summaries: &[&Summary]) -> Option<Times> {
    let time = |summary: &Summary, name: &str| {
        let arm = summary.arms.iter().find(|arm| arm.planned.name == name)?;
        arm.timing.as_ref().map(|timing| timing.time_ns.value).filter(|ns| *ns > 0.0)
    };
    let (first, others) = summaries.split_first()?;
    let names = text::distinct(first.arms.iter().map(|arm| arm.planned.name.as_str()));
    let quotients = |name: &str| -> Option<Vec<f64>> {
        let of_first = time(first, name)?;
        others.iter().map(|summary| time(summary, name).map(|ns| ns / of_first)).collect()
    };
    let all: Vec<Vec<f64>> = names.into_iter().filter_map(quotients).collect();
    let range = |machine: usize| {
        let quotients = all.iter().map(|quotients| quotients[machine]);
        quotients
            .fold((f64::INFINITY, 0.0_f64), |(low, high), quotient| (low.min(quotient), high.max(quotient)))
    };
    let each = (0..others.len()).map(range).collect();
    (!all.is_empty()).then(|| Times { study: study.to_owned(), arms: all.len(), each })
}

impl Machines {
    fn count(&self, travels: Travels) -> u64 {
        self.ratios.iter().filter(|ratio| ratio.travels == travels).count() as u64
    }

    fn headline(&self) -> String {
        let parts = [
            (self.count(Travels::Yes), "have the same verdict on every machine"),
            (self.count(Travels::No), "have different verdicts"),
            (self.count(Travels::Undecided), "have no verdict on some machine"),
        ];
        text::divided(&text::counted(self.ratios.len() as u64, "ratio"), &parts)
    }

    fn missing_line(&self) -> Option<String> {
        let missing = || format!("Not measured on every machine: {}.", self.missing.join(", "));
        (!self.missing.is_empty()).then(missing)
    }

    /// Ratios with different verdicts first, then the ones that answer a study's question.
    ///
    /// Intervals are dropped as a whole if the terminal has no room for all of them, because a table with
    /// some would suggest that the others are exact.
    fn ratio_grid(&self, width: usize) -> Grid {
        let intervals = width >= NAME_WIDTH + INTERVAL_WIDTH * self.machines.len();
        let mut columns = vec![Column::left("ratio", 0)];
        columns.extend(self.machines.iter().map(|machine| Column::left(machine.name.clone(), 0)));
        columns.push(Column::left("travels", 0));
        let mut ratios: Vec<&Ratio> = self.ratios.iter().collect();
        ratios.sort_by_key(|ratio| (ratio.travels, !ratio.answers));
        let row = |ratio: &&Ratio| {
            let field = |outcome: &Option<Outcome>| match outcome {
                Some(outcome) => {
                    let (with_interval, _, tone) = paint::outcome(outcome);
                    let alone = outcome.ratio_value().map(|ratio| text::ratio(ratio, None));
                    let text = alone.filter(|_| !intervals).unwrap_or(with_interval);
                    Text { text, tone }
                }
                None => Text::plain(""),
            };
            let name = format!("{}: {} / {}", ratio.study, ratio.arm, ratio.baseline);
            let (word, tone) = match ratio.travels {
                Travels::Yes => ("yes", Tone::Good),
                Travels::No => ("NO", Tone::Bad),
                Travels::Undecided => ("undecided", Tone::Faint),
            };
            let each = ratio.each.iter().map(field);
            let last = Text { text: word.into(), tone };
            std::iter::once(Text::plain(name)).chain(each).chain([last]).collect()
        };
        let legend = "Ratio of two arms' times on each machine. travels: yes, if every machine has the same verdict (faster, \
                      slower or equivalent). [ ]: 95 % interval, adjusted within each run's group (Holm); without room for them, \
                      --format markdown has them.";
        Grid::new(columns, ratios.iter().map(row).collect(), legend)
    }

    fn time_grid(&self) -> Grid {
        let mut columns = vec![Column::left("study", 0), Column::right("arms", 1)];
        columns.extend(self.machines.iter().skip(1).map(|machine| Column::left(machine.name.clone(), 0)));
        let row = |times: &Times| {
            let range = |(low, high): &(f64, f64)| Text::plain(format!("{low:.2}x to {high:.2}x"));
            let name = [Text::plain(times.study.clone()), Text::plain(text::count(times.arms as u64))];
            name.into_iter().chain(times.each.iter().map(range)).collect()
        };
        let legend = self.machines.first().map(|first| format!("Time divided by that on {}.", first.name));
        Grid::new(columns, self.times.iter().map(row).collect(), legend.unwrap_or_default())
    }

    fn machine_lines(&self) -> impl Iterator<Item = String> {
        self.machines.iter().map(|machine| format!("{}: {}", machine.name, machine.line))
    }
}

/// Columns of a name, so that a terminal of 80 columns has room for one machine's intervals and not for
/// two.
const NAME_WIDTH: usize = 40;
const INTERVAL_WIDTH: usize = 24;

const RATIOS: &str = "Which ratios travel?";
const TIMES: &str = "Times do not";

/// The table of times is measured first, because it is short; the ratios get the lines that remain.
fn screen(machines: &Machines, view: &View) -> String {
    let mut page = Page::new(view.width.min(SCREEN_WIDTH_MAX), view.style);
    page.sentences(&machines.headline(), "", Tone::Heading, 2);
    page.each_within(machines.missing_line(), "! ", Tone::Alarm, 2);
    let mut below = Page::new(view.width.min(SCREEN_WIDTH_MAX), view.style);
    push_table(&mut below, Some(TIMES.to_owned()), machines.time_grid(), SCREEN_LINES_MAX / 2);
    let room = SCREEN_LINES_MAX.saturating_sub(page.lines() + below.lines() + 2);
    let ratios = machines.ratio_grid(page.width);
    push_table(&mut page, Some(RATIOS.to_owned()), ratios, room);
    page.append(&below);
    page.gap();
    page.paragraph("More (every ratio, the machines): megadir bench compare --verbose", "", Tone::Faint);
    page.text
}

fn table(machines: &Machines, view: &View) -> String {
    let mut page = Page::new(view.width, view.style);
    page.paragraph(&machines.headline(), "", Tone::Heading);
    page.paragraphs(machines.missing_line(), "! ", Tone::Alarm);
    page.paragraphs(machines.machine_lines(), "", Tone::Plain);
    page.titled(RATIOS, Some(machines.ratio_grid(page.width)));
    page.titled(TIMES, Some(machines.time_grid()));
    page.text
}

fn markdown(machines: &Machines, _: &View) -> String {
    let clean = md::clean;
    let mut page = format!("## {}\n\n**{}**\n\n", RATIOS, clean(&machines.headline()));
    let lines = machines.machine_lines().map(|line| format!("* {}\n", clean(&line)));
    page.extend(lines);
    page.push('\n');
    machines.missing_line().iter().for_each(|line| page.push_str(&format!("**{}**\n\n", clean(line))));
    md::push_grid(&mut page, &mut Legends::default(), &machines.ratio_grid(usize::MAX));
    // No newline but the last.
    page.push_str(&format!("## {TIMES}\n\n"));
    md::push_grid(&mut page, &mut Legends::default(), &machines.time_grid());
    page.truncate(page.trim_end().len());
    page + "\n"
}

type Render = fn(&Machines, &View) -> String;

const RENDERS: [(&str, Render); 4] =
    [("screen", screen), ("table", table), ("markdown", markdown), ("json", |machines, _| pretty(machines))];

/// Renders in a format by its name. Errors: the names of all formats that comparisons of machines have.
/// A comparison of machines has no picture and no CSV, hence its own list of formats.
pub fn render_machines(machines: &Machines, format: &str, view: &View) -> Result<String, String> {
    match RENDERS.iter().find(|(name, _)| *name == format) {
        Some((_, render)) => Ok(render(machines, view)),
        None => Err(RENDERS.map(|(name, _)| name).join(", ")),
    }
}
