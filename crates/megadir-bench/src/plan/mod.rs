//! From a study and a request to a plan: defaults, overrides, crossing of axes.
//!
//! Pure: the machine's capabilities are passed as [`BackendFact`]s and [`CacheFact`]s. Nothing below
//! [`plan()`] has a default.
//!
//! ```text
//!  Study, Request -> of_one: data sets, arms, groups by kind -> x aged -> x cache states -> rate -> checks -> Plan
//!                      |
//!                      +-- once for each file system, with its facts -> file_systems: joined into one plan
//!  later, with the data on disk: prune (impossible arms), without (file systems that could not be made)
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `file_systems.rs` | file systems and volumes as an axis; sizes of images |
//! | `caches.rs`, `aged.rs` | cache states and the age of directories as axes |
//! | `stopping.rs` | rounds, widths, epochs, rates |
//! | `estimate.rs` | time, space, inodes and memory of a plan |
//! | `prune.rs` | removal of arms, with consistent numbers |
//!
//! Identifiers of arms, data sets and file systems are indices, so every step that removes some renumbers
//! the rest and all references with them (`prune::renumber`).

mod aged;
mod caches;
mod estimate;
mod file_systems;
mod prune;
mod stopping;

use megadir_record::{Data, DataId, DataSource, Order, Plan, Rules, Sharing, When, Work};

use crate::dataset::{Files, FilesError, write_spread};
use crate::kind::arms::Arms;
use crate::kind::files::workers_max;
use crate::kind::{Kind, command, fill, layout, list, lookup, remove, small_files, stat_all, stat_some};
use crate::request::{backend_fact, check_numbers};
use crate::study::{SizeSpec, Study};
use stopping::{check_epochs, check_until, set_rate, stopping};

pub use estimate::{Estimate, estimate};
pub(crate) use estimate::{estimate_on, larger_than_memory};
pub(crate) use file_systems::without;
pub(crate) use prune::prune;

pub use crate::request::{
    AgedBy, BackendFact, CacheFact, FileSystemFact, FoundFileSystem, HalfWidth, PlanError, Planned, Request,
    Target,
};

/// Bound against slips of the keyboard; the numbers of the further files of aged directories begin beyond
/// it.
pub const ENTRIES_MAX: u64 = 100_000_000;
pub const ROUNDS_MAX: u32 = 100_000;
/// Resolves a study and a request into a complete plan.
///
/// If the request has backends, buffers or threads, one group `chosen` that crosses them replaces the study's
/// groups; the baseline supplies missing values. Errors: impossible values, an unavailable baseline.
pub fn plan(study: &Study, request: &Request<'_>) -> Result<Planned, PlanError> {
    check_values(request)?;
    let own = of_windows(study, request.facts);
    let study = own.as_ref().unwrap_or(study);
    match request.file_systems {
        [] => of_one(study, request),
        _ => file_systems::plan(study, request, of_one),
    }
}

/// The part for Windows applies if its baseline exists here. Backends decide and not the system that the
/// program was compiled for, so that plans for Windows can be tested anywhere.
fn of_windows(study: &Study, facts: &[BackendFact]) -> Option<Study> {
    let Kind::List(spec) = &study.kind else { return None };
    let baseline = &spec.windows.as_ref()?.baseline;
    let there = facts.iter().any(|fact| fact.name == baseline.backend);
    there.then(|| study.clone().on_windows())
}

/// The plan on one file system. Each kind of work adds its data sets, arms and groups to `arms`; the axes
/// that all kinds share (age, cache state, rate) cross them afterwards in `ordered`. Options that a kind
/// cannot follow are refused before any arm is added, never ignored. Kinds whose arms depend on files of
/// earlier arms set an order of their own.
fn of_one(study: &Study, request: &Request<'_>) -> Result<Planned, PlanError> {
    let size = study.sizes.of(request.preset);
    let made = &study.data;
    let sizes = || sizes(study, request, size);
    let one_size = || one_size(&sizes()?);
    let (mut arms, mut rounds) = (Arms::new(request.facts, Vec::new()), size.rounds);
    // With independent orders the signs of the A/A differences are independent, whatever the noise.
    let mut order = Order::SeededPermutation;
    match &study.kind {
        Kind::List(spec) => {
            arms.data = data_sets(study, request, size);
            let base = arms.listing_baseline(spec.baseline.clone())?;
            match is_chosen(request, Chosen::Readings) {
                true => list::chosen(request, &base, &mut arms)?,
                false => list::of_study(spec, &base, &mut arms)?,
            }
        }
        Kind::Lookup(spec) => {
            refuse_chosen(study, request, Chosen::Readings)?;
            arms.data = data_sets(study, request, size);
            lookup::lookups(spec, &mut arms);
        }
        Kind::StatAll(spec) => {
            refuse_chosen(study, request, Chosen::BackendsAndBuffers)?;
            arms.data = data_sets(study, request, size);
            stat_all::attributes(spec, request, &mut arms)?;
        }
        Kind::StatSome(spec) => {
            refuse_chosen(study, request, Chosen::Readings)?;
            arms.data = data_sets(study, request, size);
            stat_some::break_even(spec, request, &mut arms)?;
        }
        Kind::FillUntilFull(spec) => {
            let entries_about = one_size()?;
            arms.add_data(0, made.clone());
            fill::refusals(spec, entries_about, &mut arms);
        }
        Kind::Command(spec) => {
            refuse_chosen(study, request, Chosen::Readings)?;
            command::commands(spec, request, &data_sets(study, request, size), &mut arms)?;
        }
        Kind::Fill(spec) => order = fill::fills(spec, made, &sizes()?, &mut arms)?,
        Kind::Layout(spec) => order = layout::layouts(spec, made, one_size()?, &mut arms)?,
        Kind::Remove(spec) => {
            let states = caches::of_chains(request, size, (&[], &remove::useless), &mut arms)?;
            rounds = caches::rounds_of_chains(request, &states, size.rounds)?;
            order = remove::removals(spec, made, one_size()?, &states, &mut arms)?;
        }
        Kind::SmallFiles(spec) => {
            let states = caches::of_chains(request, size, (&spec.cold, &|_| None), &mut arms)?;
            rounds = caches::rounds_of_chains(request, &states, size.rounds)?;
            order = small_files::small_files(spec, made, one_size()?, &states, &mut arms)?;
        }
    }
    ordered(study, request, (size, rounds), arms, order)
}

/// Options that replace a study's own comparisons. A kind that cannot follow them refuses them by name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chosen {
    BackendsAndBuffers,
    Readings,
}

fn is_chosen(request: &Request<'_>, option: Chosen) -> bool {
    let reads = !(request.backends.is_empty() && request.buffers_bytes.is_empty());
    match option {
        Chosen::BackendsAndBuffers => reads,
        Chosen::Readings => reads || !request.threads.is_empty(),
    }
}

fn refuse_chosen(study: &Study, request: &Request<'_>, refused: Chosen) -> Result<(), PlanError> {
    if !is_chosen(request, refused) {
        return Ok(());
    }
    let name = &study.meta.name;
    let allowed = match &study.kind {
        Kind::StatAll(_) | Kind::StatSome(_) => format!("the methods of study `{name}` choose their own"),
        _ => format!("study `{name}` lists no directory, so it uses none"),
    };
    let option = match refused {
        Chosen::BackendsAndBuffers => "backends or buffers",
        Chosen::Readings => "backends, buffers or threads",
    };
    Err(PlanError::value(option, "chosen", allowed))
}

/// Ascending sizes; refuses options of listing and look-up studies.
fn sizes(study: &Study, request: &Request<'_>, size: &SizeSpec) -> Result<Vec<u64>, PlanError> {
    refuse_chosen(study, request, Chosen::Readings)?;
    match &request.target {
        Target::Existing { path, .. } => {
            let allowed = "files are created, changed and removed only in a private directory; give \
                --entries, or an empty directory";
            Err(PlanError::value("the directory", path, allowed))
        }
        Target::Made { entries } => Ok(sizes_of(entries, size)),
    }
}

/// The request's sizes replace all of the preset's, ascending and without repetition: equal sizes would be
/// equal arms.
fn sizes_of(requested: &[u64], size: &SizeSpec) -> Vec<u64> {
    let mut sizes = match requested {
        [] => size.smaller.iter().copied().chain([size.entries]).collect(),
        requested => requested.to_vec(),
    };
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn one_size(sizes: &[u64]) -> Result<u64, PlanError> {
    match sizes {
        [entries] => Ok(*entries),
        _ => Err(PlanError::value("the number of entries", "several", "expected one number")),
    }
}

/// Axes are crossed in a fixed order, since each multiplies what the ones before it made: age, then cache
/// states; the rate only marks arms. Chains include their cache states already. A plan without a comparison
/// is an error here, before anything is written.
fn ordered(
    study: &Study,
    request: &Request<'_>,
    (size, rounds): (&SizeSpec, u32),
    mut arms: Arms<'_>,
    order: Order,
) -> Result<Planned, PlanError> {
    if let Some(by) = request.aged {
        aged::cross(study, by, &mut arms)?;
    }
    let rounds = match &study.kind {
        Kind::SmallFiles(_) | Kind::Remove(_) => rounds,
        _ => {
            let states = caches::states(request, &size.cache)?;
            let rounds = caches::rounds(request, &states, rounds)?;
            caches::cross(&states, request.cache_facts, &mut arms);
            rounds
        }
    };
    let Arms { planned: mut planned_arms, data, groups, notes, .. } = arms;
    if let Some(rate_per_s) = request.rate_per_s {
        set_rate(study, rate_per_s, &mut planned_arms)?;
    }
    if groups.is_empty() {
        let reason = match notes.as_slice() {
            [] => "every option has one value; give one option two values".to_owned(),
            notes => notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; "),
        };
        return Err(PlanError::Nothing { reason });
    }
    let figures = study.meta.published.iter();
    let published = figures.map(|figure| prune::published(figure, &groups, &planned_arms)).collect();
    let plan = Plan {
        study: study.meta.name.clone(),
        question: study.meta.question.clone(),
        source: study.meta.source.clone(),
        reproduces: study.meta.reproduces.clone(),
        fixes: study.meta.fixes.clone(),
        claims: study.meta.claims.clone(),
        preset: request.preset,
        seed: request.seed,
        rules: rules(study, request, rounds, order),
        file_systems: Vec::new(),
        unavailable: Vec::new(),
        data,
        groups,
        arms: planned_arms,
        published,
    };
    check_data(&plan)?;
    check_epochs(&plan)?;
    if request.until.is_some() && !crate::schedule::compares(&plan) {
        let allowed = format!("study `{}` compares no arms here; give only --rounds", study.meta.name);
        return Err(PlanError::value("the target width", "given", allowed));
    }
    Ok(Planned { plan, notes })
}

/// Refuses combinations of work and data that no block could carry out: a listing of one directory over
/// files that are spread, or over files that do not exist before the arms create them.
fn check_data(plan: &Plan) -> Result<(), PlanError> {
    for data in &plan.data {
        let sets = trees(plan, data).map_err(|error| PlanError::Data { reason: error.to_string() })?;
        let Some(made) = data.source.made() else { continue };
        let flat = are_flat(&sets);
        for planned in plan.arms.iter().filter(|planned| planned.data == data.id) {
            let name = &planned.name;
            let refuse = |reason: String| Err(PlanError::Data { reason });
            match &planned.work {
                Work::Files(_) | Work::Remove(_) | Work::Command(_) => {}
                Work::FillUntilRefused { .. } if flat && made.when == When::BeforeRun => {}
                _ if !flat => {
                    let spread = write_spread(&made.spread);
                    return refuse(format!(
                        "arm '{name}' works in one directory, but they would be spread ({spread}); use --layout flat"
                    ));
                }
                _ if made.when == When::ByArms => {
                    return refuse(format!("arm '{name}' creates none, but the arms must create its data"));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// From the largest to the smallest.
fn data_sets(study: &Study, request: &Request<'_>, size: &SizeSpec) -> Vec<Data> {
    let (sizes, source) = match &request.target {
        Target::Existing { path, entries } => (vec![*entries], DataSource::Existing { path: path.clone() }),
        Target::Made { entries } => (sizes_of(entries, size), DataSource::Made(study.data.clone())),
    };
    let set = |(id, entries)| Data { id: DataId(id), entries, hash: None, on: None, source: source.clone() };
    (0..).zip(sizes.into_iter().rev()).map(set).collect()
}

/// `fresh_mounts` can only hold on file systems that the run mounts, so `file_systems` sets it later.
fn rules(study: &Study, request: &Request<'_>, rounds_of_study: u32, order: Order) -> Rules {
    let rules = &study.rules;
    let (rounds, stop) = stopping(request, rounds_of_study);
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
    check_numbers("the number of rounds", request.rounds, ROUNDS_MAX)?;
    check_until(request)?;
    if let Target::Made { entries } = &request.target {
        check_numbers("the number of entries", entries.iter().copied(), ENTRIES_MAX)?;
    }
    request.backends.iter().try_for_each(|name| backend_fact(request.facts, name).map(drop))
}

#[cfg(test)]
mod tests;

/// Trees of a data set, each with its subdirectory (`None`: the data set's own directory). Existing data have
/// none. If several workers share one tree, it has the data set's number of files for each of them.
pub(crate) fn trees(plan: &Plan, data: &Data) -> Result<Vec<(Option<String>, Files)>, FilesError> {
    let Some(made) = data.source.made() else { return Ok(Vec::new()) };
    let most = |sharing| workers_max(plan, data, sharing);
    match (most(Sharing::Own), most(Sharing::Same)) {
        (Some(_), Some(_)) => Err(FilesError::Contradiction(
            "workers with their own files and workers that share files cannot use the same data set".into(),
        )),
        (Some(own), None) => {
            let files = Files::new(made, plan.seed, data.entries)?;
            let of = |worker| (Some(Files::worker_directory(worker)), files.of_worker(worker));
            Ok((0..own).map(of).collect())
        }
        (None, shared) => {
            let entries = data.entries.saturating_mul(u64::from(shared.unwrap_or(1)));
            Ok(vec![(None, Files::new(made, plan.seed, entries)?)])
        }
    }
}

/// All files are in the top directory before the first block.
pub(crate) fn in_one_directory(plan: &Plan, data: &Data) -> bool {
    match data.source.made() {
        None => true,
        Some(made) => made.when == When::BeforeRun && trees(plan, data).is_ok_and(|trees| are_flat(&trees)),
    }
}

fn are_flat(trees: &[(Option<String>, Files)]) -> bool {
    trees.iter().all(|(below, files)| below.is_none() && files.is_flat())
}
