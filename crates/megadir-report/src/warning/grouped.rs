//! Warnings for display: warnings that differ only in the arm become one, with a count and the worst case.
//!
//! Two hundred arms of a noisy run have as many warnings of one kind. A reader needs the worst of them and
//! their number, and may open the list. JSON keeps each warning, because programs search them by arm.

use super::kind::{DISTURBING, WINE};
use super::{Advisory, Warning, scatter};
use crate::summary::Figure;
use crate::text;

/// Texts of a kind of note that are printed in full; more are counted.
const NOTES_MAX: usize = 3;

/// One or several warnings of a kind as they are printed. The list of a report keeps each warning by itself,
/// since JSON readers search it by arm; only pages and terminals see merged ones. `loud` is `true` if any of
/// them is.
pub(crate) struct DisplayedWarning {
    pub(crate) kind: String,
    pub(crate) loud: bool,
    pub(crate) text: String,
    /// Worst first; empty if the text covers them all.
    pub(crate) each: Vec<String>,
    /// [`incomplete_line`] says the same.
    pub(crate) is_incomplete: bool,
}

/// Groups in the order of their first warning, so that the most serious stay first.
pub(crate) fn displayed(advisories: &[Advisory]) -> Vec<DisplayedWarning> {
    let mut kinds: Vec<Vec<&Advisory>> = Vec::new();
    for advisory in advisories {
        match kinds.iter_mut().find(|kind| same_kind(kind[0], advisory)) {
            Some(kind) => kind.push(advisory),
            None => kinds.push(vec![advisory]),
        }
    }
    kinds.into_iter().map(join).collect()
}

/// Text of the first note about other work on the machine, which may explain a baseline that differs from
/// its double. Wine is left out: it has a line of its own.
pub(crate) fn disturbance(warnings: &[Advisory]) -> Option<&str> {
    warnings.iter().find_map(|advisory| match &advisory.warning {
        Warning::Noted { note, .. } if note != WINE && DISTURBING.contains(&note.as_str()) => {
            Some(advisory.text.as_str())
        }
        _ => None,
    })
}

/// Reason of a run that its user ended.
const INTERRUPTED: &str = "interrupted";
/// An interrupted run has no reason that a reader needs to know; one that failed names its cause.
pub(crate) fn incomplete_line(warnings: &[Advisory]) -> Option<String> {
    warnings.iter().find_map(|advisory| match &advisory.warning {
        Warning::Incomplete { rounds, planned, reason } => {
            let planned = text::counted(u64::from(*planned), "round");
            let then = match reason.as_deref().filter(|reason| *reason != INTERRUPTED) {
                Some(reason) => format!(", because the run failed: {}.", reason.trim_end_matches('.')),
                None => ". Finish it: bench run --resume RECORD.".to_owned(),
            };
            // A screen shows the first sentence.
            Some(format!("Incomplete: {rounds} of {planned} measured{then}"))
        }
        _ => None,
    })
}

/// Notes are alike only if their kind is. Kinds without a figure for badness stay single, since no worst
/// one could be chosen.
fn same_kind(a: &Advisory, b: &Advisory) -> bool {
    let notes = match (&a.warning, &b.warning) {
        (Warning::Noted { note, .. }, Warning::Noted { note: other, .. }) => note == other,
        _ => true,
    };
    notes && a.loud == b.loud && a.warning.kind() == b.warning.kind() && badness(&a.warning).is_some()
}

/// The worst warning gives text and advice; the others are listed below it, the worst first.
fn join(mut kind: Vec<&Advisory>) -> DisplayedWarning {
    kind.sort_by(|a, b| badness(&b.warning).unwrap_or(0.0).total_cmp(&badness(&a.warning).unwrap_or(0.0)));
    let Advisory { warning, loud, text, advice } = kind[0];
    let warning_of = |text: &str, each| DisplayedWarning {
        kind: warning.kind(),
        loud: *loud,
        text: format!("{text} {advice}"),
        each,
        is_incomplete: matches!(warning, Warning::Incomplete { .. }),
    };
    if kind.len() == 1 {
        return warning_of(text, Vec::new());
    }
    let each = || kind.iter().map(|advisory| brief(advisory)).collect();
    if !matches!(warning, Warning::Noted { .. }) {
        return warning_of(&of_several(warning, text, kind.len() as u64), each());
    }
    let texts: Vec<&str> = kind.iter().take(NOTES_MAX).map(|advisory| advisory.text.as_str()).collect();
    match kind.len().checked_sub(NOTES_MAX) {
        None | Some(0) => warning_of(&texts.join(" "), Vec::new()),
        Some(more) => warning_of(&format!("{} And {more} more like these.", texts.join(" ")), each()),
    }
}

/// `None` for kinds that occur once or have incomparable figures.
fn badness(warning: &Warning) -> Option<f64> {
    Some(match warning {
        Warning::UnequalWork { rounds, .. } => *rounds as f64,
        Warning::ControlDiffers { ratio, .. } | Warning::HalvesDiffer { ratio, .. } => distance(ratio),
        Warning::ResolutionWide { half_width_percent, .. }
        | Warning::ReferenceWide { half_width_percent, .. } => *half_width_percent,
        Warning::ChangePoint { p, .. } => -p,
        Warning::Autocorrelated { coefficient, .. } | Warning::Bimodal { coefficient, .. } => *coefficient,
        Warning::DataChanged { .. } | Warning::Noted { .. } => 0.0,
        _ => return None,
    })
}

/// Ratios of 2 and of 0.5 are equally far from 1.
fn distance(ratio: &Figure) -> f64 {
    if ratio.value > 0.0 { ratio.value.max(1.0 / ratio.value) } else { f64::INFINITY }
}

/// Texts for kinds that many arms have at once. The worst case stands for all, because it decides what to do.
/// Kinds without a text here occur once in a run, and keep their own.
fn of_several(worst: &Warning, text: &str, number: u64) -> String {
    let arms = text::counted(number, "arm");
    match worst {
        Warning::UnequalWork { arm, rounds } => format!(
            "{arms} saw other entries than they should have, so their times are not compared; most often `{arm}`, in {}.",
            text::counted(*rounds as u64, "round")
        ),
        Warning::ControlDiffers { arm, ratio, negligible: true } => format!(
            "{arms} against themselves came out slightly different, `{arm}` most ({}).",
            text::ratio(ratio.value, ratio.interval)
        ),
        Warning::ControlDiffers { arm, ratio, .. } => format!(
            "{arms} against themselves came out DIFFERENT, `{arm}` most ({}): this run finds differences where there are none.",
            text::ratio(ratio.value, ratio.interval)
        ),
        Warning::ResolutionWide { arm, half_width_percent, band } => format!(
            "{arms} were measured twice in every round to see how far equal work differs: `{arm}` most, up to {}. Nothing is called equivalent where it is more than {}.",
            scatter(*half_width_percent),
            text::chosen(*band)
        ),
        Warning::ReferenceWide { .. } => {
            format!("{arms} are too noisy to serve as a reference. The worst: {text}")
        }
        Warning::ChangePoint { arm, round, p } => format!(
            "The times of {arms} change their level during the run, most clearly `{arm}` at round {round} (by chance with probability {p:.2e})."
        ),
        Warning::HalvesDiffer { arm, ratio } => format!(
            "In {arms} the second half of the rounds differs from the first, most in `{arm}`: {} of its time.",
            text::ratio(ratio.value, ratio.interval)
        ),
        Warning::Autocorrelated { arm, coefficient } => format!(
            "Slow rounds of {arms} follow slow ones, most in `{arm}` (correlation {coefficient:.2}): intervals are somewhat too narrow."
        ),
        Warning::Bimodal { arm, coefficient } => format!(
            "The times of {arms} fall into two groups each, most clearly `{arm}` (bimodality coefficient {coefficient:.2}), and their medians may lie between them."
        ),
        Warning::DataChanged { .. } => {
            format!("{number} directories were not as planned or did not stay as they were. {text}")
        }
        _ => text.into(),
    }
}

/// Entry of the list below a merged warning: the arm and its figure.
fn brief(advisory: &Advisory) -> String {
    match &advisory.warning {
        Warning::UnequalWork { arm, rounds } => {
            format!("`{arm}`, in {}", text::counted(*rounds as u64, "round"))
        }
        Warning::ControlDiffers { arm, ratio, .. } | Warning::HalvesDiffer { arm, ratio } => {
            format!("`{arm}`: {}", text::ratio(ratio.value, ratio.interval))
        }
        Warning::ResolutionWide { arm, half_width_percent, .. }
        | Warning::ReferenceWide { arm, half_width_percent, .. } => {
            format!("`{arm}`: {}", text::percent(*half_width_percent))
        }
        Warning::ChangePoint { arm, round, p } => format!("`{arm}`: at round {round}, p = {p:.2e}"),
        Warning::Autocorrelated { arm, coefficient } | Warning::Bimodal { arm, coefficient } => {
            format!("`{arm}`: {coefficient:.2}")
        }
        _ => advisory.text.clone(),
    }
}
