//! Equal work: in every round, each arm must have seen the entries of its data set. The record has the expected entries, except
//! in older records. There, the majority of a round is trusted: a faulty reader loses entries alone, while a changed directory
//! changes for all arms. The planned number of entries decides a tie; if that fails too, no arm is trusted.
//!
//! ```text
//! expected entries and hash in the record -- yes --> compare each sample with them
//!         | no (older records)
//!         `--> vote of the arms in each round: majority -> planned number among equals -> no one is trusted
//! ```

use std::collections::BTreeMap;

use megadir_record::{Arm, Data, DataId, DataSource, Plan, Record, Sample};
use serde::{Deserialize, Serialize};

use super::Rounds;
use super::rounds::Key;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum WorkCheck {
    Equal,
    /// Other entries in some round: the arm's numbers are not compared.
    Unequal(Mismatch),
}

/// Difference of an arm's work from the other arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mismatch {
    /// Rounds in which it differs.
    pub rounds: usize,
    /// First round in which it differs, from 0.
    pub first_round: u32,
    /// Entries that the arm saw in that round.
    pub entries: u64,
    /// `None` if neither the record nor the other arms show them.
    pub entries_expected: Option<u64>,
    /// `true` if the record has the expected entries; otherwise most other arms saw them.
    pub recorded: bool,
}

/// A data set, and what the arms found in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DataCheck {
    /// Data set as planned.
    pub data: Data,
    /// Fewest entries that the arms agreed on in a round; `None` if no round counts.
    pub entries_min: Option<u64>,
    /// Most entries that the arms agreed on in a round.
    pub entries_max: Option<u64>,
    /// `true` if the entries were the same in all rounds and, in created data, as many as planned.
    pub steady: bool,
}

impl WorkCheck {
    pub fn is_equal(&self) -> bool {
        matches!(self, Self::Equal)
    }
}

/// Entries and the sum of the hashes of their names, which does not depend on the order of a listing.
type Seen = (u64, u64);

/// Checks of the arms, in the plan's order, and of the data sets.
///
/// Votes are taken for each round, because a data set may be created again for an epoch with other names.
/// The record has the hash of the first epoch in its plan, and the hashes of later epochs in lines of their
/// own.
pub(crate) fn check(record: &Record, rounds: &Rounds<'_>) -> (Vec<WorkCheck>, Vec<DataCheck>) {
    let plan = &record.header.plan;
    let mut agreed = BTreeMap::new();
    for key in rounds.keys() {
        for data in &plan.data {
            agreed.insert((data.id, key), vote(plan, rounds, data, key));
        }
    }
    let recorded = |id: DataId, epoch: u32| {
        // Hashes of an epoch are listed in the order of the plan's data sets.
        let place = plan.data.iter().position(|data| data.id == id)?;
        let data = &plan.data[place];
        let hash = match epoch {
            0 => data.hash,
            // The last line of an epoch counts, should a record have several.
            _ => *record.epochs.iter().rfind(|later| later.epoch == epoch)?.hashes.get(place)?,
        };
        Some((data.entries, hash?))
    };
    let check = |arm: &Arm| check_arm(arm, rounds, |epoch| recorded(arm.data, epoch), &agreed);
    let checks = plan.arms.iter().map(check).collect();
    let data = plan.data.iter().map(|data| check_data(data, &agreed)).collect();
    (checks, data)
}

/// `None` if the arms disagree or none was measured.
/// Key: data set, then epoch and round.
type Agreed = BTreeMap<(DataId, Key), Option<Seen>>;

fn seen(sample: &Sample) -> Seen {
    (sample.counted.entries, sample.counted.hash)
}

/// Only arms that list names vote. An arm that changes its files, or finds some of them, counts something
/// else.
fn vote(plan: &Plan, rounds: &Rounds<'_>, data: &Data, key: Key) -> Option<Seen> {
    let mut votes: BTreeMap<Seen, u32> = BTreeMap::new();
    for arm in plan.arms.iter().filter(|arm| arm.data == data.id && arm.work.counts_names()) {
        if let Some(sample) = rounds.sample(arm.id, key) {
            *votes.entry(seen(sample)).or_default() += 1;
        }
    }
    let most = *votes.values().max()?;
    let leading: Vec<Seen> = votes.into_iter().filter(|&(_, count)| count == most).map(|(s, _)| s).collect();
    let as_planned: Vec<Seen> = leading.iter().copied().filter(|s| s.0 == data.entries).collect();
    match (&leading[..], &as_planned[..]) {
        ([entries], _) | (_, [entries]) => Some(*entries),
        _ => None,
    }
}

fn check_arm(
    arm: &Arm,
    rounds: &Rounds<'_>,
    recorded: impl Fn(u32) -> Option<Seen>,
    agreed: &Agreed,
) -> WorkCheck {
    let voted = |sample: &Sample| agreed.get(&(arm.data, (sample.epoch, sample.round))).copied().flatten();
    // Work without names is expected by its plan alone: `Work::expected` ignores both numbers then, and
    // zeros are as good as any.
    let known = |epoch| recorded(epoch).or((!arm.work.counts_names()).then_some((0, 0)));
    // The result of a search cannot be known beforehand.
    if known(0).is_some_and(|(entries, hash)| arm.work.expected(entries, hash).is_none()) {
        return WorkCheck::Equal;
    }
    let recorded = |epoch| known(epoch).and_then(|(entries, hash)| arm.work.expected(entries, hash));
    let expected = |sample: &Sample| recorded(sample.epoch).or_else(|| voted(sample));
    let mut wrong = rounds.samples(arm.id).filter(|s| expected(s) != Some(seen(s)));
    // The first deviation describes the arm in a sentence; the others are counted.
    let Some(first) = wrong.next() else { return WorkCheck::Equal };
    WorkCheck::Unequal(Mismatch {
        rounds: 1 + wrong.count(),
        first_round: first.round,
        entries: first.counted.entries,
        entries_expected: expected(first).map(|(entries, _)| entries),
        recorded: recorded(first.epoch).is_some(),
    })
}

fn check_data(data: &Data, agreed: &Agreed) -> DataCheck {
    let of_data = agreed.iter().filter(|((id, _), _)| *id == data.id);
    let seen = of_data.filter_map(|((_, (epoch, _)), seen)| Some((*epoch, (*seen)?)));
    let seen: Vec<(u32, Seen)> = seen.collect();
    let entries = || seen.iter().map(|(_, (entries, _))| *entries);
    // Neighbours of one epoch must be equal. Between epochs the names change on purpose.
    let same = seen.windows(2).all(|pair| pair[0] == pair[1] || pair[0].0 != pair[1].0);
    // The planned number of an existing directory was counted before the run, and may be outdated.
    let as_planned = match data.source {
        DataSource::Made { .. } => entries().all(|entries| entries == data.entries),
        DataSource::Existing { .. } => true,
    };
    DataCheck {
        data: data.clone(),
        entries_min: entries().min(),
        entries_max: entries().max(),
        steady: same && as_planned,
    }
}
