//! Axes of an arm: its differences from the other arms of its study, as data.
//!
//! An arm's axes are the parameters of [`Work`] that its name mentions. Names are composed here and parsed
//! only in `from_names`, for older records.
//!
//! A pair's conditions have no file system and no kind of time in their text, and a group knows its study's name
//! (`Group::of`).

mod from_names;

use serde::{Deserialize, Serialize};

use super::{Arm, Keys, LookupCall, Presence, Stage, Work};
use crate::data::MakeDirectories;
use crate::files::{FileOperation, FileOrder, SyncPolicy, WorkerKind};

pub use from_names::complete;

/// An absent axis is the same for all arms, or does not apply.
// An axis is set only if it distinguishes arms of the study, so that names stay short and two arms with equal
// axes are comparable. Later code compares these fields and not the text of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Axes {
    /// Kind of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// The study's own words, which replace the axes down to `entries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Backend, method or program, e.g. `getdents` or `rm -rf`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// For one listing call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
    /// Number of threads or processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// `None` if the method does not name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker_kind: Option<WorkerKind>,
    /// Last stage of a listing program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<Stage>,
    /// Existence of the looked-up names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// Selection of the looked-up names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Keys>,
    /// System call of a look-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<LookupCall>,
    /// Way of finding files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<AccessBy>,
    /// Order in which files are accessed by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<FileOrder>,
    /// Durability of written files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncPolicy>,
    /// For example `prefix:2/2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Time at which the layout's directories are created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directories: Option<MakeDirectories>,
    /// Directories that hold the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory_count: Option<u64>,
    /// Files of an operation or block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Files before and after a block that fills a directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filled: Option<(u64, u64)>,
    /// Number of entries of the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// `true` if the directory once held more files.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aged: bool,
    /// Cold cache state, which mentions a virtual machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Cache state that the arm prepares files for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_cache: Option<String>,
    /// In a run on several file systems.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// `true` for an arm that is compared with an equal one.
    #[serde(rename = "itself", skip_serializing_if = "std::ops::Not::not")]
    pub is_control: bool,
}

/// Operation in the words of the study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    List,
    Lookup,
    StatAll,
    #[serde(rename = "ask")]
    StatSome,
    FillUntilRefused,
    MakeDirectories,
    /// As a step of its own.
    Create,
    /// As the first step of files' life.
    Write,
    Read,
    Rewrite,
    Stat,
    Unlink,
    Walk,
    Remove,
    Run,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AccessBy {
    Directory,
    Name,
}

impl From<FileOperation> for Operation {
    fn from(operation: FileOperation) -> Self {
        match operation {
            FileOperation::MakeDirectories => Self::MakeDirectories,
            FileOperation::Create => Self::Write,
            FileOperation::Read => Self::Read,
            FileOperation::Rewrite => Self::Rewrite,
            FileOperation::Stat => Self::Stat,
            FileOperation::Unlink => Self::Unlink,
        }
    }
}

impl FileOperation {
    pub fn word(self) -> &'static str {
        Operation::from(self).word()
    }
}

impl Operation {
    pub fn word(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Lookup => "look up",
            Self::StatAll => "stat all",
            Self::StatSome => "ask",
            Self::FillUntilRefused => "fill until refused",
            Self::MakeDirectories => "make directories",
            Self::Create => "create",
            Self::Write => "write",
            Self::Read => "read",
            Self::Rewrite => "rewrite",
            Self::Stat => "stat",
            Self::Unlink => "unlink",
            Self::Walk => "walk",
            Self::Remove => "remove",
            Self::Run => "run",
        }
    }

    /// Its chain has a cache state of its own.
    pub fn is_of_life(self) -> bool {
        matches!(self, Self::Write | Self::Stat | Self::Read | Self::Rewrite | Self::Unlink)
    }
}

impl Axes {
    pub fn of(operation: Operation) -> Self {
        Self { operation: Some(operation), ..Self::default() }
    }

    pub fn of_work(work: &Work, entries: Option<u64>) -> Self {
        match work {
            Work::Lookup { presence, keys, call } => Self {
                presence: Some(*presence),
                keys: Some(*keys),
                call: Some(*call).filter(|call| *call == LookupCall::AttributesByHandle),
                entries,
                ..Self::of(Operation::Lookup)
            },
            Work::Attributes { method, threads, .. } => Self {
                method: Some(method.clone()),
                workers: Some(*threads).filter(|threads| *threads > 1),
                worker_kind: Some(WorkerKind::Thread).filter(|_| *threads > 1),
                entries,
                ..Self::of(Operation::StatAll)
            },
            Work::StatSome { files } => {
                Self { files: Some(*files), entries, ..Self::of(Operation::StatSome) }
            }
            Work::FillUntilRefused { .. } => Self::of(Operation::FillUntilRefused),
            Work::List { .. } => Self::of(Operation::List),
            Work::Remove(_) => Self::of(Operation::Remove),
            Work::Command(_) => Self::of(Operation::Run),
            Work::Files(_) => Self::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn without_workers(&self) -> Self {
        Self { workers: None, worker_kind: None, ..self.clone() }
    }

    pub fn without_file_system(&self) -> Self {
        Self { file_system: None, ..self.clone() }
    }

    /// Without entries, age, cache and file system.
    pub fn without_directory(&self) -> Self {
        Self { entries: None, aged: false, cache: None, file_system: None, ..self.clone() }
    }

    /// Equal entries, age, cache and file system.
    pub fn is_on_like_directory(&self, other: &Self) -> bool {
        (self.entries, self.aged, &self.cache, &self.file_system)
            == (other.entries, other.aged, &other.cache, &other.file_system)
    }

    /// Runs are matched by these names, so their form is that of old records.
    pub fn name(&self) -> String {
        let control = if self.is_control { " (itself)" } else { "" };
        // A chain's own state is part of what is compared with itself; a crossed state is added to both.
        let has_own_state = self.workers.is_some() && self.operation.is_some_and(Operation::is_of_life);
        let mut name = self.label.clone().unwrap_or_else(|| self.work());
        if !has_own_state {
            name.push_str(control);
        }
        if self.aged {
            name.push_str(", aged");
        }
        push(&mut name, self.cache.as_ref());
        name.extend(self.for_cache.as_ref().map(|cache| format!(" (for {cache})")));
        if has_own_state {
            name.push_str(control);
        }
        push(&mut name, self.file_system.as_ref());
        name
    }

    fn work(&self) -> String {
        // Names are keys: runs are matched by them, also with records of older versions. The order and the
        // separators of the words must therefore stay as they are, and a new axis may only add words to arms
        // that have it.
        let mut name = match self.operation {
            None | Some(Operation::List | Operation::Lookup | Operation::StatAll | Operation::Run) => {
                String::new()
            }
            Some(Operation::Remove) if self.method.is_some() => String::new(),
            Some(Operation::Write) if self.method.is_some() => "write for ".into(),
            Some(operation) => operation.word().into(),
        };
        name.push_str(self.access.map_or("", AccessBy::words));
        name.push_str(self.sync.map_or("", sync_words));
        name.push_str(self.order.map_or("", order_words));
        name.extend(self.files.map(|files| format!(" {}", grouped(files))));
        push(&mut name, self.presence.map(Presence::name));
        name.push_str(self.call.map_or("", call_words));
        push(&mut name, self.keys.map(keys_words));
        name.push_str(self.method.as_deref().unwrap_or_default());
        name.extend(self.buffer_bytes.map(|buffer_bytes| format!(" {}", bytes(buffer_bytes))));
        push(&mut name, self.layout.as_ref());
        push(&mut name, self.directories.map(directories_words));
        push(&mut name, self.filled.map(|(from, to)| format!("{} to {}", grouped(from), grouped(to))));
        push(&mut name, self.workers.map(|count| workers(count, self.worker_kind)));
        push(&mut name, self.directory_count.map(directories));
        name.extend(self.stage.map(|stage| format!(" to {}", stage_word(stage))));
        name.extend(self.entries.map(|entries| match self.operation {
            Some(Operation::List) => format!(" of {entries}"),
            Some(Operation::Create | Operation::Remove) => format!(" among {}", grouped(entries)),
            _ => format!(" of {}", grouped(entries)),
        }));
        name
    }
}

impl Arm {
    pub fn rename(&mut self) {
        self.name = self.axes.name();
    }

    pub fn bare_name(&self) -> String {
        self.named(&self.axes.without_file_system())
    }

    pub fn named(&self, axes: &Axes) -> String {
        if self.axes.is_empty() { self.name.clone() } else { axes.name() }
    }
}

impl AccessBy {
    fn words(self) -> &'static str {
        match self {
            Self::Directory => " by directory",
            Self::Name => " by name",
        }
    }
}

fn push(name: &mut String, part: Option<impl AsRef<str>>) {
    let Some(part) = part else { return };
    if !name.is_empty() {
        name.push_str(", ");
    }
    name.push_str(part.as_ref());
}

/// Empty for the system's usual call.
pub fn call_words(call: LookupCall) -> &'static str {
    match call {
        LookupCall::Fstatat | LookupCall::AttributesByPath => "",
        LookupCall::AttributesByHandle => " by handle",
    }
}

pub fn keys_words(keys: Keys) -> &'static str {
    match keys {
        Keys::Fixed => "one name",
        Keys::Random => "any name",
        Keys::Zipf => "popular names",
    }
}

pub fn order_words(order: FileOrder) -> &'static str {
    match order {
        FileOrder::AsWritten => " as written",
        FileOrder::Random => " in random order",
        FileOrder::Listing => " in listing order",
        FileOrder::Inode => " by inode",
    }
}

pub fn sync_words(sync: SyncPolicy) -> &'static str {
    match sync {
        SyncPolicy::Never => "",
        SyncPolicy::EachFile => " with fsync",
        SyncPolicy::FileAndDirectory => " with fsync of file and directory",
        SyncPolicy::AtEnd => " with syncfs at the end",
    }
}

pub fn directories_words(directories: MakeDirectories) -> &'static str {
    match directories {
        MakeDirectories::OnDemand => "directories on demand",
        MakeDirectories::Before => "directories made before",
    }
}

pub fn workers(count: u32, kind: Option<WorkerKind>) -> String {
    let (singular, plural) = match kind {
        None => ("worker", "workers"),
        Some(WorkerKind::Process) => ("process", "processes"),
        Some(WorkerKind::Rank) => ("rank", "ranks"),
        Some(WorkerKind::Thread) => ("thread", "threads"),
    };
    format!("{count} {}", if count == 1 { singular } else { plural })
}

pub fn directories(count: u64) -> String {
    match count {
        1 => "1 directory".into(),
        several => format!("{} directories", grouped(several)),
    }
}

fn stage_word(stage: Stage) -> &'static str {
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

fn bytes(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

pub fn grouped(number: impl Into<u128>) -> String {
    let number = number.into();
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{} {:03}", grouped(thousands), number % 1000),
    }
}
