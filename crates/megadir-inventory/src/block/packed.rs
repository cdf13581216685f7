//! Rows of 64 bytes, and rare values that do not fit.

use megadir::FileType;

use crate::row::{ContentHash, Facts};

pub(super) mod bit {
    pub(in crate::block) const SIZE: u16 = 1;
    pub(in crate::block) const MODIFIED: u16 = 1 << 1;
    pub(in crate::block) const CHANGED: u16 = 1 << 2;
    pub(in crate::block) const BORN: u16 = 1 << 3;
    pub(in crate::block) const INODE: u16 = 1 << 4;
    pub(in crate::block) const MODE: u16 = 1 << 5;
    pub(in crate::block) const USER: u16 = 1 << 6;
    pub(in crate::block) const GROUP: u16 = 1 << 7;
    pub(in crate::block) const LINKS: u16 = 1 << 8;
    pub(in crate::block) const DEVICE: u16 = 1 << 9;
    /// All values but the space on disk and the access time are present, and none in `Block::odd`.
    pub(in crate::block) const ALL: u16 = (1 << 10) - 1;
    pub(in crate::block) const ODD: u16 = 1 << 10;
    pub(in crate::block) const ALLOCATED: u16 = 1 << 11;
}

/// The order of the fields leaves no padding, so that a row has exactly 64 bytes, a cache line. Type and
/// permissions share 16 bits (`mode_and_kind`). Space on disk is stored as its difference to the size, which
/// is small for almost every file; a file with more than 16 MiB of holes or preallocated space has its value
/// in `odd`. Fields that are absent are 0, and their bit in `have` is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    pub(super) size_bytes: u64,
    pub(super) modified_ns: i64,
    pub(super) changed_ns: i64,
    pub(super) born_ns: i64,
    pub(super) inode: u64,
    pub(super) name_start: u32,
    pub(super) links: u32,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) mode_and_kind: u16,
    pub(super) have: u16,
    pub(super) name_bytes: u16,
    /// Space on disk beyond the size, in units of 512 bytes.
    pub(super) more_units: i16,
}

impl Packed {
    #[inline]
    pub(super) fn time_ns(&self) -> Option<i64> {
        match self.have {
            have if have & bit::CHANGED != 0 => Some(self.changed_ns),
            have if have & bit::MODIFIED != 0 => Some(self.modified_ns),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn allocated_bytes(&self) -> Option<u64> {
        let units = self.size_bytes.div_ceil(UNIT_BYTES).wrapping_add_signed(self.more_units.into());
        (self.have & bit::ALLOCATED != 0).then(|| units.wrapping_mul(UNIT_BYTES))
    }

    #[inline]
    pub(super) fn set_allocated(&mut self, bytes: Option<u64>) -> bool {
        let Some(bytes) = bytes else { return true };
        let more_units = more_units(bytes, self.size_bytes);
        (self.have, self.more_units) = (self.have | bit::ALLOCATED, more_units.unwrap_or(0));
        more_units.is_some()
    }
}

const UNIT_BYTES: u64 = 512;

/// `None` if it does not fit, as for large sparse files.
#[inline]
fn more_units(allocated_bytes: u64, size_bytes: u64) -> Option<i16> {
    let units = (allocated_bytes / UNIT_BYTES).wrapping_sub(size_bytes.div_ceil(UNIT_BYTES)) as i64;
    i16::try_from(units).ok().filter(|_| allocated_bytes.is_multiple_of(UNIT_BYTES))
}

pub(super) fn fits(allocated_bytes: u64, size_bytes: Option<u64>) -> bool {
    more_units(allocated_bytes, size_bytes.unwrap_or(0)).is_some()
}

#[inline]
pub(super) fn mode_and_kind(mode: u16, kind: FileType) -> u16 {
    mode & 0xfff | (kind as u16) << 12
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Odd {
    Device(u64),
    InodeHigh(u64),
    Links(u64),
    Errno(i32),
    Allocated(u64),
    Error(Box<str>),
    Hash(ContentHash),
}

/// Returns `true` if some value did not fit and must be added to `odd`. The bit [`bit::ODD`] marks such rows,
/// so that a lookup of an ordinary row never searches there.
#[inline]
pub(super) fn pack(facts: &Facts, device: Option<u64>, name_start: u32, name_bytes: u16) -> (Packed, bool) {
    let mut have = 0;
    let mut set = |is: bool, bit: u16| have |= if is { bit } else { 0 };
    set(facts.size_bytes.is_some(), bit::SIZE);
    set(facts.modified_ns.is_some(), bit::MODIFIED);
    set(facts.changed_ns.is_some(), bit::CHANGED);
    set(facts.born_ns.is_some(), bit::BORN);
    set(facts.inode.is_some(), bit::INODE);
    set(facts.mode.is_some(), bit::MODE);
    set(facts.user.is_some(), bit::USER);
    set(facts.group.is_some(), bit::GROUP);
    let links = facts.links.and_then(|links| u32::try_from(links).ok());
    set(links.is_some(), bit::LINKS);
    set(facts.device.is_some() && facts.device == device, bit::DEVICE);
    let odd = (facts.device.is_some() && facts.device != device)
        || facts.inode_high.is_some()
        || facts.links.is_some() && links.is_none()
        || facts.errno.is_some()
        || facts.hash.is_some();
    set(odd, bit::ODD);
    let mut packed = Packed {
        size_bytes: facts.size_bytes.unwrap_or(0),
        modified_ns: facts.modified_ns.unwrap_or(0),
        changed_ns: facts.changed_ns.unwrap_or(0),
        born_ns: facts.born_ns.unwrap_or(0),
        inode: facts.inode.unwrap_or(0),
        name_start,
        links: links.unwrap_or(0),
        user: facts.user.unwrap_or(0),
        group: facts.group.unwrap_or(0),
        mode_and_kind: mode_and_kind(facts.mode.unwrap_or(0), facts.kind),
        have,
        name_bytes,
        more_units: 0,
    };
    let fits = packed.set_allocated(facts.allocated_bytes);
    packed.have |= if fits { 0 } else { bit::ODD };
    (packed, odd || !fits)
}
