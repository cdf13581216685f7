//! Removing trees: by a loop in one thread, by `rm -rf`, and by the library with several workers.

mod run;

use megadir_record::axes::directories;
use megadir_record::{
    Axes, CellId, FileOperation, FileOrder, Made, Operation, Order, Pair, RemoveWork, Remover, Role, Spread,
    When, Work, axes,
};
use serde::Deserialize;

use crate::kind::arms::Arms;
use crate::kind::files::{Place, WORKERS_MAX, by_name};
use crate::request::PlanError;

pub(crate) use run::Removal;

/// `[remove]` of a study: every remover on every shape, compared with a loop in one thread.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveSpec {
    /// Numbers of directories that share the files, ascending; 1 is one huge directory.
    pub directories: Vec<u64>,
    pub workers: Vec<u32>,
}

impl RemoveSpec {
    /// Returns the first contradiction of a well-formed specification.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let ascend = self.directories.is_sorted_by(|a, b| a < b) && self.workers.is_sorted_by(|a, b| a < b);
        let some = self.directories.first().is_some_and(|first| *first > 0) && !self.workers.is_empty();
        let text = "remove.directories and remove.workers need at least one value each, ascending from 1";
        (!(ascend && some)).then(|| text.into())
    }
}

/// Arm that removes.
struct One {
    by: Remover,
    workers: u32,
    directories: u64,
    arm: CellId,
}

pub(crate) fn removals(
    spec: &RemoveSpec,
    made: &Made,
    entries: u64,
    arms: &mut Arms<'_>,
) -> Result<Order, PlanError> {
    if let Some(count) = spec.workers.iter().find(|count| !(1..=WORKERS_MAX).contains(*count)) {
        let allowed = format!("expected 1 to {WORKERS_MAX}");
        return Err(PlanError::Value { what: "the number of workers", value: count.to_string(), allowed });
    }
    let mut all = Vec::new();
    for (place, &directories) in spec.directories.iter().enumerate() {
        let mut add = |by, workers, role| {
            let chain = arms.data.len() as u32;
            let arm = chain_of(made, entries, (directories, by, workers), role, chain, arms);
            all.push(One { by, workers, directories, arm });
        };
        let first = place == 0;
        add(Remover::PlainLoop, 1, if first { Role::Baseline } else { Role::Arm });
        if first {
            add(Remover::PlainLoop, 1, Role::AgainstItself);
        }
        add(Remover::Rm, 1, Role::Arm);
        for &workers in &spec.workers {
            add(Remover::Library, workers, Role::Arm);
        }
    }
    let against = |than: Remover| {
        let pair = |one: &One| {
            let to = all.iter().find(|to| to.by == than && to.directories == one.directories)?;
            let different = one.by != than && (than == Remover::PlainLoop || one.by == Remover::Library);
            different.then(|| Pair {
                what: name(one.by, one.workers),
                than: name(than, 1),
                at: directories(one.directories),
                wall_time: true,
                arm: one.arm,
                to: to.arm,
            })
        };
        all.iter().filter_map(pair).collect::<Vec<Pair>>()
    };
    let fewest = spec.workers.first().copied().unwrap_or(1);
    let more = |one: &One| {
        let like = |to: &&One| (to.by, to.workers, to.directories) == (one.by, fewest, one.directories);
        let more = one.by == Remover::Library && one.workers != fewest;
        all.iter().find(like).filter(|_| more).map(|to| Pair {
            what: workers(one.workers),
            than: workers(fewest),
            at: directories(one.directories),
            wall_time: true,
            arm: one.arm,
            to: to.arm,
        })
    };
    let more: Vec<Pair> = all.iter().filter_map(more).collect();
    let (against_loop, against_rm) = (against(Remover::PlainLoop), against(Remover::Rm));
    arms.pairs("workers", "Do more workers help?", more);
    arms.answers("workers");
    arms.pairs("loop", "Which method is faster than a loop in one thread?", against_loop);
    arms.pairs("rm", "Is the library faster than rm -rf?", against_rm);
    Ok(Order::Chains)
}

/// Adds a data set and the two arms that work on it; returns the removing arm.
fn chain_of(
    made: &Made,
    entries: u64,
    (directories, by, workers): (u64, Remover, u32),
    role: Role,
    chain: u32,
    arms: &mut Arms<'_>,
) -> CellId {
    let spread = Spread::PerDirectory { files: entries.div_ceil(directories) };
    let data = arms.add_data(entries, Made { spread, when: When::ByArms, ..made.clone() });
    let axes = Axes {
        method: Some(by.name().into()),
        workers: Some(workers).filter(|_| by == Remover::Library),
        directory_count: Some(directories),
        itself: role == Role::AgainstItself,
        ..Axes::of(Operation::Remove)
    };
    let writes = Axes { operation: Some(Operation::Write), ..axes.clone() };
    let create = by_name(FileOperation::Create, FileOrder::AsWritten, (0, entries));
    arms.files(writes, Role::Arm, Place { data, chain, step: 0 }, create);
    let work = Work::Remove(RemoveWork { by, workers, files: entries });
    arms.push_at(axes, role, data, work, (chain, 1))
}

fn name(by: Remover, count: u32) -> String {
    match by {
        Remover::PlainLoop | Remover::Rm => by.name().into(),
        Remover::Library => format!("{}, {}", by.name(), workers(count)),
    }
}

fn workers(count: u32) -> String {
    axes::workers(count, None)
}
