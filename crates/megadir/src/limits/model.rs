//! Interface of the models of file systems.

use super::basis::{Fact, Span};
use super::cure::Trap;
use super::facts::Facts;
use super::limit::{Ceiling, Gauge};
use crate::file_system::FileSystem;

/// Model of the directories of one file system, a function of [`Facts`].
pub trait Model: Sync {
    /// The file system.
    fn file_system(&self) -> FileSystem;

    /// Source of the model, in a sentence.
    fn about(&self) -> &'static str;

    /// Judges the directory itself, without blocks, inodes and quotas.
    fn judge(&self, facts: &Facts, churn: bool) -> Judgement;
}

/// A model's judgement of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Limits of the directory itself.
    pub ceilings: Vec<Ceiling>,
    /// Number of entries at the first refusal if entries are only added.
    pub capacity: Option<Fact<Span>>,
    /// Number of entries to plan for.
    pub plan: Option<Plan>,
    /// Size of the index, if it shows how full the index is.
    pub gauge: Option<Gauge>,
    /// Space of an entry without its contents, bytes.
    pub entry_bytes: f64,
    /// Traps that apply here.
    pub traps: Vec<Trap>,
}

/// Number of entries to plan for, short of the first refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// If entries are added and stay.
    pub growing: u64,
    /// If names come and go.
    pub churning: u64,
}

impl std::fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({})", self.file_system())
    }
}
