//! Completes the plans of older records, which have names but no axes and no claims.
//!
//! An arm's axes come from its work and data set; its name decides which of them it mentions. A name that its
//! axes do not compose again becomes the arm's label.

use super::{AccessBy, Axes, Operation};
use crate::claims;
use crate::data::MakeDirectories;
use crate::files::{Access, FileOperation, FileWork, Remover, SyncPolicy, WorkerKind};
use crate::plan::{Arm, Group, GroupRule, Pair, Plan, Stage, Work};

const CONTROL_SUFFIX: &str = " (itself)";
const WALL_TIME: &str = ", wall time per file";

pub fn complete(plan: &mut Plan) {
    if plan.arms.iter().any(|planned| !planned.axes.is_empty()) {
        return;
    }
    plan.claims = plan.claims.take().or_else(|| claims::of_earlier(&plan.study));
    let axes: Vec<Axes> = plan.arms.iter().map(|planned| of_cell(plan, planned)).collect();
    for (planned, axes) in plan.arms.iter_mut().zip(axes) {
        planned.axes = axes;
    }
    let (planned_arms, names) = (&plan.arms, plan.file_systems.iter().map(|of| (&of.name, &of.label)));
    let names: Vec<_> = names.collect();
    for group in &mut plan.groups {
        group.of = of_group(group, &names);
        if let GroupRule::Pairs { pairs } = &mut group.rule {
            pairs.iter_mut().for_each(|pair| complete_pair(pair, planned_arms));
        }
    }
}

fn of_group(group: &Group, file_systems: &[(&String, &String)]) -> Option<String> {
    let suffixes = file_systems.iter().flat_map(|(name, label)| [label, name]);
    let mut own = suffixes.filter_map(|suffix| group.name.strip_suffix(suffix.as_str())?.strip_suffix('-'));
    own.next().map(str::to_owned)
}

/// Moves the file system and the kind of time from the conditions of a pair to fields.
fn complete_pair(pair: &mut Pair, planned_arms: &[Arm]) {
    let file_system = |arm: crate::ArmId| {
        planned_arms.get(arm.0 as usize).and_then(|planned| planned.axes.file_system.clone())
    };
    let (on, to) = (file_system(pair.arm), file_system(pair.to));
    if let Some(on) = on.filter(|on| to.as_ref() == Some(on)) {
        without_suffix(&mut pair.at, &on);
    }
    if let Some(at) = pair.at.strip_suffix(WALL_TIME) {
        (pair.at, pair.wall_time) = (at.to_owned(), true);
    }
}

fn without_suffix(text: &mut String, part: &str) -> bool {
    let rest = text.strip_suffix(part).and_then(|rest| rest.strip_suffix(", ")).map(str::to_owned);
    let found = rest.is_some();
    if let Some(rest) = rest {
        *text = rest;
    }
    found
}

fn of_cell(plan: &Plan, planned: &Arm) -> Axes {
    // Takes the parts of a name off from its end, in the reverse of the order in which [`Axes::name`] adds
    // them: file system, mark of a control, state that the arm prepares for, cold state, age. What is left
    // describes the work. The result is only used if it composes the same name again; otherwise the rest of
    // the name is kept unchanged, as a label.
    let mut name = planned.name.clone();
    let label = plan.file_system_of(planned.data).map(|of| of.label.clone());
    let file_system = label.filter(|label| without_suffix(&mut name, label));
    let is_control = name.contains(CONTROL_SUFFIX);
    name = name.replacen(CONTROL_SUFFIX, "", 1);
    let mut suffixes = Axes { file_system, is_control, ..Axes::default() };
    if let Some((rest, state)) = name.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (for ")) {
        (suffixes.for_cache, name) = (Some(state.to_owned()), rest.to_owned());
    }
    let state = name.rsplit_once(", ").map(|(_, state)| state.to_owned());
    if let Some(state) =
        state.filter(|state| planned.cache.is_cold() && state.ends_with(planned.cache.name()))
    {
        without_suffix(&mut name, &state);
        suffixes.cache = Some(state);
    }
    suffixes.aged = plan.data[planned.data.0 as usize].source.made().is_some_and(|made| made.aged_files > 0)
        && without_suffix(&mut name, "aged");
    let suffixed = |axes: Axes| Axes {
        aged: suffixes.aged,
        cache: suffixes.cache.clone(),
        for_cache: suffixes.for_cache.clone(),
        file_system: suffixes.file_system.clone(),
        is_control,
        ..axes
    };
    let axes = suffixed(of_work(plan, planned, &name));
    if axes.name() == planned.name {
        return axes;
    }
    suffixed(Axes { operation: axes.operation, label: Some(name), ..Axes::default() })
}

fn of_work(plan: &Plan, planned: &Arm, name: &str) -> Axes {
    // Values come from the work itself and never from the text; the name only decides whether an axis was
    // mentioned. The remaining kinds of work mention the same axes in old names as in new ones.
    let entries = Some(plan.data[planned.data.0 as usize].entries);
    match &planned.work {
        Work::List { backend, buffer_bytes, threads, stages, .. } => {
            let thread = super::workers(*threads, Some(WorkerKind::Thread));
            let has_threads = name.contains(&format!(", {thread}"));
            Axes {
                method: Some(backend.clone()),
                buffer_bytes: name
                    .starts_with(&format!("{backend} {}", super::bytes(*buffer_bytes)))
                    .then_some(*buffer_bytes),
                workers: has_threads.then_some(*threads),
                worker_kind: has_threads.then_some(WorkerKind::Thread),
                stage: stages.last().copied().filter(|stage| *stage != Stage::Read),
                entries: entries.filter(|_| name.contains(" of ")),
                ..Axes::of(Operation::List)
            }
        }
        Work::Files(work) => of_files(work, name, entries),
        Work::Remove(work) => {
            let library = work.by == Remover::Library;
            Axes {
                method: Some(work.by.name().into()),
                workers: library.then_some(work.workers),
                directory_count: number_before(name, " director"),
                ..Axes::of(Operation::Remove)
            }
        }
        _ => Axes::of_work(&planned.work, entries),
    }
}

fn number_before(text: &str, word: &str) -> Option<u64> {
    let before = &text[..text.find(word)?];
    let digits = before.rsplit(", ").next()?.replace(' ', "");
    digits.parse().ok()
}

fn of_files(work: &FileWork, name: &str, entries: Option<u64>) -> Axes {
    // Names of work on files had several forms, which are recognised one after the other: the writing before
    // a removal, creating among other files, filling by ranges, a count of workers, and else a layout with
    // the time at which its directories are made. The text after the first comma decides, because all parts
    // before it follow from the operation.
    if let Some(tree) = name.strip_prefix("write for ") {
        return of_tree(tree);
    }
    let order = match work.access {
        Access::Name { order } => Some(order),
        Access::Directory => None,
    };
    let operation = match work.operation {
        FileOperation::Create if name.starts_with("create") => Operation::Create,
        FileOperation::Stat if name.starts_with("walk") => Operation::Walk,
        FileOperation::Unlink if name.starts_with("remove") => Operation::Remove,
        operation => operation.into(),
    };
    let axes = Axes::of(operation);
    let spread = name.split_once(", ").map(|(_, layout)| layout);
    let workers = super::workers(work.workers.count, Some(work.workers.kind));
    if name.contains(" among ") {
        return Axes { files: Some(work.to - work.from), entries, ..axes };
    }
    if spread == Some(&format!("{} to {}", super::grouped(work.from), super::grouped(work.to))) {
        return Axes { filled: Some((work.from, work.to)), ..axes };
    }
    if spread.is_some_and(|rest| rest == workers) {
        let access = [AccessBy::Directory, AccessBy::Name].into_iter().find(|by| name.contains(by.words()));
        return Axes {
            access,
            sync: Some(work.sync).filter(|sync| *sync != SyncPolicy::Never),
            workers: Some(work.workers.count),
            worker_kind: Some(work.workers.kind),
            ..axes
        };
    }
    let spread = spread.unwrap_or_default();
    let when = [MakeDirectories::OnDemand, MakeDirectories::Before];
    let directories = when.into_iter().find(|when| spread.ends_with(super::directories_words(*when)));
    let mut layout = spread.to_owned();
    if let Some(directories) = directories {
        without_suffix(&mut layout, super::directories_words(directories));
    }
    Axes {
        order: order.filter(|order| name.contains(super::order_words(*order))),
        layout: Some(layout),
        directories,
        ..axes
    }
}

fn of_tree(tree: &str) -> Axes {
    let by = [Remover::PlainLoop, Remover::Rm, Remover::Library].map(Remover::name);
    let method = by.into_iter().find(|by| tree.starts_with(by));
    Axes {
        method: method.map(str::to_owned),
        workers: number_before(tree, " worker").and_then(|count| u32::try_from(count).ok()),
        directory_count: number_before(tree, " director"),
        ..Axes::of(Operation::Write)
    }
}
