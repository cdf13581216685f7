//! Rows of an overview: which arms do the same work, the order of rows, and their names.
//!
//! Arms are matched by their name without the file system. An arm that was measured on only some file
//! systems leaves its other cells empty.

use megadir_record::{
    Access, Arm, ArmId, CacheState, FileOperation, FileWork, FsId, Operation, Plan, Role, SyncPolicy, Work,
    WorkerKind,
};
use megadir_stats::Beyond;

use crate::summary::Evidence;
use crate::summary::overview::{Overview, OverviewRow, common, mean_log_ratios};
use crate::text;

/// `first` gives the row its name and its place; `arms` has one entry per column.
pub(super) struct RowArms<'a> {
    pub(super) first: &'a Arm,
    pub(super) arms: Vec<Option<ArmId>>,
}

/// Preparing arms belong to no group, and controls repeat a row: both are left out.
pub(super) fn arms_by_row(plan: &Plan, columns: usize) -> Vec<RowArms<'_>> {
    let mut rows: Vec<(String, RowArms<'_>)> = Vec::new();
    let counts = |planned: &&Arm| planned.role != Role::Control && !planned.groups.is_empty();
    for planned in plan.arms.iter().filter(counts) {
        let Some(on) = plan.data_set(planned.data).and_then(|data| data.on) else { continue };
        if plan.file_system(on).is_none() {
            continue;
        }
        let name = planned.bare_name();
        let place = rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            rows.push((name, RowArms { first: planned, arms: vec![None; columns] }));
            rows.len() - 1
        });
        // Numbers of file systems in the plan are the columns.
        let FsId(column) = on;
        if let Some(arm) = rows[place].1.arms.get_mut(column as usize) {
            *arm = Some(planned.id);
        }
    }
    rows.sort_by_key(|(_, row)| order(row.first));
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Rows follow the life of a file, from creating to removing. Within an operation come cache state, access,
/// durability, and the number of workers. Other work keeps the order of the plan, since the sort is stable.
fn order(planned: &Arm) -> (u8, Option<usize>, bool, u8, u32) {
    let Work::Files(work) = &planned.work else { return (0, None, false, 0, 0) };
    let state = CacheState::ALL.iter().position(|state| *state == planned.cache);
    let operation = match work.operation {
        FileOperation::MakeDirectories => 0,
        FileOperation::Create => 1,
        FileOperation::Stat => 2,
        FileOperation::Read => 3,
        FileOperation::Rewrite => 4,
        FileOperation::Unlink => 5,
    };
    let sync = match work.sync {
        SyncPolicy::Never => 0,
        SyncPolicy::AtEnd => 1,
        SyncPolicy::EachFile => 2,
        SyncPolicy::FileAndDirectory => 3,
    };
    (operation, state, work.access != Access::Directory, sync, work.workers.count)
}

/// Section, name, and `true` if the work counts over all kinds: work by name repeats work by listing.
pub(super) fn named(planned: &Arm) -> (String, String, bool) {
    let Work::Files(work) = &planned.work else { return (String::new(), planned.bare_name(), true) };
    // Only arms with workers and an operation of a file's life as axes have sections; the names of others
    // are complete.
    let is_of_life =
        planned.axes.workers.is_some() && planned.axes.operation.is_some_and(Operation::is_of_life);
    if !is_of_life {
        return (String::new(), planned.bare_name(), true);
    }
    let state = planned.axes.cache.clone();
    let by_name = (work.access != Access::Directory).then(|| "by name".into());
    let parts = [Some(workers(work, planned.axes.worker_kind)), sync(work), by_name];
    let label = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    // Times from a device would hide times from memory.
    let section = [work.operation.word().to_owned()].into_iter().chain(state).collect::<Vec<_>>().join(", ");
    (section, label, work.access == Access::Directory)
}

/// `kind`: of the arm's name; threads of ranks have none.
fn workers(work: &FileWork, kind: Option<WorkerKind>) -> String {
    let kind = match (work.workers.kind, work.workers.count) {
        (WorkerKind::Rank, _) if kind.is_none() => "worker",
        (WorkerKind::Thread, _) => "thread",
        (WorkerKind::Rank, _) => "rank",
        (WorkerKind::Process, 1) => "process",
        (WorkerKind::Process, count) => return format!("{} processes", text::count(u64::from(count))),
    };
    text::counted(u64::from(work.workers.count), kind)
}

/// Names of the system calls, which a reader finds in manuals; no word for the usual case.
fn sync(work: &FileWork) -> Option<String> {
    let name = match work.sync {
        SyncPolicy::Never => return None,
        SyncPolicy::AtEnd => "syncfs",
        SyncPolicy::EachFile => "fsync",
        SyncPolicy::FileAndDirectory => "fsync of both",
    };
    Some(name.into())
}

/// Comparison of two columns in a row, or over all rows if `row` is `None`.
struct Pair {
    row: Option<usize>,
    of: usize,
    than: usize,
}

/// All comparisons of the overview are one family, with those over all rows first, and one adjustment covers
/// them. Otherwise a table of many cells would always have a few stars by chance. A row's mark needs a proof
/// against each other comparable column, so it is set after all pairs are judged.
pub(super) fn set(evidence: &Evidence<'_>, overview: &mut Overview) {
    let mut pairs = Vec::new();
    let mut family = Vec::new();
    // The order of `pairs` and of `family` is the same; results are joined by position.
    for overall in &overview.overall {
        pairs.push(Pair { row: None, of: overall.of, than: overall.than });
        family.push(mean_log_ratios(evidence, &common(evidence, &overview.rows, overall.of, overall.than)));
    }
    let candidates: Vec<Vec<(usize, ArmId)>> =
        overview.rows.iter().map(|row| candidates(evidence, overview, row)).collect();
    for (row, arms) in candidates.iter().enumerate() {
        for (place, (of, arm)) in arms.iter().enumerate() {
            for (than, to) in &arms[..place] {
                pairs.push(Pair { row: Some(row), of: *of, than: *than });
                family.push(evidence.rounds.log_ratios(*arm, *to));
            }
        }
    }
    let shown = megadir_stats::beyond_band(&family, evidence.judging());
    // For each row the pairs of (faster, slower) columns that are shown to differ beyond the band.
    let mut shown_in: Vec<Vec<(usize, usize)>> = vec![Vec::new(); overview.rows.len()];
    for (pair, side) in pairs.iter().zip(shown) {
        let Some(side) = side else { continue };
        let (faster, slower) = match side {
            Beyond::Faster => (pair.of, pair.than),
            Beyond::Slower => (pair.than, pair.of),
        };
        match pair.row {
            Some(row) => shown_in[row].push((faster, slower)),
            None => {
                let over_all = overview.overall.iter_mut();
                over_all
                    .filter(|overall| (overall.of, overall.than) == (pair.of, pair.than))
                    .for_each(|overall| overall.faster = Some(faster));
            }
        }
    }
    // A row's mark depends on all its pairs, so it is set when all are sorted into rows.
    for ((row, shown), arms) in overview.rows.iter_mut().zip(shown_in).zip(candidates) {
        mark(row, &shown, &arms);
    }
}

/// Cells on like storage, with equal work. A cell without a candidate never gets a mark.
fn candidates(evidence: &Evidence<'_>, overview: &Overview, row: &OverviewRow) -> Vec<(usize, ArmId)> {
    let arm = |column: usize| Some((column, row.cells.get(column)?.as_ref()?.arm));
    overview.comparable().filter_map(arm).filter(|(_, arm)| evidence.is_equal(*arm)).collect()
}

fn mark(row: &mut OverviewRow, shown: &[(usize, usize)], arms: &[(usize, ArmId)]) {
    // Fastest: shown against each other candidate. Best: shown to be beaten by none, which several cells
    // may be.
    let others = arms.len().saturating_sub(1);
    let beats = |column: usize| shown.iter().filter(|(faster, _)| *faster == column).count();
    row.fastest =
        arms.iter().map(|(column, _)| *column).find(|column| others > 0 && beats(*column) == others);
    for (column, _) in arms {
        let beaten = shown.iter().any(|(_, slower)| slower == column);
        if let Some(planned) = row.cells[*column].as_mut() {
            planned.best = !beaten;
        }
    }
}
