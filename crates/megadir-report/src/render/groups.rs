//! Groups of a summary as grids, for table and Markdown.
//!
//! ```text
//! GroupReading::Compare   -> arm, time, interval, an entry, processor, calls, ratio, verdict
//!              Decompose  -> factor, slow, fast, difference, share
//!              Pairs      -> pair, circumstances, time, against, ratio, verdict
//!              others     -> operations.rs
//! ```
//!
//! Legends describe only the marks and words that occur in their table. A rank says which columns a narrow
//! terminal drops first.

use megadir_record::Work;

use super::grid::{Bars, Column, Grid, SHARE, Text, headings};
use super::operations::{self, bounds};
use super::paint::{intervals, outcome};
use crate::summary::{
    ArmSummary, Comparison, Contrast, Decomposition, DiskWork, Factor, Figure, GroupReading, GroupSummary,
    Interval, Outcome, PairRow, Pairs, Summary, Verdict, rounds_for_interval,
};
use crate::text;

pub(super) const RAW_CALLS: &str = " Times are of direct system calls: programs that call a function of the C library for each look-up take longer (half as much again where that was measured).";

pub(crate) fn grid(summary: &Summary, group: &GroupSummary) -> Option<Grid> {
    match &group.reading {
        GroupReading::Compare(comparison) => Some(compare(summary, comparison, prints_speed_ups(summary))),
        GroupReading::Decompose(decomposition) => Some(decompose(summary, decomposition)),
        GroupReading::Pairs(pairs) => Some(self::pairs(summary, pairs)),
        GroupReading::Refusal(refusal) => Some(operations::refusal(refusal)),
        GroupReading::Fill(fill) => Some(operations::fill(summary, fill)),
        GroupReading::Grow(growth) => Some(operations::grow(growth)),
        GroupReading::BreakEven(read) => Some(operations::grid_break_even(read)),
        GroupReading::Unreadable { .. } => None,
    }
}

/// Every arm by itself, with preparing arms and controls, and no ratios: for readers who compare with other
/// tools.
pub(crate) fn arms(summary: &Summary) -> Grid {
    const HEADINGS: [&str; 15] = [
        "rounds", "median", "interval", "an entry", "mean", "Error", "StdDev", "p90", "p99", "max", "user",
        "system", "calls", "entries", "text",
    ];
    let memory = summary.arms.iter().any(has_peak).then_some("memory");
    let is_modelled = summary.arms.iter().any(has_disk_work);
    let disk = ["requests", "seeks", "seeks an entry", "disk busy"].into_iter().filter(|_| is_modelled);
    let columns = HEADINGS.into_iter().chain(memory).chain(disk).map(|heading| Column::right(heading, 1));
    let legend = format!(
        "Times of one operation; interval: of the median, {}, by order statistics; Error: half of the mean's 99.9 % interval; text: bytes written.",
        text::chosen(summary.rules.confidence)
    );
    let columns = std::iter::once(Column::left("arm", 0)).chain(columns).collect();
    let row = |arm| arm_row(arm, memory.is_some());
    Grid::new(columns, summary.arms.iter().map(row).collect(), legend)
}

fn has_peak(arm: &ArmSummary) -> bool {
    arm.timing.as_ref().is_some_and(|timing| timing.peak_bytes.is_some())
}

fn has_disk_work(arm: &ArmSummary) -> bool {
    arm.timing.as_ref().is_some_and(|timing| timing.disk.is_some())
}

/// Three digits, since a seek for a thousand entries and a thousand seeks for one are both usual.
fn few(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        _ if value >= 100.0 => text::count(value.round() as u64),
        _ => {
            let decimals = (2 - value.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{value:.decimals$}")
        }
    }
}

fn arm_row(arm: &ArmSummary, memory: bool) -> Vec<Text> {
    // An arm without rounds has its name and zero rounds; the other fields are missing, not empty.
    let mut row = vec![arm.planned.name.clone(), arm.rounds.to_string()];
    if let Some(timing) = &arm.timing {
        let quantile = |ns: Option<f64>| ns.map_or_else(|| "refused".into(), text::time);
        let spread = |ns: Option<f64>| ns.map(text::time).unwrap_or_default();
        let quantiles = timing.quantiles.as_ref();
        row.extend([
            text::time(timing.time_ns.value),
            bounds(&timing.time_ns),
            timing.entry_ns.map(|figure| text::time(figure.value)).unwrap_or_default(),
            text::time(timing.mean_ns),
            spread(timing.error_ns),
            spread(timing.deviation_ns),
            quantile(quantiles.map(|q| q.p90_ns)),
            quantile(quantiles.map(|q| q.p99_ns)),
            quantile(quantiles.map(|q| q.max_ns)),
            processor(timing.user_ns, timing),
            processor(timing.system_ns, timing),
            timing.calls.map(text::count).unwrap_or_default(),
            text::count(timing.entries),
            text::bytes(timing.written_bytes),
        ]);
        row.extend(memory.then(|| timing.peak_bytes.map(text::bytes).unwrap_or_default()));
        if let Some(disk) = timing.disk {
            let per_entry = disk.seeks_per_entry.map(few).unwrap_or_default();
            row.extend([few(disk.requests), few(disk.seeks), per_entry, text::time(disk.busy_ns)]);
        }
    }
    row.into_iter().map(Text::plain).collect()
}

/// Empty if the system's clock never advanced during a block, as on Windows for short ones.
fn processor(ns: f64, timing: &crate::summary::Timing) -> String {
    if timing.user_ns + timing.system_ns > 0.0 { text::time(ns) } else { String::new() }
}

/// The study's source prints speed-ups.
/// Then the table has them as well, with the ratio that verdicts refer to.
pub(super) fn prints_speed_ups(summary: &Summary) -> bool {
    summary.published.iter().any(|figure| figure.unit == "x")
}

fn compare(summary: &Summary, comparison: &Comparison, speed_ups: bool) -> Grid {
    let mut columns = headings![
        left "arm" 0, right "time" 1, left "interval" 5, right "an entry" 3, right "processor" 4,
        right "calls" 2, left "ratio" 0, left "verdict" 0
    ];
    let programs = runs_programs(summary, comparison);
    if programs {
        let of_programs = headings![right "user" 5, right "system" 5, right "memory" 3];
        // Programs are other processes: their user and system time replace the column of this process.
        columns.splice(PROCESSOR..=PROCESSOR, of_programs);
    }
    if is_on_modelled_disk(summary, comparison) {
        let at = columns.len() - BEFORE_RATIO;
        columns.splice(at..at, headings![right "seeks" 2, right "seeks an entry" 3, right "disk busy" 4]);
    }
    let shown = comparison.rows.iter().filter(|row| !summary.is_control(row.arm));
    let mut rows: Vec<Vec<Text>> =
        shown.clone().map(|row| compare_row(summary, comparison, row, programs)).collect();
    let mut legend = compare_legend(summary, comparison);
    if speed_ups {
        let verdict = columns.len() - 1;
        columns.insert(verdict, Column::left("speed-up", 0));
        for (row, contrast) in rows.iter_mut().zip(shown.clone()) {
            row.insert(verdict, Text::plain(speed_up(&contrast.outcome)));
        }
        legend.push_str(" Speed-up: 1 / ratio, as the source reports it.");
    }
    let time = |row: &Contrast| Some(summary.timing(row.arm)?.time_ns.value);
    let bars = Bars { label: "time", values: shown.map(time).collect(), needed: false };
    Grid { bars: Some(bars), ..Grid::new(columns, rows, legend) }
}

/// Inverse of the ratio, and of the ends of its interval in the other order.
pub(super) fn speed_up(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Baseline => "1".into(),
        compared => judged_speed_up(compared).unwrap_or_default(),
    }
}

pub(super) fn judged_speed_up(outcome: &Outcome) -> Option<String> {
    let ratio = outcome.adjusted()?;
    Some(text::ratio(1.0 / ratio.value, ratio.interval.map(Interval::inverse)))
}

fn compare_legend(summary: &Summary, comparison: &Comparison) -> String {
    let any = |wanted: fn(&Outcome) -> bool| comparison.rows.iter().any(|row| wanted(&row.outcome));
    let baseline = summary.arm_name_in(comparison, comparison.baseline);
    let mut legend =
        format!("Ratio: time / time of {baseline}, below 1 is faster; 2.00x faster: half the time.");
    if any(|outcome| matches!(outcome, Outcome::Judged { .. })) {
        let outcomes = comparison.rows.iter().map(|row| &row.outcome);
        legend.push_str(&intervals(summary, "all arms of the group", outcomes));
    }
    if any(|outcome| matches!(outcome, Outcome::TooFewRounds { .. })) {
        let needed = rounds_for_interval(summary.rules.confidence);
        legend.push_str(&format!(" No interval under {needed} rounds."));
    }
    if any(is_negligible) {
        let band = text::chosen(summary.rules.equivalence_band);
        legend.push_str(&format!(" Negligible: certainly less than {band}."));
    }
    if any(|outcome| matches!(outcome, Outcome::Judged { verdict: Verdict::Inconclusive { .. }, .. })) {
        legend.push_str(" (~n): n rounds would probably decide.");
    }
    if runs_programs(summary, comparison) {
        legend.push_str(" Memory: the program's largest resident set, median.");
    }
    if comparison.rows.iter().any(|row| is_lookup(summary, row)) {
        legend.push_str(RAW_CALLS);
    }
    legend
}

fn is_lookup(summary: &Summary, row: &Contrast) -> bool {
    let work = summary.arm(row.arm).map(|arm| &arm.planned.work);
    matches!(work, Some(Work::Lookup { .. })) && summary.machine.kernel.starts_with("Linux")
}

fn is_negligible(outcome: &Outcome) -> bool {
    match outcome.verdict() {
        Some(Verdict::Faster { negligible } | Verdict::Slower { negligible }) => negligible,
        _ => false,
    }
}

/// Place of the column that programs replace.
const PROCESSOR: usize = 4;
/// Columns from the ratio to the end.
const BEFORE_RATIO: usize = 2;

fn is_on_modelled_disk(summary: &Summary, comparison: &Comparison) -> bool {
    comparison.rows.iter().any(|row| summary.arm(row.arm).is_some_and(has_disk_work))
}

fn runs_programs(summary: &Summary, comparison: &Comparison) -> bool {
    comparison.rows.iter().any(|row| summary.arm(row.arm).is_some_and(has_peak))
}

/// Fields without a measurement are empty; a row always has all its fields.
/// Cells of one arm in a comparison, in the order of the columns of [`compare`]: both insert the columns of programs and of a modelled
/// disk at the same places, since a row with fewer cells would shift under the wrong headings.
fn compare_row(summary: &Summary, comparison: &Comparison, contrast: &Contrast, programs: bool) -> Vec<Text> {
    let timing = summary.timing(contrast.arm);
    let of_timing = |part: fn(&crate::summary::Timing) -> Option<String>| {
        Text::plain(timing.and_then(part).unwrap_or_default())
    };
    let (ratio, verdict, tone) = outcome(&contrast.outcome);
    let mut row = vec![
        Text::plain(summary.arm_name_in(comparison, contrast.arm)),
        of_timing(|timing| Some(text::time(timing.time_ns.value))),
        of_timing(|timing| Some(bounds(&timing.time_ns))),
        of_timing(|timing| timing.entry_ns.map(|figure| text::time(figure.value))),
        of_timing(|timing| Some(processor(timing.user_ns + timing.system_ns, timing))),
        of_timing(|timing| timing.calls.map(text::count)),
        Text::plain(ratio),
        Text { text: verdict, tone },
    ];
    if programs {
        let of_program = [
            of_timing(|timing| Some(processor(timing.user_ns, timing))),
            of_timing(|timing| Some(processor(timing.system_ns, timing))),
            of_timing(|timing| timing.peak_bytes.map(text::bytes)),
        ];
        row.splice(PROCESSOR..=PROCESSOR, of_program);
    }
    if is_on_modelled_disk(summary, comparison) {
        let of_disk = |part: fn(&DiskWork) -> Option<String>| {
            Text::plain(timing.and_then(|timing| part(timing.disk.as_ref()?)).unwrap_or_default())
        };
        let of_disk = [
            of_disk(|disk| Some(few(disk.seeks))),
            of_disk(|disk| disk.seeks_per_entry.map(few)),
            of_disk(|disk| Some(text::time(disk.busy_ns))),
        ];
        let at = row.len() - BEFORE_RATIO;
        row.splice(at..at, of_disk);
    }
    row
}

fn decompose(summary: &Summary, decomposition: &Decomposition) -> Grid {
    let columns =
        headings![left "factor" 0, right "slow" 1, right "fast" 1, left "difference" 0, left "share" 0];
    let Decomposition { slow_name, fast_name, ratio, .. } = decomposition;
    let mut rows: Vec<Vec<Text>> = decomposition.factors.iter().map(factor_row).collect();
    // The sum of both programs, as the last row, with bold text in place of a bar.
    let whole = [
        "the whole".to_owned(),
        text::time(decomposition.slow_ns.value),
        text::time(decomposition.fast_ns.value),
        text::time_with_interval(&decomposition.difference_ns),
        "100 %".into(),
    ];
    rows.push(whole.map(Text::heading).into());
    let needed = rounds_for_interval(summary.rules.confidence);
    let few = decomposition.rounds < needed;
    let few = if few { format!(" No interval under {needed} rounds.") } else { String::new() };
    let legend = format!(
        "Slow: {slow_name}; fast: {fast_name}; slow / fast {}. Times an entry of {}, medians of {}; each interval {} by itself; shares add up to 100 % within each round, their medians only nearly.{few}",
        text::ratio(ratio.value, ratio.interval),
        text::count(decomposition.entries),
        text::counted(decomposition.rounds as u64, "round"),
        text::chosen(summary.rules.confidence),
    );
    // The bar of the total would shorten the others.
    let share = |factor: &Factor| factor.share.filter(|_| !factor.common).map(|share| share.value.max(0.0));
    let bars = Bars { label: SHARE, values: decomposition.factors.iter().map(share).collect(), needed: true };
    Grid { bars: Some(bars), ..Grid::new(columns, rows, legend) }
}

fn factor_row(factor: &Factor) -> Vec<Text> {
    let step = |figure: &Option<Figure>| figure.map_or_else(|| "-".into(), |figure| text::time(figure.value));
    let share = factor.share.map_or_else(|| "-".into(), |share| text::share(&share));
    let (cost, share) = if factor.common {
        ("same in both".into(), "0 %".into())
    } else {
        (text::time_with_interval(&factor.cost_ns), share)
    };
    [factor.name.clone(), step(&factor.slow_ns), step(&factor.fast_ns), cost, share].map(Text::plain).into()
}

/// If all pairs have the same reference or the same circumstances, these move from the rows to the legend,
/// which leaves room for the numbers on a terminal. The ratio stays in all cases.
fn pairs(summary: &Summary, pairs: &Pairs) -> Grid {
    let first = pairs.rows.first().map(|row| &row.pair);
    let than = first.filter(|first| pairs.rows.iter().all(|row| row.pair.than == first.than));
    let at = first.filter(|first| {
        pairs.rows.iter().all(|row| (&row.pair.at, row.pair.wall_time) == (&first.at, first.wall_time))
    });
    let mut columns = headings![
        left "what" 0, left "at" 0, right "time" 1, right "against" 2, left "ratio" 0, left "verdict" 0
    ];
    if at.is_some() {
        columns.remove(1);
    }
    let time = |arm| {
        let timing = summary.timing(arm);
        timing.map(|timing| text::time(timing.time_ns.value)).unwrap_or_default()
    };
    let row = |row: &PairRow| {
        let (ratio, verdict, tone) = outcome(&row.outcome);
        let subject = match than {
            Some(_) => row.pair.subject.clone(),
            None => format!("{} / {}", row.pair.subject, row.pair.than),
        };
        let shown = at.is_none().then(|| summary.circumstances(&row.pair));
        let times = [time(row.pair.arm), time(row.pair.to), ratio];
        let fields = std::iter::once(subject).chain(shown).chain(times).map(Text::plain);
        fields.chain([Text { text: verdict, tone }]).collect()
    };
    let intervals = intervals(summary, "all rows", pairs.rows.iter().map(|row| &row.outcome));
    let of = match than {
        Some(pair) => format!("Ratio: time over the time of {}, round by round", pair.than),
        None => "Ratio: time of the first over time of the second, round by round".to_owned(),
    };
    let at = at.map(|pair| format!("; {}", summary.circumstances_in_full(pair))).unwrap_or_default();
    let legend = format!("{of}{at}.{intervals}");
    Grid::new(columns, pairs.rows.iter().map(row).collect(), legend)
}
