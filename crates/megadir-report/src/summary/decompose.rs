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
    Stands,
    /// The interval lies below one half.
    Falls,
    /// The interval includes one half, or there is none.
    CannotBeTold,
}

pub(crate) struct Programs<'a> {
    pub(crate) slow_name: &'a str,
    pub(crate) slow: &'a [(String, ArmId)],
    pub(crate) fast_name: &'a str,
    pub(crate) fast: &'a [(String, ArmId)],
}

pub(crate) fn decompose(evidence: &Evidence<'_>, programs: &Programs<'_>) -> Result<Decomposition, String> {
    let arms: Vec<ArmId> = programs.slow.iter().chain(programs.fast).map(|(_, arm)| *arm).collect();
    let entries = common_entries(evidence, &arms)?;
    let times = evidence.rounds.paired(&arms);
    let (slow, fast) = times.split_at(programs.slow.len());
    let (Some(slow_whole), Some(fast_whole)) = (slow.last(), fast.last()) else {
        return Err("a program has no arms".into());
    };
    let not_measured = || "no round has all arms of both programs".to_owned();
    let whole = difference(slow_whole, fast_whole);
    let judge = Judge { whole: &whole, entries: entries as f64, confidence: evidence.confidence() };
    let difference_ns = judge.cost(&whole).ok_or_else(not_measured)?;
    let steps = Steps { slow: steps(programs.slow, slow), fast: steps(programs.fast, fast) };
    Ok(Decomposition {
        slow_name: programs.slow_name.into(),
        fast_name: programs.fast_name.into(),
        rounds: whole.len(),
        entries,
        slow_ns: judge.cost(slow_whole).ok_or_else(not_measured)?,
        fast_ns: judge.cost(fast_whole).ok_or_else(not_measured)?,
        difference_ns,
        ratio: Figure::ratio_of(slow_whole, fast_whole, evidence.confidence()).ok_or_else(not_measured)?,
        factors: names(programs).iter().filter_map(|name| factor(&judge, &steps, programs, name)).collect(),
        reading: reading(evidence, &judge, &steps, programs),
    })
}

fn common_entries(evidence: &Evidence<'_>, arms: &[ArmId]) -> Result<u64, String> {
    let planned = |arm: &ArmId| evidence.plan.arm(*arm);
    if let Some(unequal) = arms.iter().filter(|arm| !evidence.is_equal(**arm)).find_map(planned) {
        return Err(format!("`{}` did not do the same work as the others", unequal.name));
    }
    let mut data = arms.iter().filter_map(planned).map(|planned| planned.data);
    let first = data.next();
    if data.any(|other| Some(other) != first) {
        return Err("the two programs work on different data".into());
    }
    let samples = arms.iter().flat_map(|arm| evidence.rounds.samples(*arm).take(1));
    let entries = samples.map(|sample| sample.counted.entries).next();
    entries.filter(|&entries| entries > 0).ok_or_else(|| "no entries were seen".into())
}

struct Judge<'a> {
    whole: &'a [f64],
    entries: f64,
    confidence: f64,
}

impl Judge<'_> {
    fn cost(&self, series: &[f64]) -> Option<Figure> {
        Some(Figure::median_of(series, self.confidence)?.scaled(1.0 / self.entries))
    }

    /// `None` if the whole difference may be zero.
    fn share(&self, series: &[f64]) -> Option<Figure> {
        let whole = Figure::median_of(self.whole, self.confidence)?;
        if whole.interval.is_some_and(|interval| interval.contains(0.0)) {
            return None;
        }
        let shares: Vec<f64> = series.iter().zip(self.whole).map(|(part, whole)| part / whole).collect();
        Figure::median_of(&shares, self.confidence)
    }
}

struct Steps {
    slow: Vec<Vec<f64>>,
    fast: Vec<Vec<f64>>,
}

fn steps(program: &[(String, ArmId)], times: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let step = |place: usize| match place.checked_sub(1) {
        Some(before) => difference(&times[place], &times[before]),
        None => times[place].clone(),
    };
    (0..program.len()).map(step).collect()
}

fn names<'a>(programs: &Programs<'a>) -> Vec<&'a str> {
    distinct(programs.slow.iter().chain(programs.fast).map(|(name, _)| name.as_str()))
}

fn factor(judge: &Judge<'_>, steps: &Steps, programs: &Programs<'_>, name: &str) -> Option<Factor> {
    let named = |step: &(String, ArmId)| step.0 == name;
    let slow = sum_where(&steps.slow, programs.slow, named);
    let fast = sum_where(&steps.fast, programs.fast, named);
    let nothing = vec![0.0; judge.whole.len()];
    let cost = difference(slow.as_ref().unwrap_or(&nothing), fast.as_ref().unwrap_or(&nothing));
    Some(Factor {
        name: name.into(),
        common: is_common(programs, name),
        slow_ns: slow.and_then(|series| judge.cost(&series)),
        fast_ns: fast.and_then(|series| judge.cost(&series)),
        cost_ns: judge.cost(&cost)?,
        share: judge.share(&cost),
    })
}

fn is_common(programs: &Programs<'_>, name: &str) -> bool {
    let named = |step: &&(String, ArmId)| step.0 == name;
    let same_first = programs.slow.first().filter(named) == programs.fast.first().filter(named);
    let steps = programs.slow.iter().chain(programs.fast).filter(named).count();
    same_first && programs.slow.first().is_some_and(|step| step.0 == name) && steps == 2
}

/// Steps that only read, up to the last arm of each program without another stage.
fn reading(
    evidence: &Evidence<'_>,
    judge: &Judge<'_>,
    steps: &Steps,
    programs: &Programs<'_>,
) -> Option<ReadingFactor> {
    let reads = |step: &(String, ArmId)| match evidence.plan.arm(step.1).map(|planned| &planned.work) {
        Some(Work::List { stages, .. }) => stages.iter().all(|stage| *stage == Stage::Read),
        _ => false,
    };
    let slow = sum_where(&steps.slow, programs.slow, reads)?;
    let fast = sum_where(&steps.fast, programs.fast, reads)?;
    let cost = difference(&slow, &fast);
    let share = judge.share(&cost);
    let of_reading = |name: &&str| {
        let mut steps = programs.slow.iter().chain(programs.fast).filter(|step| step.0 == *name);
        !is_common(programs, name) && steps.all(reads)
    };
    let factors: Vec<String> = names(programs).into_iter().filter(of_reading).map(String::from).collect();
    let whole = judge.cost(judge.whole)?;
    let slower = whole.interval.is_some_and(|interval| interval.low > 0.0);
    Some(ReadingFactor {
        cost_ns: judge.cost(&cost)?,
        share,
        claim: claim(share.filter(|_| slower)),
        factors: (!factors.is_empty()).then_some(factors)?,
    })
}

fn claim(share: Option<Figure>) -> Claim {
    match share.and_then(|share| share.interval) {
        Some(interval) if interval.low > 0.5 => Claim::Stands,
        Some(interval) if interval.high < 0.5 => Claim::Falls,
        Some(_) | None => Claim::CannotBeTold,
    }
}

fn sum_where(
    series: &[Vec<f64>],
    program: &[(String, ArmId)],
    wanted: impl Fn(&(String, ArmId)) -> bool,
) -> Option<Vec<f64>> {
    let chosen =
        series.iter().zip(program).filter(|(_, step)| wanted(step)).map(|(series, _)| series.clone());
    chosen.reduce(|sum, series| sum.iter().zip(&series).map(|(a, b)| a + b).collect())
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
