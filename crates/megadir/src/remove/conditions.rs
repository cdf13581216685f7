//! Which entries go.

use crate::attributes::Time;
use crate::file_type::FileType;

/// Tells whether a name is accepted.
pub type NameCondition<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

/// Which entries go: those that meet every condition.
///
/// A directory goes if it meets them too, by its times before anything in it was removed, and nothing is left in it; one that
/// does not is entered all the same. The directory that a removal names stays as soon as there is any condition.
#[derive(Clone, Copy)]
pub struct Conditions<'a> {
    /// Only entries modified before this. Costs a `statx` an entry.
    pub older_than: Option<Time>,
    /// Only entries whose name, without path, this accepts.
    pub name: Option<NameCondition<'a>>,
    /// Only entries of these types; empty for all. Costs a `statx` an entry that goes: what the listing told may no longer be so.
    pub types: &'a [FileType],
}

impl Conditions<'_> {
    /// No condition: everything goes.
    pub const NONE: Self = Self { older_than: None, name: None, types: &[] };

    /// Returns whether everything goes.
    pub fn is_none(&self) -> bool {
        self.older_than.is_none() && self.name.is_none() && self.types.is_empty()
    }

    /// Tells whether a name is accepted.
    #[cfg(any(target_os = "linux", windows))]
    pub(super) fn accepts_name(&self, name: &[u8]) -> bool {
        self.name.is_none_or(|accepts| accepts(name))
    }

    /// Tells whether a type is accepted.
    #[cfg(any(target_os = "linux", windows))]
    pub(super) fn accepts_type(&self, kind: FileType) -> bool {
        self.types.is_empty() || self.types.contains(&kind)
    }

    /// Tells whether an entry must be looked at just before it goes.
    #[cfg(any(target_os = "linux", windows))]
    pub(super) fn needs_look(&self) -> bool {
        self.older_than.is_some() || !self.types.is_empty()
    }

    /// Tells whether a type and a time of modification are accepted; one that is not known is not.
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
