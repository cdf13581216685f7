//! What a model of a file system says of a directory.

use super::basis::{Fact, Span};
use super::facts::Facts;
use super::limit::{Ceiling, Gauge};
use super::trap::Trap;
use crate::file_system::FileSystem;

/// What one file system's directories can hold. A model looks at [`Facts`] and at nothing else.
pub trait Model: Sync {
    /// The file system.
    fn file_system(&self) -> FileSystem;

    /// Where the model is from, in a sentence.
    fn about(&self) -> &'static str;

    /// Judges the directory itself; blocks, inodes and quotas are not the model's.
    fn judge(&self, facts: &Facts, churn: bool) -> Judgement;
}

/// What a model says of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Limits of the directory itself.
    pub ceilings: Vec<Ceiling>,
    /// Entries that the directory holds when the first is refused, if only added to.
    pub capacity: Option<Fact<Span>>,
    /// How many of them to plan for.
    pub plan: Option<Plan>,
    /// The size of the index, where that tells how full it is.
    pub gauge: Option<Gauge>,
    /// Space that an entry takes beside its contents, bytes.
    pub entry_bytes: f64,
    /// What applies here.
    pub traps: Vec<Trap>,
}

/// How many entries to plan for, short of the first that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Where entries are added and stay.
    pub growing: u64,
    /// Where names come and go.
    pub churning: u64,
}

impl std::fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({})", self.file_system())
    }
}
