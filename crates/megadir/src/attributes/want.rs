//! Sets of attributes.

use std::fmt;
use std::ops::{BitAnd, BitOr};

/// Set of attributes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StatMask(u16);

const NAMES: [(StatMask, &str); 14] = [
    (StatMask::TYPE, "type"),
    (StatMask::SIZE, "size"),
    (StatMask::MODIFIED, "mtime"),
    (StatMask::CHANGED, "ctime"),
    (StatMask::BORN, "btime"),
    (StatMask::MODE, "mode"),
    (StatMask::OWNER, "owner"),
    (StatMask::LINKS, "links"),
    (StatMask::INODE, "inode"),
    (StatMask::DEVICE, "device"),
    (StatMask::MOUNT, "mount"),
    (StatMask::ALLOCATED, "allocated"),
    (StatMask::ACCESSED, "atime"),
    (StatMask::SPECIAL, "rdev"),
];

impl StatMask {
    /// No attribute.
    pub const NOTHING: Self = Self(0);
    /// Type.
    pub const TYPE: Self = Self(1);
    /// Size.
    pub const SIZE: Self = Self(1 << 1);
    /// Time of the last modification of the contents.
    pub const MODIFIED: Self = Self(1 << 2);
    /// Time of the last change of the inode.
    pub const CHANGED: Self = Self(1 << 3);
    /// Time of creation.
    pub const BORN: Self = Self(1 << 4);
    /// Permission bits.
    pub const MODE: Self = Self(1 << 5);
    /// User and group ID.
    pub const OWNER: Self = Self(1 << 6);
    /// Number of hard links.
    pub const LINKS: Self = Self(1 << 7);
    /// Inode number.
    pub const INODE: Self = Self(1 << 8);
    /// Device.
    pub const DEVICE: Self = Self(1 << 9);
    /// Mount.
    pub const MOUNT: Self = Self(1 << 10);
    /// Space that the contents occupy.
    pub const ALLOCATED: Self = Self(1 << 11);
    /// Time of the last access.
    pub const ACCESSED: Self = Self(1 << 12);
    /// Device that a block or character device stands for.
    pub const SPECIAL: Self = Self(1 << 13);
    /// All attributes.
    pub const ALL: Self = Self((1 << 14) - 1);

    /// `true` if all attributes of `other` are in this set.
    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Attributes in either set.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Attributes not in `other`.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Finds an attribute by name, such as `mtime`.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Names of the attributes in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |row| self.contains(row.0)).map(|row| row.1)
    }
}

impl BitOr for StatMask {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitAnd for StatMask {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl FromIterator<Self> for StatMask {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        sets.into_iter().fold(Self::NOTHING, BitOr::bitor)
    }
}

impl fmt::Debug for StatMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMES, StatMask};

    #[test]
    fn every_attribute_has_one_name_that_leads_back() {
        for (want, name) in NAMES {
            assert_eq!(StatMask::from_name(name), Some(want));
            assert_eq!(want.names().collect::<Vec<_>>(), [name]);
        }
        assert_eq!(NAMES.iter().map(|row| row.0).collect::<StatMask>(), StatMask::ALL);
        assert_eq!(StatMask::from_name("access"), None);
    }
}
