//! Cache states as an axis: every arm gets a twin in each possible state, and the twins are contrasted. Pure.
//!
//! The study's warm comparisons are repeated in each other state, with an A/A arm there. Arms that change
//! files have no twins, except commands, whose files are created again before each block.
//!
//! ```text
//!  arms of the study        twins                          group `cache`
//!  a  b  (baseline)   ->    a, vfs-cold   b, vfs-cold  ->  a, vfs-cold against a ...
//!                           a, fs-cold    b, fs-cold       a, fs-cold against a ...
//! ```
//!
//! Cold samples are dear, one for each drop, so states are requested and never added by default, and fewer
//! rounds suffice. Nothing compares a cold arm with another warm arm, because two things would differ.

use megadir_record::{
    Arm, ArmId, CacheState, Data, Group, GroupRule, Pair, Preset, ReadOperation, Role, Work,
};

use super::prune::renumber;
use super::{CacheFact, PlanError, Request};
use crate::kind::arms::Arms;
use crate::kind::traits;
use crate::note::NoteKind;
use crate::study::SizeSpec;

/// Smallest number of cold rounds that gives a useful interval.
const COLD_ROUNDS_MIN: u32 = 11;
/// Rounds if neither the request nor `--quick` decides.
const COLD_ROUNDS: u32 = 15;
/// All files are removed and created again before every block; with more files the run would do little
/// else.
const UNSEEN_ENTRIES_MAX: u64 = 10_000;

/// The request's states, else the study's, else warm; from warm to cold. Errors: [`PlanError::Value`] for a
/// state that the user has not allowed, or for a permission that no state needs.
pub(super) fn states(request: &Request<'_>, of_study: &[CacheState]) -> Result<Vec<CacheState>, PlanError> {
    let requested = [&request.caches[..], of_study, &[CacheState::Warm]];
    let requested = requested.into_iter().find(|states| !states.is_empty()).unwrap_or_default();
    let states: Vec<CacheState> =
        CacheState::ALL.into_iter().filter(|state| requested.contains(state)).collect();
    match (states.contains(&CacheState::VfsCold), request.drop_caches) {
        (true, false) => Err(PlanError::value(
            "the cache",
            "vfs-cold",
            "it drops the caches of the whole machine before every block; allow that with --drop-caches",
        )),
        (false, true) => {
            let allowed = "no cache state needs it; add --cache vfs-cold";
            Err(PlanError::value("--drop-caches", "given", allowed))
        }
        _ => Ok(states),
    }
}

/// States for chains, whose arms are no twins: the request's, else the study's, else warm and the available
/// states of `cold`. Notes requested states that are unavailable, or that `useless` gives a reason against.
pub(super) fn of_chains(
    request: &Request<'_>,
    size: &SizeSpec,
    (cold, useless): (&[CacheState], &dyn Fn(CacheState) -> Option<&'static str>),
    arms: &mut Arms<'_>,
) -> Result<Vec<CacheFact>, PlanError> {
    let by_default = request.caches.is_empty() && size.cache.is_empty();
    let fact = |state| request.cache_facts.iter().find(|fact| fact.state == state);
    let here = |state: &CacheState| fact(*state).is_some_and(|fact| fact.unavailable.is_none());
    let own: Vec<CacheState> =
        [CacheState::Warm].into_iter().chain(cold.iter().copied().filter(here)).collect();
    let states = states(request, if by_default { &own } else { &size.cache })?;
    let mut reasons = Vec::new();
    let available = |state: CacheState| {
        if state == CacheState::Warm {
            return Some(CacheFact { state, name: state.name().to_owned(), unavailable: None });
        }
        let own_files =
            (state == CacheState::Unseen).then_some("is unavailable: the arms create their files themselves");
        let reason = useless(state).or(own_files).map(str::to_owned);
        match reason.or_else(|| reason_against(fact(state))) {
            None => fact(state).cloned(),
            Some(reason) => {
                reasons.push(format!("the state {} {reason}", state.name()));
                None
            }
        }
    };
    let available: Vec<CacheFact> = states.into_iter().filter_map(available).collect();
    if available.is_empty() {
        return Err(PlanError::Nothing { reason: reasons.join("; ") });
    }
    reasons.into_iter().for_each(|reason| arms.note(NoteKind::ArmLeftOut, reason));
    Ok(available)
}

/// Chains measure warm and cold operations in the same rounds, so the study's number counts, and is only
/// raised to the minimum of a cold state.
pub(super) fn rounds_of_chains(
    request: &Request<'_>,
    states: &[CacheFact],
    of_size: u32,
) -> Result<u32, PlanError> {
    let states: Vec<CacheState> = states.iter().map(|fact| fact.state).collect();
    match states.iter().any(|state| state.is_cold()) {
        true if request.rounds.is_none() => Ok(of_size.max(COLD_ROUNDS_MIN)),
        _ => rounds(request, &states, of_size),
    }
}

fn reason_against(fact: Option<&CacheFact>) -> Option<String> {
    match fact {
        None => Some("is unknown here".to_owned()),
        Some(fact) => fact.unavailable.as_ref().map(|reason| format!("is unavailable here: {reason}")),
    }
}

pub(super) fn rounds(request: &Request<'_>, states: &[CacheState], of_size: u32) -> Result<u32, PlanError> {
    let cold = states.iter().any(|state| state.is_cold());
    match request.rounds {
        Some(rounds) if cold && rounds < COLD_ROUNDS_MIN => {
            let allowed =
                format!("a cold cache needs at least {COLD_ROUNDS_MIN}, because each drop gives one sample");
            Err(PlanError::value("the number of rounds", rounds, allowed))
        }
        Some(rounds) => Ok(rounds),
        None if cold && request.preset == Preset::Quick => Ok(COLD_ROUNDS_MIN),
        None if cold => Ok(COLD_ROUNDS),
        None => Ok(of_size),
    }
}

/// Replaces the arms by their twins in all states, the warm ones first. Every arm gets a new number, so
/// groups are rebuilt as well. Without a cold state the plan does not change.
pub(super) fn cross(states: &[CacheState], facts: &[CacheFact], arms: &mut Arms<'_>) {
    if states.iter().all(|state| !state.is_cold()) {
        return;
    }
    let planned_arms = std::mem::take(&mut arms.planned);
    let groups = std::mem::take(&mut arms.groups);
    let warm = states.contains(&CacheState::Warm);
    let mut cold: Vec<(CacheState, String, Vec<bool>)> = Vec::new();
    for state in states.iter().copied().filter(|state| state.is_cold()) {
        let Some(name) = available(state, &planned_arms, facts, arms) else { continue };
        let applies = planned_arms.iter().map(|planned| applies(state, planned, &arms.data));
        cold.push((state, name, applies.collect()));
    }
    // Work that changes files stays where no state applies to it: others may need its files.
    let has_twin = |planned: &Arm| cold.iter().any(|(.., applies)| applies[planned.id.0 as usize]);
    let kept = |planned: &Arm| warm || !planned.work.leaves_all() && !has_twin(planned);
    let mut twins = vec![twin(&planned_arms, &groups, kept, None, arms)];
    for (state, name, applies) in &cold {
        let wanted = |planned: &Arm| applies[planned.id.0 as usize];
        twins.push(twin(&planned_arms, &groups, wanted, Some((*state, name)), arms));
    }
    if twins.len() == 1 && !warm {
        // The remaining arms would answer another question.
        arms.groups.clear();
    }
    contrast(&planned_arms, &twins, arms);
}

/// Name of the state if at least one arm can be measured in it; otherwise the reason becomes a note. A state
/// that the machine has may still fit no arm: files that the arms change cannot be established again, and
/// contents that no arm reads make no difference.
fn available(
    state: CacheState,
    planned_arms: &[Arm],
    facts: &[CacheFact],
    arms: &mut Arms<'_>,
) -> Option<String> {
    let fact = facts.iter().find(|fact| fact.state == state);
    let reason = reason_against(fact).or_else(|| {
        let none = !planned_arms.iter().any(|planned| applies(state, planned, &arms.data));
        none.then(|| match state {
            CacheState::Unseen => format!(
                "is unavailable: it recreates all files before every block, which is limited to data sets \
                 created by the run, of at most {UNSEEN_ENTRIES_MAX} files, that no arm changes"
            ),
            CacheState::DataCold if planned_arms.iter().any(|planned| planned.work.reads_contents()) => {
                "is unavailable: the arms that read file contents change their files".into()
            }
            CacheState::DataCold => {
                "makes no difference: no arm reads file contents, so it would equal warm".into()
            }
            CacheState::Warm | CacheState::VfsCold | CacheState::FsCold => {
                "is unavailable: every arm changes its files".into()
            }
        })
    });
    if let Some(reason) = reason {
        arms.note(NoteKind::ArmLeftOut, format!("the state {} {reason}", state.name()));
        return None;
    }
    fact.map(|fact| fact.name.clone())
}

/// `true` if the state can be established before a block of this arm, and makes a difference to its work.
fn applies(state: CacheState, planned: &Arm, data: &[Data]) -> bool {
    let (work, data) = (&planned.work, &data[planned.data.0 as usize]);
    match state {
        CacheState::Warm => true,
        CacheState::Unseen => {
            let ours = data.source.made().is_some_and(|made| made.aged_files == 0);
            work.leaves_all() && ours && data.entries <= UNSEEN_ENTRIES_MAX
        }
        CacheState::DataCold => work.leaves_all() && work.reads_contents(),
        // The names of its files can be dropped between their creation and the work.
        CacheState::VfsCold | CacheState::FsCold => work.leaves_all() || matches!(work, Work::Command(_)),
    }
}

/// The copies of all arms in one state: `ids` has the copy's number at the index of the original arm,
/// `None` where there is no copy. `name` is `None` for the warm state.
struct Twin {
    name: Option<String>,
    ids: Vec<Option<ArmId>>,
}

/// Copies the wanted arms and the groups in which they are compared, with new numbers. `state` is `None` for
/// the A/A twin, which repeats the arm unchanged. A group is copied only if its rule still holds among the
/// twins, and the twins leave the groups that were not copied.
fn twin(
    planned_arms: &[Arm],
    groups: &[Group],
    wanted: impl Fn(&Arm) -> bool,
    state: Option<(CacheState, &str)>,
    arms: &mut Arms<'_>,
) -> Twin {
    let mut ids = vec![None; planned_arms.len()];
    let from = arms.planned.len();
    for planned in planned_arms.iter().filter(|planned| wanted(planned)) {
        let id = ArmId(arms.planned.len() as u32);
        ids[planned.id.0 as usize] = Some(id);
        let mut twin = Arm { id, ..planned.clone() };
        if let Some((state, name)) = state {
            let entries = arms.data[planned.data.0 as usize].entries;
            (twin.cache, twin.operations) = (state, traits(&planned.work, entries).cold_operations);
            once_cold(&mut twin);
            twin.axes.cache = Some(name.to_owned());
            twin.rename();
            twin.groups.iter_mut().for_each(|group| *group = group_name(group, name));
        }
        arms.planned.push(twin);
    }
    let name = state.map(|(_, name)| name.to_owned());
    let added: Vec<Group> = groups
        .iter()
        .filter_map(|group| group_of(group, &ids, name.as_deref(), &arms.planned[from..]))
        .collect();
    for planned in &mut arms.planned[from..] {
        planned.groups.retain(|name| added.iter().any(|group| group.name == *name));
    }
    arms.groups.extend(added);
    Twin { name, ids }
}

/// A drop gives one first read: those after it would find the index of the container cached.
fn once_cold(twin: &mut Arm) {
    if let Work::Command(work) = &mut twin.work
        && let Some(reading) =
            work.reading.as_mut().filter(|reading| reading.operation == ReadOperation::First)
        && twin.cache.is_cold()
    {
        reading.files = 1;
    }
}

/// Copy of a group among the twins. A group with only the control left compares nothing and is
/// dropped.
fn group_of(group: &Group, ids: &[Option<ArmId>], state: Option<&str>, twins: &[Arm]) -> Option<Group> {
    let mut rule = renumber(group.rule.clone(), ids)?;
    let Some(state) = state else {
        return twins
            .iter()
            .any(|planned| planned.groups.contains(&group.name))
            .then(|| Group { rule, ..group.clone() });
    };
    match &mut rule {
        GroupRule::Grow { series } => {
            series.iter_mut().for_each(|(name, _)| *name = format!("{name}, {state}"));
        }
        GroupRule::Pairs { pairs } => {
            pairs.iter_mut().for_each(|pair| pair.at = format!("{}, {state}", pair.at));
        }
        _ => {}
    }
    let name = group_name(&group.name, state);
    let arms =
        twins.iter().filter(|planned| planned.role == Role::Arm && planned.groups.contains(&name)).count();
    (arms > 0).then(|| Group::new(name, format!("{} ({state})", group.title), group.answers, rule))
}

fn group_name(group: &str, state: &str) -> String {
    format!("{group}-{state}")
}

/// Compares each twin with the first state that the same arm has, which is warm if it was requested. The
/// control has no pair: it repeats the baseline, whose pair exists.
fn contrast(planned_arms: &[Arm], twins: &[Twin], arms: &mut Arms<'_>) {
    let mut pairs = Vec::new();
    for (place, twin) in twins.iter().enumerate().skip(1) {
        for planned in planned_arms.iter().filter(|planned| planned.role != Role::Control) {
            let of = |twin: &Twin| twin.ids[planned.id.0 as usize];
            let first = twins[..place].iter().find_map(|first| Some((first, of(first)?)));
            let (Some(arm), Some((first, to))) = (of(twin), first) else { continue };
            let caches =
                |twin: &Twin| format!("a {} cache", twin.name.as_deref().unwrap_or(CacheState::Warm.name()));
            pairs.push(Pair::new(caches(twin), caches(first), &planned.name, (arm, to)));
        }
    }
    arms.pairs("cache", "How much does a cold cache cost?", pairs);
}

#[cfg(test)]
mod tests;
