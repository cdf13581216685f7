//! Which attributes are wanted, or had: a set.

use std::fmt;
use std::ops::{BitAnd, BitOr};

/// A set of attributes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Want(u16);

/// Every attribute with the name used in options and output.
const NAMES: [(Want, &str); 11] = [
    (Want::TYPE, "type"),
    (Want::SIZE, "size"),
    (Want::MODIFIED, "mtime"),
    (Want::CHANGED, "ctime"),
    (Want::BORN, "btime"),
    (Want::MODE, "mode"),
    (Want::OWNER, "owner"),
    (Want::LINKS, "links"),
    (Want::INODE, "inode"),
    (Want::DEVICE, "device"),
    (Want::MOUNT, "mount"),
];

impl Want {
    /// No attribute.
    pub const NOTHING: Self = Self(0);
    /// The type.
    pub const TYPE: Self = Self(1);
    /// The size.
    pub const SIZE: Self = Self(1 << 1);
    /// When the contents were last modified.
    pub const MODIFIED: Self = Self(1 << 2);
    /// When the inode was last changed.
    pub const CHANGED: Self = Self(1 << 3);
    /// When the inode was made.
    pub const BORN: Self = Self(1 << 4);
    /// The permission bits.
    pub const MODE: Self = Self(1 << 5);
    /// User and group.
    pub const OWNER: Self = Self(1 << 6);
    /// The number of hard links.
    pub const LINKS: Self = Self(1 << 7);
    /// The inode number.
    pub const INODE: Self = Self(1 << 8);
    /// The device.
    pub const DEVICE: Self = Self(1 << 9);
    /// The mount.
    pub const MOUNT: Self = Self(1 << 10);
    /// Every attribute.
    pub const ALL: Self = Self((1 << 11) - 1);

    /// Returns whether every attribute of `other` is in this set.
    #[inline]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the attributes of both sets.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the set without the attributes of `other`.
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the attribute with a name such as `mtime`.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Returns the names of the attributes in the set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.iter().filter(move |row| self.contains(row.0)).map(|row| row.1)
    }
}

impl BitOr for Want {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitAnd for Want {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl FromIterator<Self> for Want {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        sets.into_iter().fold(Self::NOTHING, BitOr::bitor)
    }
}

impl fmt::Debug for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{NAMES, Want};

    #[test]
    fn every_attribute_has_one_name_that_leads_back() {
        for (want, name) in NAMES {
            assert_eq!(Want::from_name(name), Some(want));
            assert_eq!(want.names().collect::<Vec<_>>(), [name]);
        }
        assert_eq!(NAMES.iter().map(|row| row.0).collect::<Want>(), Want::ALL);
        assert_eq!(Want::from_name("atime"), None);
    }
}
