//! The gate of `--fail-if`: passes only if the new runs measured all old arms in full, on equal work, without loud warnings.
//!
//! ```text
//! reasons against a verdict (`because`) -- any --> NotJudged   exit code 11
//!         | none
//! arms slower than tolerated ------------ any --> Slower       exit code 10
//!         | none
//!         `--> Passed                                           exit code 0, `open` lists what it cannot exclude
//! ```
//!
//! Doubts come before a slow arm, which stays listed.

use serde::{Deserialize, Serialize};

use super::Between;
use crate::between::comparability::doubts_of;
use crate::summary::{Ending, GroupReading, Outcome, Verdict};
use crate::warning::ARM_LEFT_OUT;
use crate::{Report, text};

/// A gate that could miss a slowdown of this many tolerances, or of [`MISSED_MIN`] if more, is no verdict.
const MISSED_TOLERANCES: f64 = 4.0;
const MISSED_MIN: f64 = 0.25;
/// More arms are counted.
const NAMED_MAX: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// Tolerated slowdown, a fraction; `None`: the equivalence band.
    pub slower_by: Option<f64>,
    pub single_run: bool,
    pub despite_warnings: bool,
}

/// Result of `--fail-if`, which a program reads to decide if a change may land. `slower_by` is the tolerated
/// slowdown as a fraction; without it, any slowdown beyond the equivalence band fails. A gate passes only if
/// `because` and `slower` are empty: an arm that could not be judged must not pass for an arm that is not
/// slower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    pub slower_by: Option<f64>,
    #[serde(rename = "says")]
    pub verdict: GateVerdict,
    /// Arms slower than tolerated, listed even if the gate could not be judged.
    pub slower: Vec<String>,
    /// Arms that are not shown to be slower, but whose intervals include the limit.
    pub open: Vec<String>,
    /// Upper end of the worst of those intervals, a ratio.
    pub open_up_to: Option<f64>,
    /// Reasons from [`Between::unjudged`] that the condition does not waive.
    pub because: Vec<Unjudged>,
}

megadir_record::named! {
    pub enum GateVerdict {
        Passed = "passed",
        Slower = "slower",
        NotJudged = "not-judged",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unjudged {
    pub kind: UnjudgedKind,
    /// One sentence without its full stop.
    pub text: String,
    /// Empty if the reason concerns whole runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<String>,
}

megadir_record::named! {
    pub enum UnjudgedKind {
        SingleRun = "single-run",
        TooFewRuns = "too-few-runs",
        SameRun = "same-run",
        Warned = "warned",
        Incomplete = "incomplete",
        Missing = "missing",
        UnequalWork = "unequal-work",
        PartlyMeasured = "partly-measured",
        NoInterval = "no-interval",
        /// Intervals that include large slowdowns.
        WideInterval = "wide-interval",
    }
}

impl Unjudged {
    pub(super) fn whole(kind: UnjudgedKind, text: &str) -> Self {
        Self { kind, text: text.trim_end_matches('.').into(), arms: Vec::new() }
    }

    pub fn line(&self) -> String {
        if self.arms.is_empty() { self.text.clone() } else { format!("{}: {}", self.text, named(&self.arms)) }
    }
}

impl Between {
    pub fn apply(&mut self, condition: Condition) {
        // Only two reasons are a matter of judgement; the others mean that something was not measured.
        let waived = |reason: &&Unjudged| match reason.kind {
            UnjudgedKind::SingleRun => condition.single_run,
            UnjudgedKind::Warned => condition.despite_warnings,
            _ => false,
        };
        let because = self.unjudged.iter().filter(|reason| !waived(reason)).cloned().collect();
        // The gate keeps its reasons apart from `unjudged`, which stays complete for the next condition.
        let arms = self.rows.iter().map(|row| (&*row.arm, &row.outcome)).collect();
        self.gate = Some(Gate::judge(arms, self.band, condition.slower_by, because));
    }
}

type Judged<'a> = (&'a str, &'a Outcome);

impl Gate {
    /// The gate within one run, where each arm is judged against the baseline of its group by paired rounds.
    /// Reasons against a judgement are collected first, and all of them, so that one repetition can repair
    /// them together. An arm that misses a round counts as partly measured although its own interval may be
    /// narrow, because the missing rounds may be the slow ones.
    pub fn of_run(report: &Report, slower_by: Option<f64>, despite_warnings: bool) -> Self {
        let (summary, record) = (&report.summary, &report.record);
        let mut because = Vec::new();
        if !despite_warnings {
            let warned = doubts_of(report, "the run");
            because.extend(warned.iter().map(|doubt| Unjudged::whole(UnjudgedKind::Warned, &doubt.text)));
        }
        if summary.progress.ending != Ending::Complete {
            let text = "the run ended early; continue it with bench run --resume";
            because.push(Unjudged::whole(UnjudgedKind::Incomplete, text));
        }
        let left_out = record.notes.iter().filter(|note| note.kind == ARM_LEFT_OUT);
        because.extend(left_out.map(|note| Unjudged::whole(UnjudgedKind::Missing, &note.text)));
        let mut arms = Vec::new();
        for group in &summary.groups {
            let GroupReading::Compare(read) = &group.reading else { continue };
            for row in read.rows.iter().filter(|row| row.outcome != Outcome::Baseline) {
                let name = summary.arm_name(row.arm);
                let reason = match &row.outcome {
                    Outcome::Unequal => Some((UnjudgedKind::UnequalWork, "unequal work")),
                    Outcome::NotMeasured => Some((UnjudgedKind::Missing, "not measured")),
                    // Rounds that lack the arm may be the slow ones.
                    _ if row.rounds < summary.progress.rounds_used => {
                        Some((UnjudgedKind::PartlyMeasured, "not measured in every round"))
                    }
                    Outcome::Judged { adjusted: Some(_), .. } => None,
                    _ => Some((UnjudgedKind::NoInterval, "too few rounds for an interval")),
                };
                if let Some((kind, text)) = reason {
                    because.push(Unjudged { arms: vec![name.to_owned()], ..Unjudged::whole(kind, text) });
                }
                arms.push((name, &row.outcome));
            }
        }
        Self::judge(arms, summary.rules.equivalence_band, slower_by, because)
    }

    /// An interval that reaches beyond the limit leaves its arm open, and passes, because noise alone would
    /// otherwise fail every second run. But if an interval is so wide that a slowdown of several tolerances
    /// would go unseen, the gate is not judged. Doubts take precedence over a slow arm, which stays listed in
    /// `slower`.
    fn judge(arms: Vec<Judged<'_>>, band: f64, by: Option<f64>, mut because: Vec<Unjudged>) -> Self {
        let (slower, others): (Vec<Judged<'_>>, Vec<Judged<'_>>) =
            arms.into_iter().partition(|(_, outcome)| outcome.is_slower(by));
        let limit = 1.0 + by.unwrap_or(band);
        let upper_end = |(_, outcome): &Judged<'_>| Some(outcome.adjusted()?.interval?.high);
        let reaching = |beyond: f64| {
            let reaches = |arm: &&Judged<'_>| upper_end(arm).is_some_and(|high| high > beyond);
            others.iter().filter(reaches).copied().collect::<Vec<_>>()
        };
        let names = |arms: &[Judged<'_>]| arms.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
        let open = reaching(limit);
        // A small tolerance must not demand impossible precision, so at least a quarter may stay unseen.
        let missed = (MISSED_TOLERANCES * (limit - 1.0)).max(MISSED_MIN);
        let wide = reaching(1.0 + missed);
        if !wide.is_empty() {
            let text = format!("a slowdown of {} would not be seen; measure more runs", text::chosen(missed));
            because.push(Unjudged { kind: UnjudgedKind::WideInterval, text, arms: names(&wide) });
        }
        let verdict = match (because.is_empty(), slower.is_empty()) {
            (false, _) => GateVerdict::NotJudged,
            (true, false) => GateVerdict::Slower,
            (true, true) => GateVerdict::Passed,
        };
        Self {
            slower_by: by,
            verdict,
            slower: names(&slower),
            open: names(&open),
            open_up_to: open.iter().filter_map(upper_end).reduce(f64::max),
            because,
        }
    }

    pub fn sentence(&self) -> String {
        let limit = self.tolerance();
        match self.verdict {
            GateVerdict::Passed => {
                format!("The gate passed: every arm was judged, and none is shown to be slower {limit}.")
            }
            GateVerdict::Slower => {
                let arms = text::counted(self.slower.len() as u64, "arm");
                format!("The gate failed: {arms} took longer {limit}.")
            }
            GateVerdict::NotJudged => {
                let reasons = text::counted(self.because.len() as u64, "reason");
                format!("The gate could not be judged, for {reasons}.")
            }
        }
    }

    /// Slower arms, reasons without a verdict, and what a passed gate could not exclude, without full stops.
    /// Standard error has one of them per line.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.slower.is_empty() {
            lines.push(format!("slower than before: {}", self.slower.join("; ")));
        }
        lines.extend(
            self.because.iter().map(|reason| format!("the gate cannot be judged: {}", reason.line())),
        );
        if let Some(up_to) = self.open_up_to.filter(|_| self.verdict == GateVerdict::Passed) {
            let (tolerance, arms) = (self.tolerance(), text::counted(self.open.len() as u64, "arm"));
            let up_to = text::ratio(up_to, None);
            lines.push(format!(
                "no arm is shown to be slower {tolerance}, but for {arms} up to {up_to} cannot be excluded ({}); more runs would narrow it",
                named(&self.open)
            ));
        }
        lines
    }

    fn tolerance(&self) -> String {
        match self.slower_by {
            Some(by) => format!("by more than {}", text::chosen(by)),
            None => "beyond the equivalence band".into(),
        }
    }
}

impl Outcome {
    /// Beyond the equivalence band, or by more than the given fraction.
    /// With a tolerance, the slowdown must be shown, and its estimate must exceed the tolerance; the
    /// interval alone may include less.
    pub fn is_slower(&self, by: Option<f64>) -> bool {
        match (self, by) {
            (Self::Judged { verdict: Verdict::Slower { negligible }, .. }, None) => !negligible,
            (Self::Judged { ratio, verdict: Verdict::Slower { .. }, .. }, Some(by)) => ratio.value > 1.0 + by,
            _ => false,
        }
    }
}

fn named(arms: &[String]) -> String {
    let shown = arms[..arms.len().min(NAMED_MAX)].join("; ");
    match arms.len().checked_sub(NAMED_MAX) {
        None | Some(0) => shown,
        Some(more) => format!("{shown}; and {more} more"),
    }
}
