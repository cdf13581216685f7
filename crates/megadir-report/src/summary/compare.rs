//! The rule Compare: every arm of a group against the group's baseline, round by round. A ratio is the time of the arm over the
//! time of the baseline. The family of Holm's adjustment is the group; the baseline against itself is judged alone.
//!
//! ```text
//! arms of a group -> equal work? -- no --> Unequal
//!                       | yes
//!                  log ratios by round, by epoch -- none --> NotMeasured
//!                       |
//!                  one family (Holm) -- rounds too few for an interval --> TooFewRounds
//!                       `--> Judged: own interval, adjusted interval, verdict
//! ```
//!
//! Arms of other work are not members of the family, so they do not widen the intervals of the others.

use megadir_record::{Arm, ArmId, Pair, Role, Sample, Stage, Work};
use serde::{Deserialize, Serialize};

use crate::summary::{Evidence, Figure, Interval, Verdict};
use crate::text;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Arm that the others are compared with.
    pub baseline: ArmId,
    /// In the plan's order, the baseline first.
    pub rows: Vec<Contrast>,
    /// Effect of the number of calls on the time, if the arms differ in it.
    pub calls: Option<CallsContrast>,
}

/// One arm against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contrast {
    /// Arm that is compared.
    pub arm: ArmId,
    /// Rounds that have both arms.
    pub rounds: usize,
    /// Ratio of its time to the baseline's, and the verdict.
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum Outcome {
    Baseline,
    Judged {
        /// Time of the arm over time of the baseline, with its own interval.
        ratio: Figure,
        /// Adjusted for all arms of the group; `None` with too few rounds.
        adjusted: Option<Interval>,
        verdict: Verdict,
        /// Number of epochs behind the intervals, if they are from the hierarchical bootstrap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epochs: Option<usize>,
    },
    /// The median ratio alone.
    TooFewRounds {
        /// Time of the arm over time of the baseline.
        ratio: f64,
    },
    /// The arm or the baseline did other work.
    Unequal,
    /// No round has both arms.
    NotMeasured,
}

/// The arm with the fewest calls against the arm with the most, by the same backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallsContrast {
    /// Arm with the most calls.
    pub most: ArmId,
    /// Calls in one operation.
    pub most_calls: u64,
    /// Arm with the fewest calls.
    pub fewest: ArmId,
    /// Calls in one operation.
    pub fewest_calls: u64,
    /// Time with the fewest calls over time with the most.
    pub ratio: Figure,
}

/// Statement of an outcome; a negligible difference counts as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutcomeClass {
    Faster,
    Slower,
    Same,
    Open,
}

// A negligible difference is real and irrelevant; readers and counts treat it as equality.
impl From<Verdict> for OutcomeClass {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster { negligible: false } => Self::Faster,
            Verdict::Slower { negligible: false } => Self::Slower,
            Verdict::Faster { .. } | Verdict::Slower { .. } | Verdict::Equivalent => Self::Same,
            Verdict::Inconclusive { .. } => Self::Open,
        }
    }
}

impl Outcome {
    /// Too few rounds leave a comparison open. The other three were never compared, and belong to no class.
    pub(crate) fn class(&self) -> Option<OutcomeClass> {
        match self {
            Self::Judged { verdict, .. } => Some((*verdict).into()),
            Self::TooFewRounds { .. } => Some(OutcomeClass::Open),
            Self::Baseline | Self::Unequal | Self::NotMeasured => None,
        }
    }

    /// Ratio with its own interval; `None` if nothing was compared.
    pub(crate) fn ratio(&self) -> Option<Figure> {
        match *self {
            Self::Judged { ratio, .. } => Some(ratio),
            Self::TooFewRounds { ratio } => Some(Figure { value: ratio, interval: None }),
            Self::Baseline | Self::Unequal | Self::NotMeasured => None,
        }
    }

    pub(crate) fn ratio_value(&self) -> Option<f64> {
        self.ratio().map(|ratio| ratio.value)
    }

    /// Ratio with its adjusted interval; `None` if nothing was compared.
    pub(crate) fn adjusted(&self) -> Option<Figure> {
        let interval = match *self {
            Self::Judged { adjusted, .. } => adjusted,
            _ => None,
        };
        Some(Figure { interval, ..self.ratio()? })
    }

    /// With the adjusted interval, as everywhere in texts: the own interval of one row in a large table
    /// promises too much.
    pub(crate) fn ratio_text(&self) -> String {
        self.adjusted().map(|ratio| text::ratio(ratio.value, ratio.interval)).unwrap_or_default()
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Judged { verdict, .. } => Some(*verdict),
            _ => None,
        }
    }

    /// The baseline against the arm.
    /// Each pair of file systems is judged once; questions in the other direction use the inverse.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::Judged { ratio, adjusted, verdict, epochs } => Self::Judged {
                ratio: Figure { value: 1.0 / ratio.value, interval: ratio.interval.map(Interval::inverse) },
                adjusted: adjusted.map(Interval::inverse),
                verdict: match verdict {
                    Verdict::Faster { negligible } => Verdict::Slower { negligible },
                    Verdict::Slower { negligible } => Verdict::Faster { negligible },
                    same @ (Verdict::Equivalent | Verdict::Inconclusive { .. }) => same,
                },
                epochs,
            },
            Self::TooFewRounds { ratio } => Self::TooFewRounds { ratio: 1.0 / ratio },
            same @ (Self::Baseline | Self::Unequal | Self::NotMeasured) => same,
        }
    }
}

/// Controls are a family of their own: they are judged for trust in the run, and must not widen the
/// intervals of the answer.
pub(crate) fn compare(evidence: &Evidence<'_>, group: &str, baseline: ArmId) -> Comparison {
    let member = |planned: &&Arm| planned.id != baseline && planned.groups.iter().any(|name| name == group);
    let members: Vec<&Arm> = evidence.plan.arms.iter().filter(member).collect();
    let of_role = |is_control: bool| -> Vec<ArmId> {
        let chosen = members.iter().filter(|planned| (planned.role == Role::Control) == is_control);
        chosen.map(|planned| planned.id).collect()
    };
    let mut rows = contrasts(evidence, baseline, &of_role(false));
    rows.extend(contrasts(evidence, baseline, &of_role(true)));
    // The baseline is a row, so that tables show its time; its rounds are its own.
    rows.push(Contrast {
        arm: baseline,
        rounds: evidence.rounds.times(baseline).len(),
        outcome: Outcome::Baseline,
    });
    rows.sort_by_key(|row| (row.arm != baseline, row.arm));
    let arms: Vec<ArmId> = rows.iter().map(|row| row.arm).collect();
    Comparison { baseline, rows, calls: calls_contrast(evidence, &arms) }
}

pub(crate) fn contrasts(evidence: &Evidence<'_>, baseline: ArmId, arms: &[ArmId]) -> Vec<Contrast> {
    // Pairs in the order of the arms: the results are joined by position.
    let pairs: Vec<(ArmId, ArmId)> = arms.iter().map(|&arm| (arm, baseline)).collect();
    let judged = contrast(evidence, &pairs).into_iter();
    let row = |(&arm, (rounds, outcome))| Contrast { arm, rounds, outcome };
    arms.iter().zip(judged).map(row).collect()
}

/// The first arm against the second; returns the rounds that have both.
pub(crate) fn contrast(evidence: &Evidence<'_>, pairs: &[(ArmId, ArmId)]) -> Vec<(usize, Outcome)> {
    let comparable = |pair: &&(ArmId, ArmId)| evidence.is_equal(pair.0) && evidence.is_equal(pair.1);
    let log_ratios: Vec<Vec<Vec<f64>>> =
        pairs.iter().filter(comparable).map(|&(arm, to)| evidence.rounds.log_ratios(arm, to)).collect();
    // Judgements exist for comparable pairs only. `judged` advances exactly at these, which keeps both in
    // step.
    let judgements = megadir_stats::judge_family_of_epochs(&log_ratios, evidence.judging());
    let mut judged = log_ratios.iter().map(|epochs| epochs.concat()).zip(judgements);
    let contrast = |pair: &(ArmId, ArmId)| match comparable(&pair).then(|| judged.next()).flatten() {
        Some((logs, judgement)) => (logs.len(), outcome(&logs, judgement)),
        None => (0, Outcome::Unequal),
    };
    pairs.iter().map(contrast).collect()
}

/// Rounds too few for an interval leave the median; no rounds at all leave nothing.
pub(super) fn outcome(log_ratios: &[f64], judgement: Option<megadir_stats::Judgement>) -> Outcome {
    match (judgement, megadir_stats::median(log_ratios)) {
        (Some(judgement), _) => judged(judgement),
        (None, Some(median)) => Outcome::TooFewRounds { ratio: median.exp() },
        (None, None) => Outcome::NotMeasured,
    }
}

pub(crate) fn judged(judgement: megadir_stats::Judgement) -> Outcome {
    Outcome::Judged {
        ratio: judgement.ratio.into(),
        adjusted: judgement.adjusted.bounded(),
        verdict: judgement.verdict,
        epochs: match judgement.method {
            megadir_stats::Method::HierarchicalBootstrap { epochs } => Some(epochs),
            _ => None,
        },
    }
}

/// The arms with the most and the fewest calls among those with the first arm's data, work and backend. They
/// are chosen by calls, not by times, so the contrast needs no adjustment.
fn calls_contrast(evidence: &Evidence<'_>, arms: &[ArmId]) -> Option<CallsContrast> {
    let first = evidence.plan.arm(*arms.first()?)?;
    let alike = |planned: &Arm| {
        planned.data == first.data && effort(planned).is_some() && effort(planned) == effort(first)
    };
    let counted = |&arm: &ArmId| {
        // Calls of the first round that counts stand for all of them.
        let suits = evidence.is_equal(arm) && evidence.plan.arm(arm).is_some_and(alike);
        let calls = |sample: &Sample| sample.counted.calls;
        Some((evidence.rounds.samples(arm).next().filter(|_| suits).and_then(calls)?, arm))
    };
    let counts: Vec<(u64, ArmId)> = arms.iter().filter_map(counted).collect();
    // Among arms with equally many calls, the one that comes first in the plan is taken, so that the choice
    // does not depend on times.
    let &(most_calls, most) = counts.iter().max_by_key(|(calls, arm)| (*calls, std::cmp::Reverse(*arm)))?;
    // A family of one comparison: its interval needs no adjustment.
    let &(fewest_calls, fewest) = counts.iter().min()?;
    let ratio = contrast(evidence, &[(fewest, most)]).pop()?.1.ratio()?;
    (fewest_calls < most_calls).then_some(CallsContrast { most, most_calls, fewest, fewest_calls, ratio })
}

/// Work apart from the size of its calls.
/// Backend, threads and stages without the size of the buffer, which is the only thing that may differ.
/// `None` for work that is no listing.
fn effort(planned: &Arm) -> Option<(&str, u32, &[Stage])> {
    match &planned.work {
        Work::List { backend, threads, stages, .. } => Some((backend, *threads, stages)),
        _ => None,
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pairs {
    /// Comparisons, in the plan's order.
    pub rows: Vec<PairRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairRow {
    /// Arms that are compared.
    pub pair: Pair,
    /// Rounds that have both arms.
    pub rounds: usize,
    /// Ratio of their times, and the verdict.
    pub outcome: Outcome,
}

/// Each pair of file systems is a family: in a single one, the verdict on two would depend on the number of others.
/// The verdicts are joined again in the order of the plan, which the table follows.
pub(crate) fn read_file_systems(evidence: &Evidence<'_>, pairs: &[Pair]) -> Pairs {
    let by_systems = pairs.iter().enumerate().map(|(place, pair)| ((&pair.subject, &pair.than), place));
    let mut rows: Vec<(usize, PairRow)> = Vec::with_capacity(pairs.len());
    for (_, family) in text::grouped(by_systems) {
        let of_family: Vec<Pair> = family.iter().map(|place| pairs[*place].clone()).collect();
        rows.extend(family.into_iter().zip(read_pairs(evidence, &of_family).rows));
    }
    rows.sort_by_key(|(place, _)| *place);
    Pairs { rows: rows.into_iter().map(|(_, row)| row).collect() }
}

/// All pairs of a group are one family.
pub(crate) fn read_pairs(evidence: &Evidence<'_>, pairs: &[Pair]) -> Pairs {
    let arms: Vec<_> = pairs.iter().map(|pair| (pair.arm, pair.to)).collect();
    let judged = contrast(evidence, &arms);
    let row = |(pair, (rounds, outcome)): (&Pair, _)| PairRow { pair: pair.clone(), rounds, outcome };
    Pairs { rows: pairs.iter().zip(judged).map(row).collect() }
}
