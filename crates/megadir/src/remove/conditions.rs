//! Selects the entries to remove.

use super::RemoveOptions;

/// Predicate on an entry's name.
pub type NameCondition<'a> = &'a (dyn Fn(&[u8]) -> bool + Sync);

impl RemoveOptions<'_> {
    pub(super) fn removes_all(&self) -> bool {
        self.name.is_none()
            && self.keep_newest.is_none()
            && self.conditions.is_none_or(crate::Conditions::is_none)
    }
}

#[cfg(any(target_os = "linux", windows))]
mod checks {
    use super::RemoveOptions;
    use crate::attributes::{Attributes, StatMask};
    use crate::conditions::{Place, TimeKind};
    use crate::file_type::FileType;

    impl RemoveOptions<'_> {
        pub(in crate::remove) fn accepts_name(&self, place: &Place, name: &[u8]) -> bool {
            self.conditions.is_none_or(|conditions| conditions.accepts_name(place, name))
                && self.name.is_none_or(|accepts| accepts(name))
        }

        pub(in crate::remove) fn accepts_type(&self, kind: FileType) -> bool {
            self.conditions.is_none_or(|conditions| conditions.accepts_type(kind))
        }

        pub(in crate::remove) fn want(&self) -> StatMask {
            let newest = if self.keep_newest.is_some() { self.by().want() } else { StatMask::NOTHING };
            newest | self.conditions.map_or(StatMask::NOTHING, crate::Conditions::want)
        }

        pub(in crate::remove) fn by(&self) -> TimeKind {
            self.conditions.map_or_else(TimeKind::default, |conditions| conditions.by)
        }

        /// An attribute or the type is queried just before the removal.
        pub(in crate::remove) fn needs_look(&self) -> bool {
            self.want() != StatMask::NOTHING
                || self.conditions.is_some_and(|conditions| !conditions.types.is_empty())
        }

        /// Unknown attributes are not accepted.
        pub(in crate::remove) fn accepts_facts(&self, facts: &Attributes) -> bool {
            self.conditions.is_none_or(|conditions| {
                conditions.accepts_type(facts.kind) && conditions.accepts_attributes(facts)
            })
        }

        pub(in crate::remove) fn sees_below(&self, place: &Place) -> bool {
            self.conditions.is_none_or(|conditions| !conditions.hides_all(place))
        }

        /// At the greatest depth only to see if the directory is empty.
        pub(in crate::remove) fn opens(&self, place: &Place, name: &[u8]) -> bool {
            self.conditions.is_none_or(|conditions| conditions.sees(place, name))
        }
    }
}
