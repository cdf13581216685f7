//! Conditions on entries: one implementation for listing, walking, removing, inventories and comparisons.
//!
//! [`Conditions::exclude`] and [`Conditions::depth_max`] limit what exists for the caller: an excluded directory is not
//! entered. All other conditions choose among the entries that are seen; a directory that does not meet them is still entered.
//!
//! `changes` applies the first kind to both sides, and the others to the changes, so that an entry that starts to meet
//! a condition is not taken for a new one. The path and depth of a directory are computed only if a condition needs
//! them, because the path of each directory would take time quadratic in the depth of a tree.

mod globs;

use crate::attributes::{Attributes, StatMask, Time};
use crate::file_type::FileType;
use crate::tree_path::TreePath;

pub use self::globs::{BadGlob, Globs};

/// Time of an entry that ages are taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeKind {
    /// Last modification of the contents.
    #[default]
    Modified,
    /// Last access.
    Accessed,
    /// Last change of the inode.
    Changed,
    /// Creation.
    Born,
    /// Last use: the later of access and modification. On mounts that record accesses seldom or never (relatime, noatime), a file
    /// that was written since counts as used all the same.
    Used,
}

impl TimeKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Modified, Self::Accessed, Self::Changed, Self::Born, Self::Used];

    /// Name in options, such as `mtime`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Used => "use",
            of_one_attribute => of_one_attribute.want().names().next().unwrap_or_default(),
        }
    }

    /// Attributes that hold the time.
    pub fn want(self) -> StatMask {
        match self {
            Self::Modified => StatMask::MODIFIED,
            Self::Accessed => StatMask::ACCESSED,
            Self::Changed => StatMask::CHANGED,
            Self::Born => StatMask::BORN,
            Self::Used => StatMask::ACCESSED | StatMask::MODIFIED,
        }
    }

    /// Value in a row, valid if the row has [`TimeKind::want`].
    pub fn of(self, row: &Attributes) -> Time {
        match self {
            Self::Modified => row.modified,
            Self::Accessed => row.accessed,
            Self::Changed => row.changed,
            Self::Born => row.born,
            Self::Used => row.accessed.max(row.modified),
        }
    }
}

/// Conditions that an entry must meet, all of them; [`Conditions::default`] accepts every entry. Depths and
/// paths begin below the directory that the caller names: its entries have depth 1.
///
/// ```
/// use megadir::{Attributes, Conditions, FileType, Globs, TreePath};
/// let conditions = Conditions {
///     exclude: Globs::of_names_or_paths(&[".git", "target/debug"])?,
///     names: Globs::of_names(&["*.rs"])?,
///     ..Conditions::default()
/// };
/// let top = conditions.place(&TreePath::root());
/// assert!(conditions.enters(&top, b"src") && !conditions.enters(&top, b".git"));
/// let src = conditions.place(&TreePath::from(b"src"));
/// assert!(conditions.accepts(&src, b"lib.rs", FileType::File, &Attributes::NOTHING));
/// # Ok::<(), megadir::BadGlob>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Entries that do not exist for the caller, nor anything below them.
    pub exclude: Globs,
    /// Deepest entries that exist for the caller.
    pub depth_max: Option<u32>,
    /// Names that are accepted; empty for all.
    pub names: Globs,
    /// Paths that are accepted; empty for all.
    pub paths: Globs,
    /// Types that are accepted; empty for all.
    pub types: Vec<FileType>,
    /// Time that `before` and `since` compare.
    pub by: TimeKind,
    /// Only entries with an earlier time.
    pub before: Option<Time>,
    /// Only entries with this time or a later one.
    pub since: Option<Time>,
    /// Only entries with more bytes.
    pub larger_than: Option<u64>,
    /// Only entries with fewer bytes.
    pub smaller_than: Option<u64>,
    /// Only entries of this user ID.
    pub user: Option<u32>,
}

/// Position of a directory below the named one, as far as the conditions depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    depth: u32,
    /// With a trailing slash; empty for the named directory.
    path: Vec<u8>,
}

impl Place {
    /// Position of the named directory.
    pub const TOP: Self = Self { depth: 0, path: Vec::new() };
}

impl Conditions {
    /// `true` if every entry is accepted.
    pub fn is_none(&self) -> bool {
        !self.limits_sight()
            && self.names.is_empty()
            && self.paths.is_empty()
            && self.types.is_empty()
            && self.want() == StatMask::NOTHING
    }

    /// `true` if some entries do not exist for the caller.
    pub fn limits_sight(&self) -> bool {
        !self.exclude.is_empty() || self.depth_max.is_some()
    }

    /// Attributes needed in addition to the type.
    pub fn want(&self) -> StatMask {
        let needed = |is: bool, want| if is { want } else { StatMask::NOTHING };
        needed(self.before.is_some() || self.since.is_some(), self.by.want())
            | needed(self.larger_than.is_some() || self.smaller_than.is_some(), StatMask::SIZE)
            | needed(self.user.is_some(), StatMask::OWNER)
    }

    /// The same without the conditions on times.
    #[must_use]
    pub fn without_times(&self) -> Self {
        Self { before: None, since: None, ..self.clone() }
    }

    /// `true` if an entry that is moved may meet the conditions then.
    #[cfg(target_os = "linux")]
    pub(crate) fn protects_places(&self) -> bool {
        self.limits_sight() || !self.paths.is_empty()
    }

    pub(crate) fn needs_places(&self) -> bool {
        self.needs_paths() || self.depth_max.is_some()
    }

    fn needs_paths(&self) -> bool {
        self.exclude.has_paths() || self.paths.has_paths()
    }

    /// Position of the directory at `below`.
    pub fn place(&self, below: &TreePath) -> Place {
        // Building each path would take time quadratic in the depth of a tree.
        if below.is_empty() || !self.needs_places() {
            return Place::default();
        }
        let mut path = below.to_vec();
        path.push(b'/');
        let depth = path.iter().filter(|byte| **byte == b'/').count() as u32;
        Place { depth, path: if self.needs_paths() { path } else { Vec::new() } }
    }

    /// Position of the directory `name` in the directory at `place`.
    pub fn place_below(&self, place: &Place, name: &[u8]) -> Place {
        let path = if self.needs_paths() { [&*place.path, name, b"/"].concat() } else { Vec::new() };
        Place { depth: place.depth.saturating_add(1), path }
    }

    /// `true` if no entry of the directory exists for the caller.
    pub fn hides_all(&self, place: &Place) -> bool {
        self.depth_max.is_some_and(|max| place.depth >= max)
    }

    /// `true` if the entry exists for the caller.
    #[inline]
    pub fn sees(&self, place: &Place, name: &[u8]) -> bool {
        !self.hides_all(place) && (self.exclude.is_empty() || !self.excludes(place, name))
    }

    fn excludes(&self, place: &Place, name: &[u8]) -> bool {
        self.exclude.match_name(name)
            || self.exclude.has_paths() && self.exclude.match_path(&path(place, name))
    }

    /// `true` if entries of the directory `name` may exist for the caller.
    #[inline]
    pub fn enters(&self, place: &Place, name: &[u8]) -> bool {
        self.depth_max.is_none_or(|max| place.depth.saturating_add(1) < max) && self.sees(place, name)
    }

    /// `true` if name and path meet the conditions.
    #[inline]
    pub fn accepts_name(&self, place: &Place, name: &[u8]) -> bool {
        (self.names.is_empty() || self.names.match_name(name))
            && self.sees(place, name)
            && (self.paths.is_empty() || self.paths.match_path(&path(place, name)))
    }

    /// `true` if the type meets the conditions.
    #[inline]
    pub fn accepts_type(&self, kind: FileType) -> bool {
        self.types.is_empty() || self.types.contains(&kind)
    }

    /// `true` if the attributes in [`Conditions::want`] meet the conditions. An unknown attribute does not.
    #[inline]
    pub fn accepts_attributes(&self, row: &Attributes) -> bool {
        row.have.contains(self.want())
            && self.before.is_none_or(|before| self.by.of(row) < before)
            && self.since.is_none_or(|since| self.by.of(row) >= since)
            && self.larger_than.is_none_or(|size| row.size_bytes > size)
            && self.smaller_than.is_none_or(|size| row.size_bytes < size)
            && self.user.is_none_or(|user| row.user == user)
    }

    /// `true` if the entry `name` of the directory at `place` meets all conditions. `listed` is its type if the attributes have none.
    #[inline]
    pub fn accepts(&self, place: &Place, name: &[u8], listed: FileType, row: &Attributes) -> bool {
        let kind = if row.have.contains(StatMask::TYPE) { row.kind } else { listed };
        self.accepts_type(kind) && self.accepts_name(place, name) && self.accepts_attributes(row)
    }

    /// As [`Conditions::accepts`], but an entry with unreadable attributes need only meet the conditions on
    /// names and types, so that its error is noticed.
    #[inline]
    pub fn may_accept(&self, place: &Place, name: &[u8], listed: FileType, row: &Attributes) -> bool {
        match row.error {
            0 => self.accepts(place, name, listed, row),
            _ => self.accepts_type(listed) && self.accepts_name(place, name),
        }
    }
}

fn path(place: &Place, name: &[u8]) -> Vec<u8> {
    [&*place.path, name].concat()
}

#[cfg(test)]
mod tests {
    use super::{Conditions, Globs, TimeKind};
    use crate::attributes::{Attributes, StatMask, Time};
    use crate::file_type::FileType;
    use crate::tree_path::TreePath;

    #[test]
    fn an_excluded_directory_is_neither_seen_nor_entered() {
        let exclude = Globs::of_names_or_paths(&["*.tmp", "a/b"]).unwrap();
        let conditions = Conditions { exclude, ..Conditions::default() };
        let top = conditions.place(&TreePath::root());
        let a = conditions.place(&TreePath::from(b"a"));
        assert_eq!(a, conditions.place_below(&top, b"a"));
        assert!(conditions.sees(&top, b"b") && !conditions.sees(&a, b"b") && !conditions.enters(&a, b"b"));
        assert!(!conditions.sees(&top, b"x.tmp") && !conditions.accepts_name(&a, b"x.tmp"));
    }

    #[test]
    fn the_deepest_level_is_seen_and_not_entered() {
        let conditions = Conditions { depth_max: Some(2), ..Conditions::default() };
        let places = ["", "a", "a/b"].map(|path| conditions.place(&TreePath::from(path.as_bytes())));
        assert_eq!(places.each_ref().map(|place| conditions.sees(place, b"x")), [true, true, false]);
        assert_eq!(places.each_ref().map(|place| conditions.enters(place, b"x")), [true, false, false]);
        let below = conditions.place_below(&conditions.place_below(&places[0], b"a"), b"b");
        assert!(conditions.hides_all(&below) && conditions.hides_all(&places[2]));
    }

    #[test]
    fn ages_are_of_the_time_that_is_named_and_unknown_times_match_nothing() {
        let time = |seconds| Time { seconds, nanoseconds: 0 };
        let row = Attributes {
            have: StatMask::ALL,
            modified: time(1),
            accessed: time(2),
            changed: time(3),
            born: time(4),
            ..Attributes::NOTHING
        };
        for (by, seconds) in TimeKind::ALL.into_iter().zip([1, 2, 3, 4, 2]) {
            let older = Conditions { by, before: Some(time(seconds + 1)), ..Conditions::default() };
            let newer = Conditions { by, since: Some(time(seconds)), ..Conditions::default() };
            assert!(older.accepts_attributes(&row) && newer.accepts_attributes(&row), "{by:?}");
            let (not_older, not_newer) = (Some(time(seconds)), Some(time(seconds + 1)));
            assert!(!Conditions { before: not_older, ..older.clone() }.accepts_attributes(&row));
            assert!(!Conditions { since: not_newer, ..newer }.accepts_attributes(&row));
            let unknown = Attributes { have: StatMask::ALL.without(by.want()), ..row };
            assert!(!older.accepts_attributes(&unknown), "{by:?}");
        }
        let written_since = Attributes { modified: time(9), ..row };
        assert_eq!(TimeKind::Used.of(&written_since), time(9), "the access time may not be recorded");
        assert!(Conditions::default().accepts(
            &super::Place::default(),
            b"x",
            FileType::File,
            &Attributes::NOTHING
        ));
    }
}
