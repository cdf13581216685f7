//! Builder for the arms of a plan: one cell for each distinct piece of work. An arm that several groups need
//! runs once a round and belongs to all of them.

use megadir_record::{
    CacheState, Cell, CellId, Data, DataId, Group, GroupRule, Keys, LookupCall, Note, Pair, Presence, Role,
    Stage, Work,
};

use crate::note::NoteKind;
use crate::request::BackendFact;

/// Cache state that is available here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CacheChoice {
    pub(crate) state: CacheState,
    /// Name here, which may mention the virtual machine.
    pub(crate) name: String,
}

/// Arms, data sets and groups of a plan under construction, and notes on omitted ones.
pub(crate) struct Arms<'a> {
    pub(crate) facts: &'a [BackendFact],
    pub(crate) cells: Vec<Cell>,
    pub(crate) data: Vec<Data>,
    pub(crate) groups: Vec<Group>,
    pub(crate) notes: Vec<Note>,
}

impl<'a> Arms<'a> {
    pub(crate) fn new(facts: &'a [BackendFact], data: Vec<Data>) -> Self {
        Self { facts, cells: Vec::new(), data, groups: Vec::new(), notes: Vec::new() }
    }

    /// Adds a baseline and its A/A arm.
    pub(crate) fn baseline(&mut self, data: DataId, work: Work) -> CellId {
        let label = self.name(&work, data);
        let id = self.push(label.clone(), Role::Baseline, data, work.clone());
        self.push(format!("{label} (itself)"), Role::AgainstItself, data, work);
        id
    }

    /// Returns the arm that does `work` on `data`, adding it if necessary, as a member of `group`.
    pub(crate) fn arm(&mut self, group: &str, data: DataId, work: &Work) -> CellId {
        let same =
            |cell: &&mut Cell| cell.role != Role::AgainstItself && cell.data == data && cell.work == *work;
        let id = match self.cells.iter_mut().find(same) {
            Some(cell) => cell.id,
            None => self.push(self.name(work, data), Role::Arm, data, work.clone()),
        };
        self.join(id, group);
        id
    }

    pub(crate) fn join(&mut self, id: CellId, group: &str) {
        let groups = &mut self.cells[id.0 as usize].groups;
        if !groups.iter().any(|name| name == group) {
            groups.push(group.to_owned());
        }
    }

    /// Returns the data set of `entries` created files, adding it if necessary. `None` on the user's own
    /// directory, which has a single size.
    pub(crate) fn data_of(&mut self, entries: u64) -> Option<DataId> {
        self.data[0].source.made()?;
        if let Some(found) = self.data.iter().find(|data| data.entries == entries) {
            return Some(found.id);
        }
        let id = DataId(self.data.len() as u32);
        let source = self.data[0].source.clone();
        self.data.push(Data { id, entries, hash: None, on: None, source });
        Some(id)
    }

    /// Adds a group of contrasts, unless there are none.
    pub(crate) fn pairs(&mut self, name: &str, title: &str, pairs: Vec<Pair>) {
        if pairs.is_empty() {
            return;
        }
        for pair in &pairs {
            self.join(pair.arm, name);
            self.join(pair.to, name);
        }
        let rule = GroupRule::Pairs { pairs };
        self.groups.push(Group { name: name.into(), title: title.into(), answers: false, rule });
    }

    pub(crate) fn answers(&mut self, name: &str) {
        let groups = self.groups.iter_mut().filter(|group| group.name == name);
        groups.for_each(|group| group.answers = true);
    }

    pub(crate) fn note(&mut self, kind: NoteKind, text: String) {
        let note = kind.note(text);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn push(&mut self, name: String, role: Role, data: DataId, work: Work) -> CellId {
        self.push_at(name, role, data, work, (0, 0))
    }

    /// Adds an arm at a step of a chain, in which arms work on the files of earlier steps.
    pub(crate) fn push_at(
        &mut self,
        name: String,
        role: Role,
        data: DataId,
        work: Work,
        (chain, step): (u32, u32),
    ) -> CellId {
        let id = CellId(self.cells.len() as u32);
        let cache = CacheState::Warm;
        self.cells.push(Cell {
            id,
            name,
            groups: Vec::new(),
            role,
            data,
            work,
            cache,
            operations: None,
            rate_per_s: None,
            chain,
            step,
        });
        id
    }

    fn name(&self, work: &Work, data: DataId) -> String {
        let (backend, buffer_bytes, threads, stages) = match work {
            Work::List { backend, buffer_bytes, threads, stages, .. } => {
                (backend, buffer_bytes, threads, stages)
            }
            Work::Lookup { presence, keys, call } => {
                let entries = self.data[data.0 as usize].entries;
                let (presence, keys) = (presence_name(*presence), keys_name(*keys));
                return format!("{presence}{}, {keys} of {}", call_name(*call), grouped(entries));
            }
            Work::FillUntilRefused { .. } => return "fill until refused".into(),
            // Studies of work on files name their arms themselves.
            Work::Files(_) => return "work on files".into(),
            Work::Remove(_) => return "remove".into(),
            Work::Command(work) => return work.line.clone(),
            Work::Attributes { method, threads, .. } => {
                let of = grouped(self.data[data.0 as usize].entries);
                let threads = if *threads > 1 { format!(", {threads} threads") } else { String::new() };
                return format!("{method}{threads} of {of}");
            }
            Work::Ask { files } => {
                let of = grouped(self.data[data.0 as usize].entries);
                return format!("ask {} of {of}", grouped(*files));
            }
        };
        let fixed = self.facts.iter().any(|fact| fact.name == backend && fact.buffer_fixed.is_some());
        let mut name = backend.clone();
        if !fixed {
            name.push_str(&format!(" {}", bytes(*buffer_bytes)));
        }
        let many = self.facts.iter().any(|fact| fact.name == backend && fact.threads_max > 1);
        if many {
            name.push_str(&format!(", {threads} thread{}", if *threads == 1 { "" } else { "s" }));
        }
        if let Some(last) = stages.last().filter(|last| **last != Stage::Read) {
            name.push_str(&format!(" to {}", stage_name(*last)));
        }
        if data != DataId(0) {
            name.push_str(&format!(" of {}", self.data[data.0 as usize].entries));
        }
        name
    }
}

/// Formats a size in the largest binary unit that divides it.
fn bytes(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// Formats a number with spaces between groups of three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let space = |place: usize| place > 0 && (digits.len() - place).is_multiple_of(3);
    digits
        .chars()
        .enumerate()
        .flat_map(|(place, digit)| space(place).then_some(' ').into_iter().chain([digit]))
        .collect()
}

pub(crate) fn presence_name(presence: Presence) -> &'static str {
    match presence {
        Presence::Present => "present",
        Presence::Absent => "absent",
    }
}

/// Describes a call; empty for the system's usual one.
pub(crate) fn call_name(call: LookupCall) -> &'static str {
    match call {
        LookupCall::Fstatat | LookupCall::AttributesByPath => "",
        LookupCall::AttributesByHandle => " by handle",
    }
}

pub(crate) fn keys_name(keys: Keys) -> &'static str {
    match keys {
        Keys::Fixed => "one name",
        Keys::Random => "any name",
        Keys::Zipf => "popular names",
    }
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Read => "read",
        Stage::Keep => "keep",
        Stage::Sort => "sort",
        Stage::Attributes => "attributes",
        Stage::ExtendedAttributes => "xattrs",
        Stage::FormatLong | Stage::FormatRaw => "format",
        Stage::Write => "write",
    }
}
