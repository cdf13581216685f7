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
mod rate;
mod refusals;
mod removals;
mod small_files;
mod stopping;
mod trees;

use megadir::nearest::choices;
use megadir_record::{CacheState, Data, DataId, DataSource, Note, Order, Plan, Preset, Rules, When, Work};

pub use aged::AgedBy;
pub use estimate::{Estimate, estimate, estimate_on};
#[cfg(target_os = "linux")]
pub(crate) use file_systems::without;
pub use file_systems::{FileSystemFact, FoundFileSystem, Ground};
pub use prune::prune;
#[cfg(target_os = "linux")]
pub(crate) use trees::in_one_directory;
pub(crate) use trees::trees;

/// How narrow intervals are to be for a run to stop; absolute widths are in nanoseconds.
pub use megadir_stats::HalfWidth;

use crate::dataset::write_spread;
use crate::method::MethodFact;
use crate::study::{RefusalSpec, SizeSpec, Study};
use arms::Arms;
use stopping::{check_epochs, check_until, stopping};

/// The most entries that a data set may be asked to have.
pub const ENTRIES_MAX: u64 = 100_000_000;
/// The most rounds that may be asked for.
pub const ROUNDS_MAX: u32 = 100_000;
/// Up to this many arms are ordered by balanced Latin squares.
const LATIN_ARMS_MAX: usize = 6;

/// What the user asks of a study; empty lists and `None` leave the study's own values.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The size.
    pub preset: Preset,
    /// The seed of all random choices.
    pub seed: u64,
    /// Measured rounds; the most of them where the run stops at a width.
    pub rounds: Option<u32>,
    /// The half-width at which the run stops, of ratios or of differences in nanoseconds; `None` measures all rounds.
    pub until: Option<HalfWidth>,
    /// How often the data sets are made anew; `None` makes them once.
    pub epochs: Option<u32>,
    /// What the arms work on.
    pub target: Target,
    /// Backends to compare; the study's comparisons are replaced by one of these.
    pub backends: Vec<String>,
    /// Buffers to compare, bytes; as with `backends`.
    pub buffers_bytes: Vec<u64>,
    /// Numbers of threads to compare; as with `backends`.
    pub threads: Vec<u32>,
    /// How many files directories have held more, for twins of the arms on such; `None` leaves them out.
    pub aged: Option<AgedBy>,
    /// Operations that are to start a second, for studies of single operations; one after the other without.
    pub rate_per_s: Option<u64>,
    /// What the machine and the file system can do.
    pub facts: &'a [BackendFact],
    /// The ways of finding out attributes, and what they can do there.
    pub methods: &'a [MethodFact],
    /// The states of the cache to measure in; the study's own when empty, and warm when that names none.
    pub caches: Vec<CacheState>,
    /// Whether the caches of the whole machine may be dropped.
    pub drop_caches: bool,
    /// Which states can be had.
    pub cache_facts: &'a [CacheFact],
    /// The file systems to measure on, made and mounted for the run, with what can be done on each, in the place of what is above;
    /// none works in the directory that was named.
    pub file_systems: &'a [FileSystemFact],
    /// Bytes free where their images will lie.
    pub images_room_bytes: u64,
}

#[cfg(test)]
impl Request<'_> {
    /// Returns a request that leaves all to the study, on a system that can do nothing.
    pub(crate) fn bare(preset: Preset, seed: u64) -> Self {
        Self {
            preset,
            seed,
            rounds: None,
            until: None,
            epochs: None,
            target: Target::Made { entries: Vec::new() },
            backends: Vec::new(),
            buffers_bytes: Vec::new(),
            threads: Vec::new(),
            aged: None,
            rate_per_s: None,
            facts: &[],
            methods: &[],
            caches: Vec::new(),
            drop_caches: false,
            cache_facts: &[],
            file_systems: &[],
            images_room_bytes: u64::MAX,
        }
    }
}

/// What the arms work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Data sets made for the run, of these sizes; of the preset's when empty.
    Made {
        /// Entries of each data set.
        entries: Vec<u64>,
    },
    /// The user's own directory, only ever read.
    Existing {
        /// Its path, for the record.
        path: String,
        /// Its entries as just counted.
        entries: u64,
    },
}

/// What one backend can do here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendFact {
    /// Its name.
    pub name: &'static str,
    /// Why it cannot be used here; `None` when it can.
    pub unavailable: Option<String>,
    /// The most threads it takes; 1 for those that read in the caller's thread.
    pub threads_max: u32,
    /// Shares that it splits a directory into for each thread, as the library would; `None` for those that do not split.
    pub shares_per_thread: Option<u32>,
    /// The only buffer it can have, bytes, where the caller cannot choose.
    pub buffer_fixed: Option<u64>,
    /// The smallest and the largest buffer it takes, bytes.
    pub buffer_bytes: (u64, u64),
}

/// One state of the cache, as it is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFact {
    /// The state.
    pub state: CacheState,
    /// How reports call it: within a virtual machine the host's cache stays warm, and the name says so.
    pub name: String,
    /// Why it cannot be had here; `None` when it can.
    pub unavailable: Option<String>,
}

/// A plan, and what had to be left out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Why arms or groups of the study are not in it; they belong in the record.
    pub notes: Vec<Note>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No backend has this name.
    #[error("there is no backend `{name}`: {}", choices(.name, .known.iter().map(String::as_str)))]
    UnknownBackend {
        /// The name.
        name: String,
        /// All names.
        known: Vec<String>,
    },
    /// A value that cannot be had.
    #[error("{what} cannot be {value}: {allowed}")]
    Value {
        /// What was asked for.
        what: &'static str,
        /// The value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Files as they are asked for cannot be.
    #[error("the files cannot be made: {reason}")]
    Data {
        /// Why.
        reason: String,
    },
    /// The arm that everything is compared with cannot run here.
    #[error("the baseline `{name}` is not available here: {reason}")]
    NoBaseline {
        /// The backend.
        name: String,
        /// Why not.
        reason: String,
    },
    /// No arm beside the baseline is left.
    #[error("nothing is left to compare: {reason}")]
    Nothing {
        /// Why.
        reason: String,
    },
}

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
    match request.file_systems {
        [] => of_one(study, request),
        _ => file_systems::plan(study, request, of_one),
    }
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
    let few = arms.cells.len() <= LATIN_ARMS_MAX;
    let order = order.unwrap_or(if few { Order::BalancedLatinSquare } else { Order::SeededPermutation });
    let Arms { mut cells, data, groups, notes, .. } = arms;
    if let Some(rate_per_s) = request.rate_per_s {
        rate::set(study, rate_per_s, &mut cells)?;
    }
    if groups.is_empty() {
        let reason = notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ");
        return Err(PlanError::Nothing { reason });
    }
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
        published: study.published.clone(),
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
