//! Conditions that select the entries to remove.

use crate::attributes::Time;
use crate::file_type::FileType;

/// Predicate on an entry's name.
pub type NameCondition<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// Selects the entries to remove: those meeting every condition. A directory is removed if it meets them (by
/// its times before the removal) and is empty by then; other directories are entered too. With any condition,
/// the directory named in the call stays.
#[derive(Clone, Copy)]
pub struct Conditions<'a> {
    /// Only entries modified before this time. Costs a `statx` per entry.
    pub older_than: Option<Time>,
    /// Only entries whose name, without path, this predicate accepts.
    pub name: Option<NameCondition<'a>>,
    /// Only entries of these types; empty for all. Costs a `statx` per entry to remove: the listed type may be
    /// outdated.
    pub types: &'a [FileType],
}

impl Conditions<'_> {
    /// No condition: removes everything.
    pub const NONE: Self = Self { older_than: None, name: None, types: &[] };

    /// `true` if there is no condition.
    pub fn is_none(&self) -> bool {
        self.older_than.is_none() && self.name.is_none() && self.types.is_empty()
    }

    #[cfg(any(target_os = "linux", windows))]
    pub(super) fn accepts_name(&self, name: &[u8]) -> bool {
        self.name.is_none_or(|accepts| accepts(name))
    }

    #[cfg(any(target_os = "linux", windows))]
    pub(super) fn accepts_type(&self, kind: FileType) -> bool {
        self.types.is_empty() || self.types.contains(&kind)
    }

    /// Just before its removal.
    #[cfg(any(target_os = "linux", windows))]
    pub(super) fn needs_look(&self) -> bool {
        self.older_than.is_some() || !self.types.is_empty()
    }

    /// An unknown time is not accepted.
    #[cfg(any(target_os = "linux", windows))]
    pub(super) fn accept(&self, kind: FileType, modified: Option<Time>) -> bool {
        let is_old = |limit| modified.is_some_and(|modified| modified < limit);
        self.accepts_type(kind) && self.older_than.is_none_or(is_old)
    }
}

impl std::fmt::Debug for Conditions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conditions")
            .field("older_than", &self.older_than)
            .field("name", &self.name.map(|_| ".."))
            .field("types", &self.types)
            .finish()
    }
}
