//! Methods of small sets whose members have names in options and output.

/// Implements a set that is a number with a bit for each member. `NAMES` has a row for each of them, in the order of the output, and
/// `NOTHING` is the empty set.
macro_rules! named_set {
    ($set:ident, $names:ident) => {
        impl $set {
            /// `true` if the set has no member.
            pub fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// `true` if every member of `other` is in this set.
            pub fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Union of both sets.
            #[must_use]
            pub fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// Names of all members, in the order of the output.
            pub fn all_names() -> impl Iterator<Item = &'static str> + Clone {
                $names.iter().map(|row| row.1)
            }

            /// The member of a name.
            pub fn from_name(name: &str) -> Option<Self> {
                $names.iter().find(|row| row.1 == name).map(|row| row.0)
            }

            /// Names of the members, e.g. `size` or `mtime`.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                $names.iter().filter(move |row| self.contains(row.0)).map(|row| row.1)
            }
        }

        impl std::fmt::Debug for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_set().entries(self.names()).finish()
            }
        }
    };
}

pub(crate) use named_set;
