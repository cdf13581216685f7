//! The rule Decompose: the difference between two programs, split into factors.
//! ```text
//!  slow:  arm 0 -> arm 1 -> ... -> arm s      each arm adds one step to the one before
//!  fast:  arm 0 -> arm 1 -> ... -> arm f
//!  cost of a factor = its steps in slow - its steps in fast          in every round by itself
//!  D = slow - fast = the sum of the costs of all factors             (both sums telescope)
//!  share of a factor = cost / D                                      adds up to 1 in every round
//! ```
//! Figures are medians over rounds, so shares add up to 100 % only approximately. A factor that makes the
//! slow program faster has a negative share.

use megadir_record::{ArmId, Stage, Work};
use serde::{Deserialize, Serialize};

use super::{Evidence, Figure};
use crate::text::distinct;

/// Times are nanoseconds an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Decomposition {
    /// Name of the slow program.
    pub slow_name: String,
    /// Name of the fast program.
    pub fast_name: String,
    /// Rounds in which all arms of both programs were measured.
    pub rounds: usize,
    /// Number of entries of the directory.
    pub entries: u64,
    /// Nanoseconds an entry.
    pub slow_ns: Figure,
    /// Nanoseconds an entry.
    pub fast_ns: Figure,
    /// Extra time of the slow program, nanoseconds an entry.
    pub difference_ns: Figure,
    /// Time of the slow program over time of the fast one.
    pub ratio: Figure,
    /// Steps of both programs, each with its part of the difference.
    pub factors: Vec<Factor>,
    /// Factors of reading alone, which buffer and call can explain.
    pub reading: Option<ReadingFactor>,
}

// A step that one program takes and the other does not, or takes in another way. Its cost is the step's time
// in the slow program minus that in the fast one, so a negative cost is a step that the slow program saves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// Step of a program, e.g. `sort`.
    pub name: String,
    /// `true` if it is the same arm in both programs and cancels out.
    pub common: bool,
    /// Nanoseconds an entry; `None` if it has no step there.
    pub slow_ns: Option<Figure>,
    /// Nanoseconds an entry; `None` if it has no step there.
    pub fast_ns: Option<Figure>,
    /// Difference of the two.
    pub cost_ns: Figure,
    /// Share of the whole difference, as a fraction; `None` if the programs do not differ.
    pub share: Option<Figure>,
}

/// The factors that only read, together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadingFactor {
    /// Names of the factors that are not common to both programs.
    pub factors: Vec<String>,
    /// Nanoseconds an entry.
    pub cost_ns: Figure,
    /// Share of the whole difference.
    pub share: Option<Figure>,
    /// Verdict on the claim that reading (buffer and call) causes the difference.
    pub claim: Claim,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The interval of its share lies above one half.
    #[serde(rename = "stands")]
    Holds,
    /// The interval lies below one half.
    Falls,
    /// The interval includes one half, or there is none.
    #[serde(rename = "cannot-be-told")]
    Undecided,
}

/// Each step has a name and its cumulative arm.
/// `slow` and `fast` are in the order of their steps; the last arm of each is the whole program.
pub(crate) struct Programs<'a> {
    pub(crate) slow_name: &'a str,
    pub(crate) slow: &'a [(String, ArmId)],
    pub(crate) fast_name: &'a str,
    pub(crate) fast: &'a [(String, ArmId)],
}

/// Arms are cumulative: each one does the work of the arm before it and one step more, and the last arm of a
/// program is the whole program. So the time of a step is a difference of two arms in the same round, and all
/// steps of one program sum to its whole, in each round.
pub(crate) fn decompose(evidence: &Evidence<'_>, programs: &Programs<'_>) -> Result<Decomposition, String> {
    let arms: Vec<ArmId> = programs.slow.iter().chain(programs.fast).map(|(_, arm)| *arm).collect();
    let entries = common_entries(evidence, &arms)?;
    let times = evidence.rounds.paired(&arms);
    let (slow_times, fast_times) = times.split_at(programs.slow.len());
    let (Some(slow_whole), Some(fast_whole)) = (slow_times.last(), fast_times.last()) else {
        return Err("a program has no arms".into());
    };
    // Differences are taken in nanoseconds of a listing and divided by entries at the end.
    let judge = Judge {
        slow: steps(programs.slow, slow_times),
        fast: steps(programs.fast, fast_times),
        whole: difference(slow_whole, fast_whole),
        entries: entries as f64,
        confidence: evidence.confidence(),
    };
    // Any part may be `None`, and each for the same reason: no round has all arms.
    let read = || {
        Some(Decomposition {
            slow_name: programs.slow_name.into(),
            fast_name: programs.fast_name.into(),
            rounds: judge.whole.len(),
            entries,
            slow_ns: judge.cost(slow_whole)?,
            fast_ns: judge.cost(fast_whole)?,
            difference_ns: judge.cost(&judge.whole)?,
            ratio: Figure::ratio_of(slow_whole, fast_whole, evidence.confidence())?,
            factors: judge.names().into_iter().filter_map(|name| judge.factor(name)).collect(),
            reading: judge.reading(evidence),
        })
    };
    read().ok_or_else(|| "no round has all arms of both programs".into())
}

fn common_entries(evidence: &Evidence<'_>, arms: &[ArmId]) -> Result<u64, String> {
    // Unequal work, different data and an empty directory are three reasons why steps would not add up.
    // Each is a sentence without its full stop.
    let planned = |arm: &ArmId| evidence.plan.arm(*arm);
    if let Some(unequal) = arms.iter().filter(|arm| !evidence.is_equal(**arm)).find_map(planned) {
        return Err(format!("`{}` did not do the same work as the others", unequal.name));
    }
    let mut data = arms.iter().filter_map(planned).map(|planned| planned.data);
    let first = data.next();
    if data.any(|other| Some(other) != first) {
        return Err("the two programs work on different data".into());
    }
    // Work was found equal, so the first sample has the entries of all.
    let samples = arms.iter().flat_map(|arm| evidence.rounds.samples(*arm).take(1));
    let entries = samples.map(|sample| sample.counted.entries).next();
    entries.filter(|&entries| entries > 0).ok_or_else(|| "no entries were seen".into())
}

struct Step<'a> {
    name: &'a str,
    arm: ArmId,
    /// By round, without the steps before.
    times: Vec<f64>,
}

/// Times by step and round of both programs, nanoseconds of a whole listing; `entries` divides them for
/// display. `whole` is the difference of the programs in each round, to which the shares of the factors
/// refer.
struct Judge<'a> {
    slow: Vec<Step<'a>>,
    fast: Vec<Step<'a>>,
    whole: Vec<f64>,
    entries: f64,
    confidence: f64,
}

impl<'a> Judge<'a> {
    fn cost(&self, series: &[f64]) -> Option<Figure> {
        Some(Figure::median_of(series, self.confidence)?.scaled(1.0 / self.entries))
    }

    /// `None` if the whole difference may be zero.
    fn share(&self, series: &[f64]) -> Option<Figure> {
        // Without a difference there is nothing to share: a quotient by nearly zero would be any number.
        let whole = Figure::median_of(&self.whole, self.confidence)?;
        if whole.interval.is_some_and(|interval| interval.contains(0.0)) {
            return None;
        }
        let shares: Vec<f64> = series.iter().zip(&self.whole).map(|(part, whole)| part / whole).collect();
        Figure::median_of(&shares, self.confidence)
    }

    fn steps(&self) -> impl Iterator<Item = &Step<'a>> {
        self.slow.iter().chain(&self.fast)
    }

    fn names(&self) -> Vec<&'a str> {
        distinct(self.steps().map(|step| step.name))
    }

    fn factor(&self, name: &str) -> Option<Factor> {
        let named = |step: &Step<'_>| step.name == name;
        let (slow, fast) = (sum_where(&self.slow, named), sum_where(&self.fast, named));
        // A step that a program lacks costs nothing in it, so that all factors together give the whole
        // difference.
        let nothing = vec![0.0; self.whole.len()];
        let cost = difference(slow.as_ref().unwrap_or(&nothing), fast.as_ref().unwrap_or(&nothing));
        Some(Factor {
            name: name.into(),
            common: self.is_common(name),
            slow_ns: slow.and_then(|series| self.cost(&series)),
            fast_ns: fast.and_then(|series| self.cost(&series)),
            cost_ns: self.cost(&cost)?,
            share: self.share(&cost),
        })
    }

    /// Both chains begin with the same arm if the programs share their first step. Its times are then equal
    /// in each round and cancel, while a later step of the same name is another arm.
    fn is_common(&self, name: &str) -> bool {
        let [slow, fast] =
            [&self.slow, &self.fast].map(|steps| steps.first().map(|step| (step.name, step.arm)));
        let same_first = slow == fast && slow.is_some_and(|(first, _)| first == name);
        same_first && self.steps().filter(|step| step.name == name).count() == 2
    }

    /// Steps that only read, up to the last arm of each program without another stage.
    fn reading(&self, evidence: &Evidence<'_>) -> Option<ReadingFactor> {
        let reads = |step: &Step<'_>| match evidence.plan.arm(step.arm).map(|planned| &planned.work) {
            Some(Work::List { stages, .. }) => stages.iter().all(|stage| *stage == Stage::Read),
            _ => false,
        };
        let cost = difference(&sum_where(&self.slow, reads)?, &sum_where(&self.fast, reads)?);
        let share = self.share(&cost);
        let of_reading =
            |name: &&str| !self.is_common(name) && self.steps().filter(|step| step.name == *name).all(reads);
        let factors: Vec<String> = self.names().into_iter().filter(of_reading).map(String::from).collect();
        // A claim about the cause of a difference needs the difference to be there.
        let slower = self.cost(&self.whole)?.interval.is_some_and(|interval| interval.low > 0.0);
        Some(ReadingFactor {
            cost_ns: self.cost(&cost)?,
            share,
            claim: claim(share.filter(|_| slower)),
            factors: (!factors.is_empty()).then_some(factors)?,
        })
    }
}

/// An arm contains the steps before it, so a step is the difference to the arm before.
fn steps<'a>(program: &'a [(String, ArmId)], times: &[Vec<f64>]) -> Vec<Step<'a>> {
    let own = |place: usize| match place.checked_sub(1) {
        Some(before) => difference(&times[place], &times[before]),
        None => times[place].clone(),
    };
    let step =
        |(place, (name, arm)): (usize, &'a (String, ArmId))| Step { name, arm: *arm, times: own(place) };
    program.iter().enumerate().map(step).collect()
}

/// One half divides "the cause" from "not the cause"; an interval around it decides nothing.
fn claim(share: Option<Figure>) -> Claim {
    match share.and_then(|share| share.interval) {
        Some(interval) if interval.low > 0.5 => Claim::Holds,
        Some(interval) if interval.high < 0.5 => Claim::Falls,
        Some(_) | None => Claim::Undecided,
    }
}

/// By round. `None` if no step was chosen, which is not the same as a cost of zero.
fn sum_where(steps: &[Step<'_>], wanted: impl Fn(&Step<'_>) -> bool) -> Option<Vec<f64>> {
    let chosen = steps.iter().filter(|step| wanted(step)).map(|step| step.times.clone());
    chosen.reduce(|sum, series| sum.iter().zip(&series).map(|(a, b)| a + b).collect())
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
