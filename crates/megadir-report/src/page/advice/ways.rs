//! Advice on the fastest way, and on file systems.

use megadir_record::{FILE_SYSTEM_GROUP, Role};

use crate::summary::{
    Comparison, Contrast, GroupReading, GroupSummary, Outcome, Overview, OverviewRow, PairRow, Pairs,
    Summary, Verdict,
};
use crate::text;

/// More kinds of work than this are counted, not named.
const NAMED_MAX: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Use,
    Stay,
    Either,
}

/// Advice for one kind of work on one file system.
struct Step {
    action: Action,
    what: String,
    than: String,
    at: String,
    on: String,
    /// Ratio of the recommended arm.
    ratio: f64,
}

/// Advice for several kinds of work on several file systems.
struct Merged {
    action: Action,
    what: String,
    than: String,
    at: Vec<String>,
    on: Vec<String>,
    ratios: Vec<f64>,
}

/// Returns one sentence for each choice that the run decides.
pub(super) fn advice(summary: &Summary) -> Vec<String> {
    let steps = summary.groups.iter().flat_map(|group| of_group(summary, group));
    let several = summary.file_systems.len() > 1;
    merge(steps).iter().map(|merged| sentence(summary, merged, several)).collect()
}

fn of_group(summary: &Summary, group: &GroupSummary) -> Vec<Step> {
    match &group.reading {
        GroupReading::Compare(comparison) => compare(summary, group, comparison).into_iter().collect(),
        GroupReading::Pairs(read) if group.name != FILE_SYSTEM_GROUP => pairs(summary, read),
        _ => Vec::new(),
    }
}

/// Alternatives to one arm, with their outcomes.
struct Choice<'a> {
    ways: Vec<(String, &'a Outcome)>,
}

impl Choice<'_> {
    fn decide(&self) -> Option<(Action, String, f64)> {
        let faster = |outcome: &Outcome| match outcome {
            Outcome::Judged { ratio, verdict: Verdict::Faster { negligible: false }, .. } => {
                Some(ratio.value)
            }
            _ => None,
        };
        let best = self.ways.iter().filter_map(|(what, outcome)| Some((what, faster(outcome)?)));
        if let Some((what, ratio)) = best.min_by(|a, b| a.1.total_cmp(&b.1)) {
            return Some((Action::Use, what.clone(), ratio));
        }
        let same = |outcome: &Outcome| {
            matches!(
                outcome,
                Outcome::Judged {
                    verdict: Verdict::Equivalent
                        | Verdict::Faster { .. }
                        | Verdict::Slower { negligible: true },
                    ..
                }
            )
        };
        let slower = |outcome: &Outcome| {
            matches!(outcome, Outcome::Judged { verdict: Verdict::Slower { negligible: false }, .. })
        };
        let all = |is: &dyn Fn(&Outcome) -> bool| {
            !self.ways.is_empty() && self.ways.iter().all(|(_, outcome)| is(outcome))
        };
        match () {
            () if all(&same) => Some((Action::Either, String::new(), 1.0)),
            () if all(&slower) => Some((Action::Stay, String::new(), 1.0)),
            () => None,
        }
    }
}

fn compare(summary: &Summary, group: &GroupSummary, comparison: &Comparison) -> Option<Step> {
    let baseline = comparison.baseline;
    let way = |row: &&Contrast| {
        let arm = summary.arm(row.arm).is_some_and(|arm| arm.planned.role == Role::Arm);
        arm && summary.are_alternatives(row.arm, baseline)
    };
    let ways = comparison.rows.iter().filter(way);
    let ways = ways.map(|row| (summary.bare_name_in(comparison, row.arm), &row.outcome)).collect();
    let (action, what, ratio) = Choice { ways }.decide()?;
    let (than, on) = (summary.bare_name_in(comparison, baseline), summary.place(baseline).to_owned());
    Some(Step { action, what, than, at: group.of_study().to_owned(), on, ratio })
}

fn pairs(summary: &Summary, pairs: &Pairs) -> Vec<Step> {
    let alternative = |row: &&PairRow| summary.are_alternatives(row.pair.arm, row.pair.to);
    let rows: Vec<&PairRow> = pairs.rows.iter().filter(alternative).collect();
    let mut places: Vec<(&str, &str)> = Vec::new();
    for row in &rows {
        let place = (&*row.pair.at, &*row.pair.than);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let step = |(at, than): (&str, &str)| {
        let of = rows.iter().filter(|row| (&*row.pair.at, &*row.pair.than) == (at, than));
        let on = summary.place(of.clone().next()?.pair.arm).to_owned();
        let ways = of.map(|row| (row.pair.what.clone(), &row.outcome)).collect();
        let (action, what, ratio) = Choice { ways }.decide()?;
        Some(Step { action, what, than: than.to_owned(), at: at.to_owned(), on, ratio })
    };
    places.into_iter().filter_map(step).collect()
}

/// Merges equal advice: first the file systems of one kind of work, then the kinds of work.
fn merge(steps: impl Iterator<Item = Step>) -> Vec<Merged> {
    let mut by_work: Vec<Merged> = Vec::new();
    for step in steps {
        let same = |one: &&mut Merged| {
            (one.action, &one.what, &one.than, &one.at[0]) == (step.action, &step.what, &step.than, &step.at)
        };
        match by_work.iter_mut().find(same) {
            Some(one) => {
                one.on.push(step.on);
                one.ratios.push(step.ratio);
            }
            None => by_work.push(Merged {
                action: step.action,
                what: step.what,
                than: step.than,
                at: vec![step.at],
                on: vec![step.on],
                ratios: vec![step.ratio],
            }),
        }
    }
    let mut all: Vec<Merged> = Vec::new();
    for mut merged in by_work {
        let same = |one: &&mut Merged| {
            (one.action, &one.what, &one.than, &one.on)
                == (merged.action, &merged.what, &merged.than, &merged.on)
        };
        match all.iter_mut().find(same) {
            Some(one) => {
                one.at.append(&mut merged.at);
                one.ratios.append(&mut merged.ratios);
            }
            None => all.push(merged),
        }
    }
    all
}

fn sentence(summary: &Summary, merged: &Merged, several: bool) -> String {
    let at = match merged.at.len() {
        ..=NAMED_MAX => text::list(&merged.at),
        more => format!("{} and {} more", merged.at[..NAMED_MAX].join(", "), more - NAMED_MAX),
    };
    let on = match several {
        false => String::new(),
        true if merged.on.len() == summary.file_systems.len() => " (on every file system)".into(),
        true => {
            let name = |on: &String| {
                let known = summary.file_systems.iter().find(|of| of.label == *on);
                known.map_or_else(|| on.clone(), |of| of.name.clone())
            };
            format!(" (on {})", text::list(&merged.on.iter().map(name).collect::<Vec<_>>()))
        }
    };
    let Merged { what, than, .. } = merged;
    let least = merged.ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = merged.ratios.iter().copied().fold(0.0, f64::max);
    let (slowest, fastest) = (text::speed(most), text::speed(least));
    let speed = match slowest == fastest {
        true => fastest,
        false => format!("{} to {fastest}", slowest.trim_end_matches(" faster")),
    };
    match merged.action {
        Action::Use => format!("{at}{on}: use {what} rather than {than} ({speed})."),
        Action::Stay => format!("{at}{on}: stay with {than}; everything else measured is slower."),
        Action::Either => format!(
            "{at}{on}: take whichever suits otherwise; none differs by more than {} from {than}.",
            text::chosen(summary.rules.equivalence_band)
        ),
    }
}

/// More kinds of work than this are counted, not named.
const ROWS_NAMED_MAX: usize = 6;

pub(super) fn of_file_systems(summary: &Summary) -> Vec<String> {
    let Some(overview) = &summary.overview else { return Vec::new() };
    let comparable: Vec<usize> = overview.comparable().collect();
    let band = text::chosen(summary.rules.equivalence_band);
    if comparable.len() < 2 {
        return vec![
            "No file system can be recommended: each lies on different storage, so they differ in more than the file system.".into(),
        ];
    }
    let take = overview.undistinguished();
    if take.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = take.iter().map(|column| overview.columns[*column].name.clone()).collect();
    let mut advice = vec![match names.len() {
        1 => format!(
            "Take {} unless you have other reasons: over all kinds of work every other takes longer, by more than {band}.",
            names[0]
        ),
        _ => format!(
            "Take {}, whichever suits otherwise: over all kinds of work none of them is shown to be slower than the one that takes least by more than \
             {band}{}.",
            text::list(&names).replace(" and ", " or "),
            if names.len() < comparable.len() { "; the others are slower" } else { "" }
        ),
    }];
    // Recommendations first, then warnings.
    let (taken, others): (Vec<usize>, Vec<usize>) =
        comparable.iter().copied().partition(|column| take.contains(column));
    for column in taken.iter().chain(&others) {
        let better: Vec<&OverviewRow> =
            overview.rows.iter().filter(|row| row.fastest == Some(*column)).collect();
        let name = &overview.columns[*column].name;
        match (better.is_empty(), take.contains(column), take.len()) {
            (true, ..) | (_, true, 1) => {}
            (_, true, _) => {
                advice.push(format!("Of these {name} is the fastest at {}.", named(overview, &better)));
            }
            (_, false, _) => {
                advice.push(format!("But {name} is the fastest at {}.", named(overview, &better)));
            }
        }
    }
    advice.extend(apart(overview, &take));
    advice
}

/// Reports file systems that are not distinguishable, and rows in which the recommended one is not among them.
fn apart(overview: &Overview, take: &[usize]) -> Option<String> {
    let open = overview.rows.iter().filter(|row| row.best().count() > 1);
    let without = open.clone().filter(|row| !row.best().any(|column| take.contains(&column)));
    let without: Vec<&OverviewRow> = without.collect();
    let beside = match without.len() {
        0 => String::new(),
        _ => format!("; the recommended one is not among them at {}", named(overview, &without)),
    };
    let open = open.count();
    let all = overview.rows.len();
    (open > 0).then(|| {
        format!(
            "For {open} of {all} kinds of work, several are not distinguishable from the fastest{beside}."
        )
    })
}

/// Names kinds of work; the operation alone if all of its kinds are included.
fn named(overview: &Overview, rows: &[&OverviewRow]) -> String {
    let mut sections: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows {
        match sections.iter_mut().find(|(section, _)| *section == row.section && !section.is_empty()) {
            Some((_, kinds)) => kinds.push(&row.what),
            None => sections.push((&row.section, vec![&row.what])),
        }
    }
    let one = |(section, kinds): &(&str, Vec<&str>)| {
        let all = overview.rows.iter().filter(|row| row.section == *section).count();
        match (*section, kinds.len() == all) {
            ("", _) => kinds.join("; "),
            (section, true) => section.to_owned(),
            (section, false) => format!("{section} ({})", kinds.join("; ")),
        }
    };
    let told: Vec<String> = sections.iter().map(one).collect();
    match told.len() {
        ..=ROWS_NAMED_MAX => text::list(&told),
        more => format!("{} and {} more", told[..NAMED_MAX].join(", "), more - ROWS_NAMED_MAX),
    }
}
