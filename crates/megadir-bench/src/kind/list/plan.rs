//! Arms and groups of a listing study or of the user's options. A note replaces a group whose work is impossible here.

use megadir_record::{ArmId, DataId, Group, GroupRule, Stage, Work};

use crate::kind::Traits;
use crate::kind::arms::Arms;
use crate::kind::cost::BLOCK_NS;
use crate::kind::list::{ArmSpec, CompareSpec, DecomposeSpec, GrowSpec, ListSpec, Reading, StepSpec};
use crate::note::NoteKind;
use crate::request::{PlanError, Request, backend_fact, check_reading};

pub(crate) fn traits(threads: u32, stages: &[Stage], entries: u64) -> Traits {
    let entry_ns: u64 = stages.iter().map(|stage| stage_ns(*stage, threads)).sum();
    Traits { block_ns: BLOCK_NS + entries * entry_ns, cold_operations: Some(1), names: None }
}

/// Time of a stage for one entry, nanoseconds, for estimates only.
fn stage_ns(stage: Stage, threads: u32) -> u64 {
    match stage {
        Stage::Read if threads > 1 => 200,
        Stage::Read => 250,
        Stage::Keep => 20,
        Stage::Sort => 80,
        Stage::Attributes => 1_000,
        Stage::ExtendedAttributes => 1_500,
        Stage::FormatLong => 100,
        Stage::FormatRaw => 50,
        Stage::Write => 80,
    }
}

/// Baseline of a listing study, with the values that other arms take from it.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) id: ArmId,
    pub(crate) reading: Reading,
}

impl Arms<'_> {
    pub(crate) fn listing_baseline(&mut self, reading: Reading) -> Result<Base, PlanError> {
        let work = self.work(&reading, &[Stage::Read])?;
        let name = reading.backend.clone();
        let work = work.map_err(|reason| PlanError::NoBaseline { name, reason })?;
        Ok(Base { id: self.baseline(DataId(0), work), reading })
    }

    /// The error is the reason why the work is impossible here.
    fn work(&self, reading: &Reading, stages: &[Stage]) -> Result<Result<Work, String>, PlanError> {
        let fact = backend_fact(self.facts, &reading.backend)?;
        check_reading(self.facts, reading.buffer_bytes, reading.threads)?;
        if let Some(reason) = &fact.unavailable {
            return Ok(Err(format!("{} is unavailable here: {reason}", fact.name)));
        }
        if reading.threads > fact.threads_max {
            let (name, most, threads) = (fact.name, fact.threads_max, reading.threads);
            return Ok(Err(format!("{name} reads with at most {most} thread, not {threads}")));
        }
        let buffer_bytes = fact.buffer_fixed.unwrap_or(reading.buffer_bytes);
        Ok(Ok(Work::List {
            backend: fact.name.to_owned(),
            buffer_bytes,
            threads: reading.threads,
            shares: fact.shares_per_thread.map_or(1, |shares| shares * reading.threads),
            stages: stages.to_vec(),
        }))
    }

    /// `None`, with a note, if the work is impossible here.
    fn possible(
        &mut self,
        reading: &Reading,
        stages: &[Stage],
        kind: NoteKind,
        place: &str,
    ) -> Result<Option<Work>, PlanError> {
        let work = self.work(reading, stages)?;
        Ok(work.map_err(|reason| self.note(kind, format!("{place}{reason}"))).ok())
    }
}

pub(crate) fn of_study(spec: &ListSpec, base: &Base, arms: &mut Arms<'_>) -> Result<(), PlanError> {
    spec.compare.iter().try_for_each(|group| compare(group, base, arms))?;
    spec.decompose.iter().try_for_each(|group| decompose(group, base, arms))?;
    spec.grow.iter().try_for_each(|group| grow(group, base, arms))
}

/// The user's backends, buffers and threads, crossed, in place of the study's groups.
pub(crate) fn chosen(request: &Request<'_>, base: &Base, arms: &mut Arms<'_>) -> Result<(), PlanError> {
    let arm = ArmSpec {
        backend: request.backends.clone(),
        buffer_bytes: request.buffers_bytes.clone(),
        threads: request.threads.clone(),
    };
    let title = "How do the chosen methods compare with the baseline?".to_owned();
    compare(&CompareSpec { name: "chosen".to_owned(), title, answers: true, arms: vec![arm] }, base, arms)
}

fn compare(spec: &CompareSpec, base: &Base, arms: &mut Arms<'_>) -> Result<(), PlanError> {
    let mut added = 0;
    let place = format!("in group `{}`, ", spec.name);
    for reading in spec.arms.iter().flat_map(|arm| cross(arm, &base.reading)) {
        if let Some(work) = arms.possible(&reading, &[Stage::Read], NoteKind::ArmLeftOut, &place)? {
            arms.arm(&spec.name, DataId(0), &work);
            added += 1;
        }
    }
    if added > 0 {
        arms.compare(&spec.name, &spec.title, spec.answers, base.id);
    }
    Ok(())
}

fn cross(arm: &ArmSpec, base: &Reading) -> Vec<Reading> {
    fn or<'a, T>(given: &'a [T], own: &'a T) -> &'a [T] {
        if given.is_empty() { std::slice::from_ref(own) } else { given }
    }
    let backends = or(&arm.backend, &base.backend);
    let buffers = or(&arm.buffer_bytes, &base.buffer_bytes);
    let threads = or(&arm.threads, &base.threads);
    let mut all = Vec::new();
    for backend in backends {
        for &buffer_bytes in buffers {
            let with = |&threads| Reading { backend: backend.clone(), buffer_bytes, threads };
            all.extend(threads.iter().map(with));
        }
    }
    all
}

/// Both programs must be possible to the last step: a decomposition with a gap would give its share to a
/// neighbour.
fn decompose(spec: &DecomposeSpec, base: &Base, arms: &mut Arms<'_>) -> Result<(), PlanError> {
    let slow = chain(&spec.name, &spec.slow, base, arms)?;
    let fast = chain(&spec.name, &spec.fast, base, arms)?;
    let (Some(slow), Some(fast)) = (slow, fast) else { return Ok(()) };
    let mut add = |steps: Vec<(String, Work)>| -> Vec<(String, ArmId)> {
        let arm = |(factor, work)| (factor, arms.arm(&spec.name, DataId(0), &work));
        steps.into_iter().map(arm).collect()
    };
    let rule = GroupRule::Decompose {
        slow_name: spec.slow_name.clone(),
        slow: add(slow),
        fast_name: spec.fast_name.clone(),
        fast: add(fast),
    };
    arms.groups.push(Group::new(&spec.name, &spec.title, spec.answers, rule));
    Ok(())
}

type Chain = Vec<(String, Work)>;

/// Cumulative work after each step; `None`, with a note, if a step is impossible here.
fn chain(
    group: &str,
    steps: &[StepSpec],
    base: &Base,
    arms: &mut Arms<'_>,
) -> Result<Option<Chain>, PlanError> {
    let mut reading = base.reading.clone();
    let mut stages = vec![Stage::Read];
    let mut chain = Vec::new();
    let place = format!("group `{group}`: ");
    for step in steps {
        if let Some(backend) = &step.backend {
            reading.backend.clone_from(backend);
        }
        reading.buffer_bytes = step.buffer_bytes.unwrap_or(reading.buffer_bytes);
        stages.extend(step.stage);
        match arms.possible(&reading, &stages, NoteKind::GroupLeftOut, &place)? {
            Some(work) => chain.push((step.factor.clone(), work)),
            None => return Ok(None),
        }
    }
    Ok(Some(chain))
}

/// Each series on every size. A series that is impossible here is left out alone, unlike a step of a
/// decomposition.
fn grow(spec: &GrowSpec, base: &Base, arms: &mut Arms<'_>) -> Result<(), PlanError> {
    let Some(sizes) = sizes(spec, arms) else { return Ok(()) };
    let mut series = Vec::new();
    for series_spec in &spec.series {
        let reading = Reading {
            backend: series_spec.backend.clone().unwrap_or_else(|| base.reading.backend.clone()),
            buffer_bytes: series_spec.buffer_bytes.unwrap_or(base.reading.buffer_bytes),
            threads: base.reading.threads,
        };
        let place = format!("in group `{}`, series `{}`: ", spec.name, series_spec.name);
        if let Some(work) = arms.possible(&reading, &series_spec.stages, NoteKind::ArmLeftOut, &place)? {
            let ids = sizes.iter().map(|data| arms.arm(&spec.name, *data, &work)).collect();
            series.push((series_spec.name.clone(), ids));
        }
    }
    if !series.is_empty() {
        arms.grow(&spec.name, &spec.title, spec.answers, series);
    }
    Ok(())
}

/// Data sets in ascending size: the requested ones if there are several, else the study's fractions of the one.
fn sizes(spec: &GrowSpec, arms: &mut Arms<'_>) -> Option<Vec<DataId>> {
    let largest = arms.data[0].entries;
    let mut entries: Vec<u64> = if arms.data.len() > 1 {
        arms.data.iter().map(|data| data.entries).collect()
    } else {
        spec.fractions.iter().map(|fraction| (largest as f64 * fraction).round() as u64).collect()
    };
    entries.sort_unstable();
    entries.dedup();
    entries.retain(|entries| *entries > 0);
    if entries.len() < 2 {
        let text = format!("group `{}`: growth needs smaller sizes than {largest} entries", spec.name);
        arms.note(NoteKind::GroupLeftOut, text);
        return None;
    }
    let made: Option<Vec<DataId>> = entries.iter().map(|entries| arms.data_of(*entries)).collect();
    if made.is_none() {
        let text = format!("group `{}`: an existing directory has only one size", spec.name);
        arms.note(NoteKind::GroupLeftOut, text);
    }
    made
}
