//! Removes arms that turned out to be impossible once the data existed. Pure.
//!
//! A backend may refuse a directory, a program may fail, a cold state may not verify: such arms leave with
//! a note, and the rest is measured. The exception is the baseline. Without it no ratio exists, so the plan
//! fails, unless other file systems, tasks or states keep baselines of their own.
//!
//! ```text
//!  arms     0 1 2 3 4      removed: 2
//!  new_ids  0 1 - 2 3      groups are renumbered, or dropped if they need arm 2
//! ```

use std::collections::BTreeSet;

use megadir_record::{
    Arm, ArmId, BreakEvenArms, CacheState, Group, GroupRule, Pair, Plan, Published, Remover, Role, Work,
};

use crate::note::NoteKind;
use crate::plan::{PlanError, Planned};

/// Omits the arms of `removed`, each with its reason, and groups that need them. Errors:
/// [`PlanError::NoBaseline`] if the baseline is gone, [`PlanError::Nothing`] if no group is left.
pub(crate) fn prune(plan: Plan, removed: &[(ArmId, String)]) -> Result<Planned, PlanError> {
    if removed.is_empty() {
        return Ok(Planned { plan, notes: Vec::new() });
    }
    let removed = &with_baselines(&plan, removed);
    let reason_of = |id: ArmId| removed.iter().find(|(arm, _)| *arm == id).map(|(_, reason)| reason.clone());
    let several = plan.file_systems.len() > 1;
    let tasks = |planned: &Arm| match &planned.work {
        Work::Command(work) => Some(work.task.clone()),
        _ => None,
    };
    let others = plan.arms.iter().filter_map(tasks).collect::<BTreeSet<_>>().len() > 1;
    let mut notes = Vec::new();
    let mut new_ids = vec![None; plan.arms.len()];
    let mut planned_arms = Vec::new();
    for mut planned in plan.arms {
        match reason_of(planned.id) {
            Some(reason)
                if planned.role == Role::Baseline && !planned.cache.is_cold() && !several && !others =>
            {
                return Err(PlanError::NoBaseline { name: planned.name, reason });
            }
            Some(reason) => {
                let is_program = match &planned.work {
                    Work::Command(_) => true,
                    Work::Remove(work) => work.by == Remover::Rm,
                    _ => false,
                };
                let quote = if is_program { "`" } else { "" };
                let text = format!("{quote}{}{quote}: {reason}", planned.name);
                notes.push(NoteKind::ArmLeftOut.note(text));
            }
            None => {
                let id = ArmId(planned_arms.len() as u32);
                new_ids[planned.id.0 as usize] = Some(id);
                planned.id = id;
                planned_arms.push(planned);
            }
        }
    }
    let mut groups = Vec::new();
    for group in plan.groups {
        let members = |planned: &&Arm| planned.groups.contains(&group.name);
        let counts = |planned: &&Arm| planned.role == Role::Arm || matches!(planned.work, Work::Command(_));
        let arms = planned_arms.iter().filter(members).filter(counts).count();
        match renumber(group.rule.clone(), &new_ids) {
            Some(rule) if arms > 0 => groups.push(Group { rule, ..group }),
            _ => notes.push(
                NoteKind::GroupLeftOut
                    .note(format!("group `{}`: an arm that it needs is omitted", group.name)),
            ),
        }
    }
    for planned in &mut planned_arms {
        planned.groups.retain(|name| groups.iter().any(|group| group.name == *name));
    }
    if groups.is_empty() {
        let reason = notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ");
        return Err(PlanError::Nothing { reason });
    }
    Ok(Planned { plan: Plan { arms: planned_arms, groups, ..plan }, notes })
}

/// Extends `removed` by all arms on a file system whose baseline is gone, if there are several file systems.
fn with_baselines(plan: &Plan, removed: &[(ArmId, String)]) -> Vec<(ArmId, String)> {
    let mut all = removed.to_vec();
    let on = |planned: ArmId| plan.data[plan.arms[planned.0 as usize].data.0 as usize].on;
    let of_plan = |planned: ArmId| &plan.arms[planned.0 as usize];
    let baselines = removed.iter().filter(|(id, _)| {
        plan.file_systems.len() > 1 && of_plan(*id).role == Role::Baseline && !of_plan(*id).cache.is_cold()
    });
    for (baseline, reason) in baselines {
        let reason = format!("the baseline there is unavailable: {reason}");
        let others = plan.arms.iter().map(|planned| planned.id).filter(|id| on(*id) == on(*baseline));
        let others: Vec<ArmId> = others.filter(|id| all.iter().all(|(removed, _)| removed != id)).collect();
        all.extend(others.into_iter().map(|id| (id, reason.clone())));
    }
    all
}

/// `new_ids` has the new number at the index of the old one, and `None` for arms that left. A rule that needs
/// all of its arms is dropped with any of them; one that lists independent pairs or series keeps the others.
/// `None` means that nothing of the rule remains.
pub(super) fn renumber(rule: GroupRule, new_ids: &[Option<ArmId>]) -> Option<GroupRule> {
    let new = |id: ArmId| new_ids[id.0 as usize];
    let steps = |steps: Vec<(String, ArmId)>| -> Option<Vec<(String, ArmId)>> {
        steps.into_iter().map(|(factor, id)| Some((factor, new(id)?))).collect()
    };
    Some(match rule {
        GroupRule::Compare { baseline } => GroupRule::Compare { baseline: new(baseline)? },
        GroupRule::Decompose { slow_name, slow, fast_name, fast } => {
            GroupRule::Decompose { slow_name, slow: steps(slow)?, fast_name, fast: steps(fast)? }
        }
        GroupRule::Pairs { pairs } => {
            let pair = |pair: Pair| Some(Pair { arm: new(pair.arm)?, to: new(pair.to)?, ..pair });
            let pairs: Vec<Pair> = pairs.into_iter().filter_map(pair).collect();
            (!pairs.is_empty()).then_some(GroupRule::Pairs { pairs })?
        }
        GroupRule::Fill { arms } => {
            let arms: Vec<ArmId> = arms.into_iter().filter_map(new).collect();
            (arms.len() > 1).then_some(GroupRule::Fill { arms })?
        }
        GroupRule::Refusal { arm } => GroupRule::Refusal { arm: new(arm)? },
        GroupRule::Grow { series } => {
            let ids = |ids: Vec<ArmId>| ids.into_iter().map(new).collect::<Option<Vec<ArmId>>>();
            let series = series.into_iter().filter_map(|(name, of)| Some((name, ids(of)?)));
            let series: Vec<(String, Vec<ArmId>)> = series.collect();
            (!series.is_empty()).then_some(GroupRule::Grow { series })?
        }
        GroupRule::BreakEven { series } => {
            // A share without its arm is dropped; the listing arm is required.
            let of = |arms: BreakEvenArms| {
                let stat_some: Vec<ArmId> = arms.stat_some.into_iter().filter_map(new).collect();
                let list = new(arms.list)?;
                (!stat_some.is_empty()).then_some(BreakEvenArms { list, stat_some, ..arms })
            };
            let series: Vec<BreakEvenArms> = series.into_iter().filter_map(of).collect();
            (!series.is_empty()).then_some(GroupRule::BreakEven { series })?
        }
    })
}

/// Published figures of a first run name a group with this suffix, as in `attributes-first`.
const FIRST: &str = "-first";

const NONE: &str = "first runs are measured with --cache warm,unseen";

/// Assigns a published figure of a first run to the group of the coldest state in the plan. Without a cold
/// state the figure is shown next to warm times, with the remark that they are not alike.
pub(super) fn published(figure: &Published, groups: &[Group], planned_arms: &[Arm]) -> Published {
    let figure = figure.clone();
    let Some(second) = figure.group.as_deref().and_then(|group| group.strip_suffix(FIRST)) else {
        return figure;
    };
    let is_twin = |name: &str| name.strip_prefix(second).is_some_and(|rest| rest.starts_with('-'));
    let state = |group: &Group| {
        planned_arms.iter().find(|planned| planned.groups.contains(&group.name)).map(|planned| planned.cache)
    };
    let coldness =
        |group: &&Group| state(group).and_then(|state| CacheState::ALL.iter().position(|of| *of == state));
    let cold = |group: &&Group| is_twin(&group.name) && state(group).is_some_and(CacheState::is_cold);
    match groups.iter().filter(cold).max_by_key(coldness) {
        Some(first) => Published { group: Some(first.name.clone()), ..figure },
        None => Published { group: Some(second.to_owned()), ours: None, unlike: Some(NONE.into()), ..figure },
    }
}
