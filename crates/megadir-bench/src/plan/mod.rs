//! From a study and a request to a plan: defaults, overrides, crossing of axes. Pure.
//!
//! Nothing below [`plan()`] has a default, and nothing here looks at a file system, a clock or an
//! environment: what the machine can do comes in as [`BackendFact`]s and [`CacheFact`]s.

mod aged;
mod arms;
mod asks;
mod attributes;
mod caches;
mod estimate;
mod file_studies;
mod file_systems;
mod fills;
mod groups;
mod layouts;
mod lookups;
mod prune;
mod published;
mod rate;
mod refusals;
mod removals;
mod small_files;
mod stopping;
mod trees;

use megadir_record::{Data, DataId, DataSource, Order, Plan, Preset, Rules, When, Work};

pub(crate) use estimate::estimate_on;
pub use estimate::{Estimate, estimate};
pub(crate) use file_systems::without;
pub(crate) use prune::prune;
pub(crate) use trees::{in_one_directory, trees};

pub use crate::request::{
    AgedBy, BackendFact, CacheFact, FileSystemFact, FoundFileSystem, Ground, HalfWidth, PlanError, Planned,
    Request, Target,
};

use crate::dataset::write_spread;
use crate::study::{RefusalSpec, SizeSpec, Study};
use arms::Arms;
use stopping::{check_epochs, check_until, stopping};

/// The most entries that a data set may be asked to have.
pub const ENTRIES_MAX: u64 = 100_000_000;
/// The most rounds that may be asked for.
pub const ROUNDS_MAX: u32 = 100_000;
/// Resolves a study and a request into a plan with nothing left to decide.
///
/// With any of backends, buffers and threads given, the study's groups are replaced by one group
/// `chosen` that crosses the given values with the baseline's for the rest.
///
/// # Errors
///
/// [`PlanError`] for values that cannot be had and for a baseline that is not available.
pub fn plan(study: &Study, request: &Request<'_>) -> Result<Planned, PlanError> {
    check_values(request)?;
    let own = of_windows(study, request.facts);
    let study = own.as_ref().unwrap_or(study);
    match request.file_systems {
        [] => of_one(study, request),
        _ => file_systems::plan(study, request, of_one),
    }
}

/// Returns what a study does on Windows, if it says so and the backends are those of Windows.
fn of_windows(study: &Study, facts: &[BackendFact]) -> Option<Study> {
    let baseline = &study.windows.as_ref()?.baseline;
    let there = facts.iter().any(|fact| fact.name == baseline.backend);
    there.then(|| study.clone().on_windows())
}

/// Resolves a study on one file system.
fn of_one(study: &Study, request: &Request<'_>) -> Result<Planned, PlanError> {
    let size = size_of(study, request.preset);
    if let Some(refusal) = &study.refusal {
        return plan_refusals(study, request, size, refusal);
    }
    if study.fill.is_some() || study.layout.is_some() || study.smallfile.is_some() || study.remove.is_some() {
        return plan_files(study, request, size);
    }
    let mut arms = Arms::new(request.facts, data_sets(study, request, size));
    let chosen =
        !(request.backends.is_empty() && request.buffers_bytes.is_empty() && request.threads.is_empty());
    if let Some(spec) = &study.attributes {
        nothing_chosen(study, request, "backends or buffers", false)?;
        attributes::attributes(spec, request, &mut arms)?;
        return planned(study, request, size, arms);
    }
    if let Some(spec) = &study.ask {
        nothing_chosen(study, request, "backends, buffers or threads", true)?;
        asks::asks(spec, request, &mut arms)?;
        return planned(study, request, size, arms);
    }
    match (&study.baseline, &study.lookup) {
        (_, Some(_)) if chosen => {
            return Err(PlanError::Value {
                what: "backends, buffers or threads",
                value: "chosen".into(),
                allowed: format!("study `{}` lists nothing, so it has none", study.name),
            });
        }
        (_, Some(lookup)) => lookups::lookups(lookup, &mut arms),
        (Some(baseline), None) => {
            let base = arms.listing_baseline(baseline)?;
            match chosen {
                true => groups::chosen(request, &base, &mut arms)?,
                false => groups::of_study(study, &base, &mut arms)?,
            }
        }
        (None, None) => return Err(PlanError::Nothing { reason: "the study says nothing to do".into() }),
    }
    planned(study, request, size, arms)
}

/// Refuses what only studies of listings have.
fn nothing_chosen(
    study: &Study,
    request: &Request<'_>,
    what: &'static str,
    threads_too: bool,
) -> Result<(), PlanError> {
    let threads = threads_too && !request.threads.is_empty();
    if request.backends.is_empty() && request.buffers_bytes.is_empty() && !threads {
        return Ok(());
    }
    let allowed = format!("the methods of study `{}` have their own", study.name);
    Err(PlanError::Value { what, value: "chosen".into(), allowed })
}

/// Resolves a study that fills directories: it has one arm, which nothing of a listing is chosen for.
fn plan_refusals(
    study: &Study,
    request: &Request<'_>,
    size: &SizeSpec,
    spec: &RefusalSpec,
) -> Result<Planned, PlanError> {
    let refuse = |what, value: String, allowed| Err(PlanError::Value { what, value, allowed });
    if !(request.backends.is_empty() && request.buffers_bytes.is_empty() && request.threads.is_empty()) {
        let allowed = format!("study `{}` lists nothing, so it has none", study.name);
        return refuse("backends, buffers or threads", "chosen".into(), allowed);
    }
    let entries_about = match &request.target {
        Target::Existing { path, .. } => {
            let allowed =
                "files are made in directories of the run's own: name an empty one, or give --entries";
            return refuse("the directory", path.clone(), allowed.into());
        }
        Target::Made { entries } => match entries.as_slice() {
            [] => size.entries,
            [entries] => *entries,
            _ => return refuse("the number of entries", "several".into(), "one number is possible".into()),
        },
    };
    let source = DataSource::Made(study.data.clone());
    let empty = Data { id: DataId(0), entries: 0, hash: None, on: None, source };
    let mut arms = Arms::new(request.facts, vec![empty]);
    refusals::refusals(spec, entries_about, &mut arms);
    planned(study, request, size, arms)
}

/// Resolves a study of work on files.
fn plan_files(study: &Study, request: &Request<'_>, size: &SizeSpec) -> Result<Planned, PlanError> {
    let sizes = file_studies::sizes(study, request, size)?;
    let mut arms = Arms::new(request.facts, Vec::new());
    let one = || match sizes.as_slice() {
        [entries] => Ok(*entries),
        _ => Err(PlanError::Value {
            what: "the number of entries",
            value: "several".into(),
            allowed: "one number is possible".into(),
        }),
    };
    let order = match (&study.fill, &study.layout, &study.smallfile, &study.remove) {
        (Some(spec), ..) => fills::fills(spec, &study.data, &sizes, &mut arms)?,
        (_, Some(spec), ..) => layouts::layouts(spec, &study.data, one()?, &mut arms)?,
        (_, _, Some(spec), _) => {
            let (states, notes) = caches::of_chains(request, &size.cache, &spec.cold)?;
            arms.notes.extend(notes);
            let rounds = caches::rounds_of_chains(request, &states, size.rounds)?;
            let order = small_files::small_files(spec, &study.data, one()?, &states, &mut arms)?;
            return ordered(study, request, &SizeSpec { rounds, ..size.clone() }, arms, Some(order));
        }
        (.., Some(spec)) => removals::removals(spec, &study.data, one()?, &mut arms)?,
        (None, None, None, None) => {
            return Err(PlanError::Nothing { reason: "the study says nothing to do".into() });
        }
    };
    ordered(study, request, size, arms, Some(order))
}

/// Puts a plan together from arms that do not depend on each other.
fn planned(
    study: &Study,
    request: &Request<'_>,
    size: &SizeSpec,
    arms: Arms<'_>,
) -> Result<Planned, PlanError> {
    ordered(study, request, size, arms, None)
}

/// Puts a plan together from its arms, in all states of the cache; without an order, arms do not depend on each other.
fn ordered(
    study: &Study,
    request: &Request<'_>,
    size: &SizeSpec,
    mut arms: Arms<'_>,
    order: Option<Order>,
) -> Result<Planned, PlanError> {
    if let Some(by) = request.aged {
        aged::cross(study, by, &mut arms)?;
    }
    // Arms of small files have their states already.
    let states = match &study.smallfile {
        Some(_) => Vec::new(),
        None => caches::states(request, &size.cache)?,
    };
    let rounds = match &study.smallfile {
        Some(_) => size.rounds,
        None => caches::rounds(request, &states, size.rounds)?,
    };
    let size = &SizeSpec { rounds, ..size.clone() };
    caches::cross(&states, request.cache_facts, &mut arms);
    // Independent orders make the signs of an arm's differences from itself independent, whatever the noise does.
    let order = order.unwrap_or(Order::SeededPermutation);
    let Arms { mut cells, data, groups, notes, .. } = arms;
    if let Some(rate_per_s) = request.rate_per_s {
        rate::set(study, rate_per_s, &mut cells)?;
    }
    if groups.is_empty() {
        let reason = match notes.as_slice() {
            [] => "every option has one value; name two of one of them".to_owned(),
            notes => notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; "),
        };
        return Err(PlanError::Nothing { reason });
    }
    let published = published::published(&study.published, &groups, &cells);
    let plan = Plan {
        study: study.name.clone(),
        question: study.question.clone(),
        source: study.source.clone(),
        keeps: study.keeps.clone(),
        mends: study.mends.clone(),
        preset: request.preset,
        seed: request.seed,
        rules: rules(study, request, size, order),
        file_systems: Vec::new(),
        unavailable: Vec::new(),
        data,
        groups,
        cells,
        published,
    };
    check_data(&plan)?;
    check_epochs(&plan)?;
    if request.until.is_some() && !crate::next::compares(&plan) {
        return Err(PlanError::Value {
            what: "the width to stop at",
            value: "given".into(),
            allowed: format!("study `{}` compares no arms here, so give --rounds alone", study.name),
        });
    }
    Ok(Planned { plan, notes })
}

/// Refuses data sets that cannot be made anywhere, and arms that have no use for theirs.
fn check_data(plan: &Plan) -> Result<(), PlanError> {
    for data in &plan.data {
        let sets = trees(plan, data).map_err(|error| PlanError::Data { reason: error.to_string() })?;
        let Some(made) = data.source.made() else { continue };
        let flat = sets.iter().all(|(below, files)| below.is_none() && files.is_flat());
        for cell in plan.cells.iter().filter(|cell| cell.data == data.id) {
            let name = &cell.name;
            let refuse = |reason: String| Err(PlanError::Data { reason });
            match &cell.work {
                Work::Files(_) | Work::Remove(_) => {}
                Work::FillUntilRefused { .. } if flat && made.when == When::BeforeRun => {}
                _ if !flat => {
                    let spread = write_spread(&made.spread);
                    return refuse(format!(
                        "arm '{name}' works in one directory, and they would be spread ({spread}): --layout flat"
                    ));
                }
                _ if made.when == When::ByArms => {
                    return refuse(format!(
                        "arm '{name}' makes none, and its data are to be made by the arms"
                    ));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn size_of(study: &Study, preset: Preset) -> &SizeSpec {
    match preset {
        Preset::Quick => &study.size.quick,
        Preset::Default => &study.size.default,
        Preset::Published => &study.size.published,
    }
}

/// Returns the data sets that were asked for, the largest first: that is the one which comparisons use.
fn data_sets(study: &Study, request: &Request<'_>, size: &SizeSpec) -> Vec<Data> {
    match &request.target {
        Target::Existing { path, entries } => {
            vec![Data {
                id: DataId(0),
                entries: *entries,
                hash: None,
                on: None,
                source: DataSource::Existing { path: path.clone() },
            }]
        }
        Target::Made { entries } => {
            let own = || size.smaller.iter().copied().chain([size.entries]).collect();
            let mut sizes: Vec<u64> = if entries.is_empty() { own() } else { entries.clone() };
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            sizes.dedup();
            let source = DataSource::Made(study.data.clone());
            let made = |(index, entries)| Data {
                id: DataId(index),
                entries,
                hash: None,
                on: None,
                source: source.clone(),
            };
            (0..).zip(sizes).map(made).collect()
        }
    }
}

fn rules(study: &Study, request: &Request<'_>, size: &SizeSpec, order: Order) -> Rules {
    let rules = &study.rules;
    let (rounds, stop) = stopping(request, size);
    Rules {
        rounds,
        stop,
        epochs: request.epochs.unwrap_or(1),
        warm_up_rounds_min: rules.warm_up_rounds_min,
        warm_up_ns_max: rules.warm_up_s_max.saturating_mul(1_000_000_000),
        order,
        fresh_mounts: false,
        equivalence_band: rules.equivalence_band,
        confidence: rules.confidence,
        stolen_fraction_max: rules.stolen_fraction_max,
        redone_fraction_max: rules.redone_fraction_max,
    }
}

fn check_values(request: &Request<'_>) -> Result<(), PlanError> {
    let refuse = |what, value: String, allowed: String| Err(PlanError::Value { what, value, allowed });
    if let Some(rounds) = request.rounds.filter(|rounds| !(1..=ROUNDS_MAX).contains(rounds)) {
        return refuse("the number of rounds", rounds.to_string(), format!("1 to {ROUNDS_MAX} are possible"));
    }
    check_until(request)?;
    if let Target::Made { entries } = &request.target
        && let Some(entries) = entries.iter().find(|entries| !(1..=ENTRIES_MAX).contains(*entries))
    {
        return refuse(
            "the number of entries",
            entries.to_string(),
            format!("1 to {ENTRIES_MAX} are possible"),
        );
    }
    let low = request.facts.iter().map(|fact| fact.buffer_bytes.0).min().unwrap_or(0);
    let high = request.facts.iter().map(|fact| fact.buffer_bytes.1).max().unwrap_or(u64::MAX);
    if let Some(bytes) = request.buffers_bytes.iter().find(|bytes| !(low..=high).contains(*bytes)) {
        return refuse("the buffer", format!("{bytes} bytes"), format!("{low} to {high} bytes are possible"));
    }
    let threads_max = request.facts.iter().map(|fact| fact.threads_max).max().unwrap_or(1);
    if let Some(threads) = request.threads.iter().find(|threads| !(1..=threads_max).contains(*threads)) {
        return refuse(
            "the number of threads",
            threads.to_string(),
            format!("1 to {threads_max} are possible"),
        );
    }
    request.backends.iter().try_for_each(|name| fact(request.facts, name).map(drop))
}

/// Returns the facts of a backend, or an error that names the nearest.
fn fact<'a>(facts: &'a [BackendFact], name: &str) -> Result<&'a BackendFact, PlanError> {
    facts.iter().find(|fact| fact.name == name).ok_or_else(|| {
        let known: Vec<String> = facts.iter().map(|fact| fact.name.to_owned()).collect();
        PlanError::UnknownBackend { name: name.to_owned(), known }
    })
}

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod tests;
