//! Filling one directory: the cost of creating a file at every population.

use megadir_record::axes::grouped;
use megadir_record::{
    Axes, CellId, FileOperation, FileOrder, FileWork, Group, GroupRule, Made, Operation, Order, Pair, Role,
    SyncPolicy, When,
};
use serde::Deserialize;

use crate::kind::arms::Arms;
use crate::kind::files::{Place, by_name};
use crate::request::PlanError;

/// `[fill]` of a study. A size's `smaller` are further populations at which create and unlink are measured.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FillSpec {
    pub title: String,
    /// Number of equal parts of the curve, 2 to 100.
    pub buckets: u32,
    pub sync: SyncPolicy,
}

/// Files created and removed again at every population: 1 % of 20 000.
const EXCURSION: u64 = 200;

/// Adds the arms and groups; `sizes` are ascending populations, and the last is the size of the full directory.
pub(crate) fn fills(
    spec: &FillSpec,
    made: &Made,
    sizes: &[u64],
    arms: &mut Arms<'_>,
) -> Result<Order, PlanError> {
    let entries = *sizes.last().unwrap_or(&1);
    let buckets = u64::from(spec.buckets);
    if !(2..=100).contains(&buckets) || entries < buckets {
        let allowed = format!("expected 2 to 100, and at most the {entries} files");
        return Err(PlanError::Value { what: "the number of buckets", value: buckets.to_string(), allowed });
    }
    let create = |from, to| {
        let work = by_name(FileOperation::Create, FileOrder::AsWritten, (from, to));
        FileWork { sync: spec.sync, ..work }
    };
    let grown = Made { when: When::ByArms, ..made.clone() };
    let filled = arms.add_data(entries, grown.clone());
    let again = arms.add_data(entries, grown);
    let mut curve: Vec<CellId> = Vec::new();
    for bucket in 0..buckets {
        let (from, to) = (entries * bucket / buckets, entries * (bucket + 1) / buckets);
        let axes = Axes { filled: Some((from, to)), ..Axes::of(Operation::Create) };
        let role = if bucket == 0 { Role::Baseline } else { Role::Arm };
        let place = Place { data: filled, chain: 0, step: bucket as u32 };
        curve.push(arms.files(axes.clone(), role, place, create(from, to)));
        if bucket == 0 {
            let place = Place { data: again, chain: 1, step: 0 };
            arms.files(Axes { itself: true, ..axes }, Role::AgainstItself, place, create(from, to));
        }
    }
    for arm in &curve {
        arms.join(*arm, "fill");
    }
    let rule = GroupRule::Fill { arms: curve };
    arms.groups.push(Group::new("fill", &spec.title, true, rule));
    populations(made, sizes, &create, arms);
    Ok(Order::Chains)
}

/// Adds directories of every population, each with a few further files that are created and removed.
fn populations(made: &Made, sizes: &[u64], create: &dyn Fn(u64, u64) -> FileWork, arms: &mut Arms<'_>) {
    let mut rows: Vec<(u64, CellId, CellId)> = Vec::new();
    for (chain, &entries) in (2..).zip(sizes) {
        let data = arms.add_data(entries, Made { when: When::BeforeRun, ..made.clone() });
        let range = (entries, entries + EXCURSION);
        let axes = |operation| Axes { files: Some(EXCURSION), entries: Some(entries), ..Axes::of(operation) };
        let unlink = by_name(FileOperation::Unlink, FileOrder::AsWritten, range);
        let made = create(range.0, range.1);
        let at = |step| Place { data, chain, step };
        let created = arms.files(axes(Operation::Create), Role::Arm, at(0), made);
        let removed = arms.files(axes(Operation::Remove), Role::Arm, at(1), unlink);
        rows.push((entries, created, removed));
    }
    let Some((&(few, created, removed), larger)) = rows.split_first() else { return };
    let pair = |what: &str, entries, arm, to| Pair {
        what: format!("{what} among {}", grouped(entries)),
        than: format!("{what} among {}", grouped(few)),
        at: "files that come and go".into(),
        wall_time: false,
        arm,
        to,
    };
    let pairs = larger.iter().flat_map(|&(entries, create, remove)| {
        [pair("creating", entries, create, created), pair("removing", entries, remove, removed)]
    });
    let pairs = pairs.collect();
    arms.pairs("population", "Is creating or removing a file slower among many files?", pairs);
}
