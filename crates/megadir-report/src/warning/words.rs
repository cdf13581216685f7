//! Texts of warnings: the problem and the remedy.

use super::{Advisory, Options, Warning};
use crate::summary::Figure;
use crate::text;
use crate::warning::derive::PRESSURE_MIN;
use crate::warning::kind;

impl Warning {
    /// With advice for `bench`; for callers without a record.
    pub fn advisory(self) -> Advisory {
        self.advisory_with(Options::Bench)
    }

    pub(crate) fn advisory_with(self, options: Options) -> Advisory {
        Advisory { loud: self.is_loud(), text: text(&self), advice: advice(&self, options), warning: self }
    }
}

/// One arm of the match for each kind, so that a new warning does not compile without a text. The sentence
/// states the problem and its size; the remedy is separate, since some formats print only the first.
fn text(warning: &Warning) -> String {
    match warning {
        Warning::UnequalWork { arm, rounds } => format!(
            "`{arm}` did not see the expected entries in {}, so its times are not compared.",
            text::counted(*rounds as u64, "round")
        ),
        Warning::ControlDiffers { arm, ratio, negligible } => control_differs(arm, ratio, *negligible),
        Warning::TooFewRounds { rounds, needed, arms } => too_few_rounds(*rounds, *needed, arms),
        Warning::CutOff { line } => {
            format!("The record is truncated in line {line}; the complete lines before it are used.")
        }
        Warning::Incomplete { rounds, planned, reason } => incomplete(*rounds, *planned, reason.as_deref()),
        Warning::Contradictory { text } => text.clone(),
        Warning::DataChanged { entries, entries_min, entries_max } => {
            data_changed(*entries, *entries_min, *entries_max)
        }
        Warning::Noisy { voided, rounds } => format!(
            "{} voided and repeated, and {rounds} count: the machine was noisy.",
            if *voided == 1 { "1 round was".into() } else { format!("{voided} rounds were") }
        ),
        Warning::Disturbed { taken_percent, .. } => {
            format!("Other programs had the processor {} of the time before this run.", text::percent(*taken_percent))
        }
        Warning::TimerCost { arm, percent, quantiles_refused } => {
            let refused = if *quantiles_refused { ", so its quantiles are withheld" } else { "" };
            format!("Measuring costs {} of the time of `{arm}`{refused}.", text::percent(*percent))
        }
        Warning::DelaysNotFound => {
            "megadir checks its clock before a run by delaying some operations for a known time. It did not find these delays again, with their length and number: something held up the processor.".into()
        }
        Warning::Unaccounted { arm, percent } => format!(
            "The times of the operations of {} add up to {percent:.1} % of the time of their blocks.",
            arm.as_ref().map_or_else(|| "the run's check of itself".into(), |arm| format!("`{arm}`"))
        ),
        Warning::RateNotKept { arm, target_per_s, achieved_per_s } => format!(
            "Operations of `{arm}` were planned to start {} times a second and started {} times: their times show how long the queue grew.",
            text::count(*target_per_s),
            text::count(achieved_per_s.round() as u64)
        ),
        Warning::ResolutionWide { .. }
        | Warning::ReferenceWide { .. }
        | Warning::WidthNotReached { .. }
        | Warning::PressureRose { .. }
        | Warning::ChangePoint { .. }
        | Warning::HalvesDiffer { .. }
        | Warning::Autocorrelated { .. }
        | Warning::Bimodal { .. } => noise(warning).unwrap_or_default(),
        Warning::Noted { text, .. } => format!("{}.", text.trim_end_matches('.')),
    }
}

/// Advice that names an option or a format depends on the command; all other advice is fixed.
fn advice(warning: &Warning, options: Options) -> String {
    let more = options.more_rounds();
    match warning {
        Warning::TooFewRounds { .. } => format!("Let the run finish, or {more}."),
        Warning::ControlDiffers { negligible: false, .. } => {
            format!("Do not use this run. Stop other work on the machine, {more} and run it again.")
        }
        Warning::ResolutionWide { .. } => {
            let more = text::capital(more);
            format!("{more}, or use a quieter machine: nothing will be called equivalent before.")
        }
        Warning::ReferenceWide { .. } => {
            let samples = samples(options, ", look for work that comes and goes");
            format!("Do not use it as a reference: take ratios to another arm{samples}, or {more}.")
        }
        Warning::Autocorrelated { .. } => {
            format!("Look for periodic work on the machine, or {more}.")
        }
        Warning::Bimodal { .. } => {
            let samples = samples(options, "Look at the samples");
            let begin = if samples.is_empty() { "Look" } else { ", and look" };
            format!("{samples}{begin} for work that comes and goes.")
        }
        _ => fixed(warning).to_owned(),
    }
}

/// Remedies that depend on nothing but the kind. An empty text is replaced by `advice`, which knows the
/// options of the run. "Do not use this run" is reserved for doubts that concern ratios too.
fn fixed(warning: &Warning) -> &'static str {
    match warning {
        Warning::Disturbed { .. } => {
            "Do not use this run. Stop other work and run it again. It may have slowed one arm more than another, so even clear differences can be wrong."
        }
        Warning::UnequalWork { .. } => {
            "Make sure that nothing changes the directory; if nothing does, the arm's backend loses or repeats entries: report it."
        }
        Warning::ControlDiffers { .. } => {
            "One comparison in twenty does this by chance. Take no smaller difference seriously, or run again."
        }
        Warning::CutOff { .. } => {
            "This is what a killed run leaves; if it was not killed, look for a full disk and run it again."
        }
        Warning::Incomplete { .. } => {
            "Run it again to the end before drawing conclusions from small differences."
        }
        Warning::Contradictory { .. } => {
            "Do not use this record. Report on an unchanged copy of it, or run it again."
        }
        Warning::DataChanged { .. } => {
            "Run on a directory that nothing changes, or let the study make its own."
        }
        Warning::Noisy { .. } => "Stop other work on the machine (or on its host) and run it again.",
        Warning::TimerCost { .. } => {
            "Ratios are unaffected, because all arms pay the same; subtract it from times of operations this short."
        }
        Warning::WidthNotReached { .. } => {
            "Allow more rounds (--rounds), or ask for a larger width (--until)."
        }
        Warning::PressureRose { before_percent, .. } if *before_percent > PRESSURE_MIN => {
            "Other work was there before the run and grew during it: find it, wait until it is done, and run it again."
        }
        Warning::PressureRose { .. } => {
            "Other work began during the run: find it, wait until it is done, and run it again."
        }
        Warning::RateNotKept { .. } => "Ask for a lower rate (--rate).",
        Warning::DelaysNotFound | Warning::Unaccounted { .. } => {
            "Do not use times of single operations of this run. Stop other work and run it again."
        }
        Warning::ChangePoint { .. } | Warning::HalvesDiffer { .. } => {
            "Ratios are paired by round, so they are unaffected; absolute times are not. Look for a task that began or ended, or run it again."
        }
        Warning::Noted { note, .. } => kind::advice(note),
        // Depends on the options, see `advice`.
        Warning::TooFewRounds { .. }
        | Warning::ResolutionWide { .. }
        | Warning::ReferenceWide { .. }
        | Warning::Autocorrelated { .. }
        | Warning::Bimodal { .. } => "",
    }
}

/// Samples of `advise` cannot be written to a file, so there the phrase is left out.
fn samples(options: Options, phrase: &str) -> String {
    match options {
        Options::Bench => format!("{phrase} (--format csv)"),
        Options::Advise => String::new(),
    }
}

/// Texts of the warnings on the scatter of times, apart from the others to keep both functions short. `None` for
/// every other kind, which `text` handles itself.
fn noise(warning: &Warning) -> Option<String> {
    Some(match warning {
        Warning::ResolutionWide { arm, half_width_percent, band } => format!(
            "`{arm}` was measured twice in every round to see how far equal work differs: up to {}. This run shows no smaller differences, and calls nothing equivalent, which takes {} or less.",
            scatter(*half_width_percent),
            text::chosen(*band)
        ),
        Warning::ReferenceWide { arm, half_width_percent, others_percent } => {
            reference_wide(arm, *half_width_percent, *others_percent)
        }
        Warning::WidthNotReached { comparisons, rounds } => format!(
            "{} less precise than --until asks for, after all of the allowed {}.",
            if *comparisons == 1 {
                "1 comparison is".into()
            } else {
                format!("{comparisons} comparisons are")
            },
            text::counted(*rounds as u64, "round")
        ),
        Warning::PressureRose { resource, before_percent, after_percent } => format!(
            "Some task waited for {resource} in {} of the run's last 10 s. In the 10 s before the run it was {}.",
            text::percent(*after_percent),
            text::percent(*before_percent)
        ),
        Warning::ChangePoint { arm, round, p } => {
            format!(
                "From round {round} on, the times of `{arm}` are at another level (by chance with probability {p:.2e})."
            )
        }
        Warning::HalvesDiffer { arm, ratio } => format!(
            "The second half of the rounds of `{arm}` took {} of the time of the first.",
            text::ratio(ratio.value, ratio.interval)
        ),
        Warning::Autocorrelated { arm, coefficient } => format!(
            "Slow rounds of `{arm}` follow slow ones (correlation {coefficient:.2}): intervals are somewhat too narrow."
        ),
        Warning::Bimodal { arm, coefficient } => format!(
            "The times of `{arm}` fall into two groups (bimodality coefficient {coefficient:.2}), and its median may lie between them."
        ),
        _ => return None,
    })
}

/// A percentage of 100 and more is hard to imagine.
pub(crate) fn scatter(half_width_percent: f64) -> String {
    // Above a factor of two, "it took that much longer" is easier to imagine than a percentage.
    match half_width_percent {
        percent if percent < 100.0 => text::percent(percent),
        percent => format!("a factor of {:.0}", 1.0 + percent / 100.0),
    }
}

fn reference_wide(arm: &str, half_width_percent: f64, others_percent: Option<f64>) -> String {
    let own = scatter(half_width_percent);
    match others_percent {
        None => format!("`{arm}`, measured twice in every round, differs from itself by up to {own}."),
        Some(others) => format!(
            "The time of `{arm}` is uncertain by up to {own}, the times of the arms compared with it only by {}: its rounds vary, theirs do not.",
            text::percent(others)
        ),
    }
}

fn too_few_rounds(rounds: usize, needed: usize, arms: &[String]) -> String {
    // With more arms than this the sentence names the first and counts the others.
    const NAMED_MAX: usize = 3;
    let counted = text::counted(rounds as u64, "round");
    let arms: Vec<String> = match arms {
        [] => {
            return format!(
                "Only {counted} can be used: no interval under {needed} rounds, so medians stand alone and nothing is judged."
            );
        }
        [first, ..] if arms.len() > NAMED_MAX => {
            vec![format!("`{first}`"), format!("{} other arms", arms.len() - 1)]
        }
        _ => arms.iter().map(|arm| format!("`{arm}`")).collect(),
    };
    let (most, have) = match arms.len() {
        1 => ("", "has"),
        _ => (" at most", "have"),
    };
    format!(
        "{} {have} only {counted}{most}: no interval under {needed} rounds, so nothing is judged of {}. The other arms have enough.",
        text::list(&arms),
        if most.is_empty() { "it" } else { "them" }
    )
}

/// A run that has no reason was killed, or is still running while it is reported.
fn incomplete(rounds: usize, planned: u32, reason: Option<&str>) -> String {
    let why = reason.unwrap_or("the run was killed or still goes on").trim_end_matches('.');
    format!("The run is incomplete ({rounds} of {planned} rounds): {why}.")
}

fn control_differs(arm: &str, ratio: &Figure, negligible: bool) -> String {
    let figures = text::ratio(ratio.value, ratio.interval);
    if negligible {
        format!("`{arm}` against itself came out slightly different ({figures}).")
    } else {
        format!(
            "`{arm}` against itself came out DIFFERENT ({figures}): this run finds differences where there are none."
        )
    }
}

/// Four cases by the range of the numbers that were seen: other names with an equal number, another number
/// throughout, a number that changed, and no agreement at all.
fn data_changed(entries: u64, min: Option<u64>, max: Option<u64>) -> String {
    let planned = text::entries(entries);
    match (min, max) {
        (Some(min), Some(max)) if min == max && min == entries => {
            format!(
                "The directory of {planned} changed during the run: its names or types did not stay the same."
            )
        }
        (Some(min), Some(max)) if min == max => {
            format!("The directory of {planned} was found to have {}.", text::count(min))
        }
        (Some(min), Some(max)) => format!(
            "The directory of {planned} changed during the run: from {} to {} were seen.",
            text::count(min),
            text::count(max)
        ),
        _ => format!("The arms never agreed on what the directory of {planned} holds."),
    }
}
