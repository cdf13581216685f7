//! Builder for the arms of a plan: one for each distinct piece of work, which may belong to several groups.
//!
//! ```text
//!  baseline + control (A/A)     number n and n + 1, always together
//!  arm                          one for each (data set, work): a second request returns the first
//!  groups                       refer to arms by number; an arm may be in several
//! ```
//!
//! Measuring an arm once for all groups saves time, and makes the figures of one arm equal in all tables.

use megadir_record::{
    Arm, ArmId, Axes, CacheState, Data, DataId, DataSource, FileWork, Group, GroupRule, Made, Note,
    Operation, Pair, Role, Stage, Work, WorkerKind,
};

use crate::note::NoteKind;
use crate::request::BackendFact;

/// Name, and an arm for each size.
pub(crate) type Series = (String, Vec<ArmId>);

/// A plan while it is built. The number of an arm is its index in `planned`, and the number of a data set its index
/// in `data`, so nothing is removed here. `facts` are the backends of this machine: an arm that needs a
/// missing one is left out with a note.
pub(crate) struct Arms<'a> {
    pub(crate) facts: &'a [BackendFact],
    pub(crate) planned: Vec<Arm>,
    pub(crate) data: Vec<Data>,
    pub(crate) groups: Vec<Group>,
    pub(crate) notes: Vec<Note>,
}

impl<'a> Arms<'a> {
    pub(crate) fn new(facts: &'a [BackendFact], data: Vec<Data>) -> Self {
        Self { facts, planned: Vec::new(), data, groups: Vec::new(), notes: Vec::new() }
    }

    pub(crate) fn baseline(&mut self, data: DataId, work: Work) -> ArmId {
        self.baseline_at(self.axes(&work, data), data, work)
    }

    /// Adds a baseline and its control, which has the next number: `join_baseline` depends on that.
    pub(crate) fn baseline_at(&mut self, axes: Axes, data: DataId, work: Work) -> ArmId {
        let id = self.push(axes.clone(), Role::Baseline, data, work.clone());
        self.push(Axes { is_control: true, ..axes }, Role::Control, data, work);
        id
    }

    /// Arm with this work on this data, new or known, as a member of the group.
    pub(crate) fn arm(&mut self, group: &str, data: DataId, work: &Work) -> ArmId {
        let same = |planned: &&mut Arm| {
            planned.role != Role::Control && planned.data == data && planned.work == *work
        };
        let id = match self.planned.iter_mut().find(same) {
            Some(planned) => planned.id,
            None => self.push(self.axes(work, data), Role::Arm, data, work.clone()),
        };
        self.join(id, group);
        id
    }

    pub(crate) fn join(&mut self, id: ArmId, group: &str) {
        join(&mut self.planned, id, group);
    }

    /// Data set of `entries` created files, added if necessary. `None` on the user's own directory, which has a single size.
    pub(crate) fn data_of(&mut self, entries: u64) -> Option<DataId> {
        let made = self.data[0].source.made()?.clone();
        if let Some(found) = self.data.iter().find(|data| data.entries == entries) {
            return Some(found.id);
        }
        Some(self.add_data(entries, made))
    }

    pub(crate) fn add_data(&mut self, entries: u64, made: Made) -> DataId {
        let id = DataId(self.data.len() as u32);
        self.data.push(Data { id, entries, hash: None, on: None, source: DataSource::Made(made) });
        id
    }

    /// Data sets by their number of entries; the plan's own order is descending.
    pub(crate) fn ascending(&self) -> Vec<(u64, DataId)> {
        let mut sets: Vec<(u64, DataId)> = self.data.iter().map(|data| (data.entries, data.id)).collect();
        sets.sort_unstable_by_key(|(entries, id)| (*entries, id.0));
        sets
    }

    /// The A/A arm in each comparison shows its resolution.
    pub(crate) fn join_baseline(&mut self, baseline: ArmId, group: &str) {
        self.join(baseline, group);
        self.join(ArmId(baseline.0 + 1), group);
    }

    /// Group whose other arms have joined it.
    pub(crate) fn compare(&mut self, name: &str, title: &str, answers: bool, baseline: ArmId) {
        self.join_baseline(baseline, name);
        self.groups.push(Group::new(name, title, answers, GroupRule::Compare { baseline }));
    }

    pub(crate) fn grow(&mut self, name: &str, title: &str, answers: bool, series: Vec<Series>) {
        for arm in series.iter().flat_map(|(_, arms)| arms) {
            self.join(*arm, name);
        }
        self.groups.push(Group::new(name, title, answers, GroupRule::Grow { series }));
    }

    /// Growth of the series with several sizes; a note if there is only one size.
    pub(crate) fn growth(&mut self, answers: bool, mut series: Vec<Series>) {
        series.retain(|(_, arms)| arms.len() > 1);
        if !series.is_empty() {
            let title = "How does the time grow with the number of files?";
            return self.grow("growth", title, answers, series);
        }
        if self.data.len() == 1 {
            let why = match self.data[0].source {
                DataSource::Existing { .. } => "an existing directory has only one size",
                DataSource::Made { .. } => "only one size was requested",
            };
            self.note(NoteKind::GroupLeftOut, format!("group `growth`: {why}"));
        }
    }

    pub(crate) fn pairs(&mut self, name: &str, title: &str, pairs: impl IntoIterator<Item = Pair>) {
        let pairs = pairs.into_iter().collect();
        add_pairs(&mut self.planned, &mut self.groups, (name, title), pairs);
    }

    pub(crate) fn answers(&mut self, name: &str) {
        let groups = self.groups.iter_mut().filter(|group| group.name == name);
        groups.for_each(|group| group.answers = true);
    }

    /// Adds a note, unless an equal one exists: several groups may miss the same backend.
    pub(crate) fn note(&mut self, kind: NoteKind, text: String) {
        let note = kind.note(text);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds an arm in a warm cache, without a rate, and in no chain; later steps of the plan change that.
    pub(crate) fn push(&mut self, axes: Axes, role: Role, data: DataId, work: Work) -> ArmId {
        let id = ArmId(self.planned.len() as u32);
        self.planned.push(Arm {
            id,
            name: axes.name(),
            groups: Vec::new(),
            role,
            data,
            work,
            cache: CacheState::Warm,
            operations: None,
            rate_per_s: None,
            chain: 0,
            step: 0,
            axes,
        });
        id
    }

    /// The steps on one data set are a chain. `at`: data set and step.
    pub(crate) fn push_step(&mut self, axes: Axes, role: Role, at: (DataId, u32), work: Work) -> ArmId {
        let (data, step) = at;
        let id = self.push(axes, role, data, work);
        let arm = &mut self.planned[id.0 as usize];
        (arm.chain, arm.step) = (data.0, step);
        id
    }

    /// `at`: data set and step.
    pub(crate) fn files(&mut self, axes: Axes, role: Role, at: (DataId, u32), work: FileWork) -> ArmId {
        self.push_step(axes, role, at, Work::Files(work))
    }

    fn axes(&self, work: &Work, data: DataId) -> Axes {
        let entries = Some(self.data[data.0 as usize].entries);
        match work {
            Work::List { backend, buffer_bytes, threads, stages, .. } => {
                let fact = self.facts.iter().find(|fact| fact.name == backend);
                let has_buffer = fact.is_none_or(|fact| fact.buffer_fixed.is_none());
                let has_threads = fact.is_some_and(|fact| fact.threads_max > 1);
                Axes {
                    method: Some(backend.clone()),
                    buffer_bytes: Some(*buffer_bytes).filter(|_| has_buffer),
                    workers: Some(*threads).filter(|_| has_threads),
                    worker_kind: Some(WorkerKind::Thread).filter(|_| has_threads),
                    stage: stages.last().copied().filter(|stage| *stage != Stage::Read),
                    entries: entries.filter(|_| data != DataId(0)),
                    ..Axes::of(Operation::List)
                }
            }
            work => Axes::of_work(work, entries),
        }
    }
}

fn join(arms: &mut [Arm], id: ArmId, group: &str) {
    let groups = &mut arms[id.0 as usize].groups;
    if !groups.iter().any(|name| name == group) {
        groups.push(group.to_owned());
    }
}

pub(crate) fn add_pairs(
    arms: &mut [Arm],
    groups: &mut Vec<Group>,
    (name, title): (&str, &str),
    pairs: Vec<Pair>,
) {
    for id in pairs.iter().flat_map(|pair| [pair.arm, pair.to]) {
        join(arms, id, name);
    }
    if !pairs.is_empty() {
        groups.push(Group::new(name, title, false, GroupRule::Pairs { pairs }));
    }
}

/// Pairs of arms whose places `other` gives, with the words of a pair: subject, reference, conditions.
pub(crate) fn paired<P: Copy + PartialEq>(
    all: &[(P, ArmId)],
    other: impl Fn(P) -> Option<(P, [String; 3])>,
) -> Vec<Pair> {
    let pair = |(place, arm): &(P, ArmId)| {
        let (than, [subject, reference, at]) = other(*place)?;
        let (_, to) = all.iter().find(|(place, _)| *place == than)?;
        Some(Pair::new(subject, reference, at, (*arm, *to)))
    };
    all.iter().filter_map(pair).collect()
}
