//! Decodes ext4's superblock, group descriptors and inodes as they are on the device, from plain bytes. A
//! mounted device is trusted by the kernel, not here: every checksum is verified, every number is checked, and
//! no bytes make the decoder panic (`Documentation/filesystems/ext4`, `fs/ext4/ext4.h`).

use std::fmt;
use std::ops::Range;

use megadir_sys::ext4::Features;

use crate::attributes::{Attributes, Time};
use crate::file_type::FileType;

pub const SUPERBLOCK_OFFSET: u64 = 1024;
pub const SUPERBLOCK_BYTES: usize = 1024;

const INODE_BYTES_MIN: usize = 128;
const EXTRA_BYTES_MIN: usize = 24;

pub(crate) mod features {
    pub(crate) const DIR_INDEX: u32 = 0x20;
    pub(super) const META_BG: u32 = 0x10;
    pub(super) const BIT64: u32 = 0x80;
    pub(super) const CSUM_SEED: u32 = 0x2000;
    pub(crate) const LARGEDIR: u32 = 0x4000;
    pub(crate) const INLINE_DATA: u32 = 0x8000;
    /// filetype, recover, extents, mmp, flex_bg, ea_inode, inline_data, encrypt, casefold, and those above.
    pub(super) const KNOWN_INCOMPAT: u32 = 0x0003_e7c6;
    pub(super) const HUGE_FILE: u32 = 0x8;
    pub(crate) const DIR_NLINK: u32 = 0x20;
    pub(crate) const METADATA_CSUM: u32 = 0x400;
}

pub(crate) mod flags {
    pub(crate) const ENCRYPTED: u32 = 0x800;
    pub(crate) const INDEX: u32 = 0x1000;
    pub(crate) const CASEFOLD: u32 = 0x4000_0000;
    pub(super) const EXTENTS: u32 = 0x8_0000;
    pub(super) const HUGE_FILE: u32 = 0x4_0000;
    pub(super) const EA_INODE: u32 = 0x20_0000;
    pub(super) const INLINE_DATA: u32 = 0x1000_0000;
}

/// Reason why inodes of a file system are not read from its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Also while the superblock is being written.
    NoSuperblock,
    NoChecksums,
    MetaBg,
    /// Incompatible features that this program does not know.
    Unknown(u32),
    NotOfLinux,
    Nonsense,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuperblock => f.write_str("the device has no valid superblock of ext4"),
            Self::NoChecksums => f.write_str(
                "the file system has no checksums of its inodes; `tune2fs -O metadata_csum` adds them",
            ),
            Self::MetaBg => f.write_str("the file system has the feature meta_bg, which is not supported"),
            Self::Unknown(bits) => write!(f, "the file system has features that are not known ({bits:#x})"),
            Self::NotOfLinux => f.write_str("the file system is of another operating system than Linux"),
            Self::Nonsense => f.write_str("the superblock contradicts itself"),
        }
    }
}

/// Reason why bytes do not give the attributes of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The checksum is wrong: perhaps the inode was written meanwhile.
    Invalid,
    /// The inode is encrypted, holds an extended attribute, or has fields that only the kernel completes.
    Incomplete,
}

/// Features, of file systems without checksums too; no checksum is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SuperblockFeatures {
    pub(crate) masks: Features,
    /// Default hash of directories (`s_def_hash_version`).
    pub(crate) hash_version: u8,
}

impl SuperblockFeatures {
    pub(crate) fn decode(bytes: &[u8; SUPERBLOCK_BYTES]) -> Option<Self> {
        let [compat, incompat, ro_compat] = [0x5c, 0x60, 0x64].map(|at| u32_at(bytes, at));
        let masks = Features { compat, incompat, ro_compat };
        (u16_at(bytes, 0x38) == 0xef53).then_some(Self { masks, hash_version: bytes[0xfc] })
    }
}

/// Places of the inodes, from the superblock.
///
/// Everything needed to find an inode by its number, checked once for plausibility, since later code
/// computes places of reads with it. Numbers of blocks are of the file system's own size (`block_bytes`).
/// `checksum_seed` begins every checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub uuid: [u8; 16],
    /// At least 128, a power of two, and at most a block.
    pub inode_bytes: usize,
    /// Bytes of a group descriptor, 32 to a block.
    pub descriptor_bytes: usize,
    block_bytes: u64,
    blocks: u64,
    inodes: u32,
    inodes_per_group: u32,
    checksum_seed: u32,
    has_large_directories: bool,
    has_huge_files: bool,
}

/// Inode table of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Bytes from the start of the device.
    pub offset: u64,
    /// Inodes from its start on that have been used; the rest may never have been written.
    pub used: u32,
}

/// Position of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub group: u32,
    /// In the group's table.
    pub index: u32,
}

impl Geometry {
    /// Decodes the superblock: [`SUPERBLOCK_BYTES`] from [`SUPERBLOCK_OFFSET`] on.
    pub fn decode(superblock: &[u8]) -> Result<Self, Refusal> {
        // Refuses everything that would make a wrong inode look right: no checksums, unknown incompatible
        // features (which may move inodes elsewhere), and `META_BG`, whose descriptors are at other places.
        // The checksum is compared before any field is used. The superblock may be written at this moment, so
        // a caller tries again.
        let bytes: &[u8; SUPERBLOCK_BYTES] = superblock.try_into().map_err(|_| Refusal::NoSuperblock)?;
        let superblock = SuperblockFeatures::decode(bytes).ok_or(Refusal::NoSuperblock)?;
        let Features { incompat, ro_compat, .. } = superblock.masks;
        if ro_compat & features::METADATA_CSUM == 0 {
            return Err(Refusal::NoChecksums);
        }
        if bytes[0x175] != 1 || checksum(!0, &bytes[..0x3fc]) != u32_at(bytes, 0x3fc) {
            return Err(Refusal::NoSuperblock);
        }
        if incompat & features::META_BG != 0 {
            return Err(Refusal::MetaBg);
        }
        match incompat & !features::KNOWN_INCOMPAT {
            0 => {}
            unknown => return Err(Refusal::Unknown(unknown)),
        }
        if u32_at(bytes, 0x48) != 0 {
            return Err(Refusal::NotOfLinux);
        }
        let is_64_bit = incompat & features::BIT64 != 0;
        let uuid: [u8; 16] = std::array::from_fn(|index| bytes[0x68 + index]);
        let geometry = Self {
            uuid,
            inode_bytes: u16_at(bytes, 0x58).into(),
            descriptor_bytes: if is_64_bit { u16_at(bytes, 0xfe).into() } else { 32 },
            block_bytes: 1024_u64.checked_shl(u32_at(bytes, 0x18)).unwrap_or(0),
            blocks: u64::from(u32_at(bytes, 4))
                | if is_64_bit { u64::from(u32_at(bytes, 0x150)) << 32 } else { 0 },
            inodes: u32_at(bytes, 0),
            inodes_per_group: u32_at(bytes, 0x28),
            checksum_seed: match incompat & features::CSUM_SEED {
                0 => checksum(!0, &uuid),
                _ => u32_at(bytes, 0x270),
            },
            has_large_directories: incompat & features::LARGEDIR != 0,
            has_huge_files: ro_compat & features::HUGE_FILE != 0,
        };
        if geometry.is_plausible(is_64_bit) { Ok(geometry) } else { Err(Refusal::Nonsense) }
    }

    fn is_plausible(&self, is_64_bit: bool) -> bool {
        let descriptor_bytes_min = if is_64_bit { 64 } else { 32 };
        let block_bytes = self.block_bytes as usize;
        (1 << 10..=1 << 16).contains(&self.block_bytes)
            && self.inode_bytes.is_power_of_two()
            && (INODE_BYTES_MIN..=block_bytes).contains(&self.inode_bytes)
            && self.descriptor_bytes.is_power_of_two()
            && (descriptor_bytes_min..=block_bytes).contains(&self.descriptor_bytes)
            && (1..=self.block_bytes as u32 * 8).contains(&self.inodes_per_group)
            && self.blocks.checked_mul(self.block_bytes).is_some_and(|bytes| bytes <= i64::MAX as u64)
            && self.inodes > 0
    }

    /// `None` if the file system has no such inode.
    #[inline]
    pub fn place(&self, inode: u64) -> Option<Place> {
        let from_zero = u32::try_from(inode).ok()?.checked_sub(1)?;
        let place =
            Place { group: from_zero / self.inodes_per_group, index: from_zero % self.inodes_per_group };
        (from_zero < self.inodes).then_some(place)
    }

    /// Position of a group's descriptor on the device, bytes.
    pub fn descriptor_offset(&self, group: u32) -> u64 {
        let superblock = SUPERBLOCK_OFFSET / self.block_bytes;
        (superblock + 1) * self.block_bytes + u64::from(group) * self.descriptor_bytes as u64
    }

    /// Decodes a group's descriptor; `None` if it is invalid.
    pub fn table(&self, group: u32, descriptor: &[u8]) -> Option<Table> {
        if self.descriptor_checksum(group, descriptor)? as u16 != u16_at(descriptor, 0x1e) {
            return None;
        }
        let is_wide = self.descriptor_bytes >= 64;
        let (block_high, unused_high) =
            if is_wide { (u32_at(descriptor, 0x28), u16_at(descriptor, 0x32)) } else { (0, 0) };
        let block = u64::from(u32_at(descriptor, 8)) | u64::from(block_high) << 32;
        let unused = u32::from(u16_at(descriptor, 0x1c)) | u32::from(unused_high) << 16;
        // Bit 0: no inode of the group was ever used.
        let used = match u16_at(descriptor, 0x12) & 1 {
            0 => self.inodes_per_group.checked_sub(unused)?,
            _ => 0,
        };
        let blocks = self.table_bytes().div_ceil(self.block_bytes);
        let is_inside = block > 0 && block.checked_add(blocks)? <= self.blocks;
        is_inside.then(|| Table { offset: block * self.block_bytes, used })
    }

    /// Bytes of each group's inode table.
    pub fn table_bytes(&self) -> u64 {
        u64::from(self.inodes_per_group) * self.inode_bytes as u64
    }

    fn descriptor_checksum(&self, group: u32, descriptor: &[u8]) -> Option<u32> {
        let before = descriptor.get(..0x1e)?;
        let after = descriptor.get(0x20..self.descriptor_bytes)?;
        let sum = checksum(checksum(self.checksum_seed, &group.to_le_bytes()), before);
        Some(checksum(checksum(sum, &[0; 2]), after))
    }

    /// Inodes of a table, by index, in pages of the device's cache that hold nothing but used blocks of it. The kernel
    /// initialises unused blocks without the page cache, so that a page read too early would keep the contents from
    /// before; with blocks smaller than a page it would be one with used blocks.
    pub fn readable(&self, table: Table, page_bytes: u64) -> Range<u32> {
        let inode_bytes = self.inode_bytes as u64;
        let start = (table.offset.next_multiple_of(page_bytes) - table.offset).div_ceil(inode_bytes);
        let used_to = (table.offset + u64::from(table.used) * inode_bytes).next_multiple_of(self.block_bytes);
        let end = (used_to / page_bytes * page_bytes).saturating_sub(table.offset) / inode_bytes;
        let end = end.min(table.used.into());
        start.min(end) as u32..end as u32
    }

    /// `true` if times are whole seconds.
    pub fn keeps_seconds_only(&self) -> bool {
        self.inode_bytes == INODE_BYTES_MIN
    }

    /// Attributes of an inode in use, as statx(2) returns them after everything was written; of its fields
    /// only `have`, `device` and `mount` are left out. Sets the bytes of the checksum to 0.
    #[inline]
    pub fn attributes(&self, inode: u64, bytes: &mut [u8]) -> Result<Attributes, Unusable> {
        let raw = bytes.get_mut(..self.inode_bytes).ok_or(Unusable::Invalid)?;
        let extra = self.extra_bytes(raw).ok_or(Unusable::Incomplete)?;
        if !self.is_valid(inode, raw, extra) {
            return Err(Unusable::Invalid);
        }
        self.decode_inode(inode, raw, extra).ok_or(Unusable::Incomplete)
    }

    /// First extent of a file or directory whose list of extents lies in its inode, bytes from the start of the device.
    /// For advice only: no checksum is verified.
    pub fn first_extent(&self, bytes: &[u8]) -> Option<Range<u64>> {
        let inode_flags = u32_at(bytes, 0x20);
        let has_list = inode_flags & flags::EXTENTS != 0 && inode_flags & flags::INLINE_DATA == 0;
        let (magic, extents, depth) = (u16_at(bytes, 0x28), u16_at(bytes, 0x2a), u16_at(bytes, 0x2e));
        if !has_list || (magic, depth) != (0xf30a, 0) || extents == 0 {
            return None;
        }
        // More than 32768 blocks mean an extent that is not initialised.
        let blocks = u64::from(u16_at(bytes, 0x38)).min(1 << 15);
        let first = u64::from(u32_at(bytes, 0x3c)) | u64::from(u16_at(bytes, 0x3a)) << 32;
        let end = first.checked_add(blocks).filter(|end| *end <= self.blocks)?;
        Some(first * self.block_bytes..end * self.block_bytes)
    }

    #[inline]
    fn decode_inode(&self, inode: u64, raw: &[u8], extra: usize) -> Option<Attributes> {
        // The raw inode's checksum was verified. Times have 34 bits of seconds and 30 of nanoseconds, two of
        // the former and all of the latter in the extra fields, which inodes of 128 bytes lack. Encrypted
        // files and inodes that hold extended attributes are left to statx (`None`).
        let inode_flags = u32_at(raw, 0x20);
        if inode_flags & (flags::ENCRYPTED | flags::EA_INODE) != 0 {
            return None;
        }
        let time = |seconds: usize, extra_at: usize| {
            let low = i64::from(u32_at(raw, seconds) as i32);
            let extra = if extra == 0 { 0 } else { u32_at(raw, extra_at) };
            Time { seconds: low + (i64::from(extra & 3) << 32), nanoseconds: extra >> 2 }
        };
        let born = if extra == 0 { Time::EPOCH } else { time(0x90, 0x94) };
        let (accessed, changed, modified) = (time(0x8, 0x8c), time(0xc, 0x84), time(0x10, 0x88));
        let is_time = |time: &Time| time.nanoseconds < 1_000_000_000;
        let row = Attributes::of_mode(u16_at(raw, 0).into());
        let size_bytes = self.size_bytes(raw, row.kind);
        if ![born, accessed, changed, modified].iter().all(is_time) || size_bytes > i64::MAX as u64 {
            return None;
        }
        let inline = (inode_flags & flags::INLINE_DATA != 0 && row.kind == FileType::File)
            .then(|| size_bytes.div_ceil(512) * 512);
        Some(Attributes {
            links: u16_at(raw, 0x1a).into(),
            user: u32::from(u16_at(raw, 0x02)) | u32::from(u16_at(raw, 0x78)) << 16,
            group: u32::from(u16_at(raw, 0x18)) | u32::from(u16_at(raw, 0x7a)) << 16,
            inode,
            size_bytes,
            allocated_bytes: self.allocated_bytes(raw, inode_flags)?.checked_add(inline.unwrap_or(0))?,
            accessed,
            changed,
            modified,
            born,
            special: special(raw, row.kind),
            ..row
        })
    }

    /// Bytes of the inode beyond the first 128 that have a meaning: 0, or up to the time of creation at least.
    #[inline]
    fn extra_bytes(&self, raw: &[u8]) -> Option<usize> {
        if self.inode_bytes == INODE_BYTES_MIN {
            return Some(0);
        }
        let extra = usize::from(u16_at(raw, 0x80));
        let room = self.inode_bytes - INODE_BYTES_MIN;
        // Less room for times than the file system has: only the kernel knows their fractions.
        ((EXTRA_BYTES_MIN..=room).contains(&extra) && extra.is_multiple_of(4)).then_some(extra)
    }

    #[inline]
    fn is_valid(&self, inode: u64, raw: &mut [u8], extra: usize) -> bool {
        let mut expected = take_u16(raw, 0x7c);
        if extra > 0 {
            expected |= take_u16(raw, 0x82) << 16;
        }
        let sum = self.inode_checksum(inode, raw);
        expected == if extra > 0 { sum } else { sum & 0xffff }
    }

    /// The field of the checksum must be 0.
    #[inline]
    fn inode_checksum(&self, inode: u64, raw: &[u8]) -> u32 {
        let mut identity = [0; 8];
        identity[..4].copy_from_slice(&(inode as u32).to_le_bytes());
        identity[4..].copy_from_slice(&raw[0x64..0x68]);
        checksum(checksum(self.checksum_seed, &identity), raw)
    }

    /// Writes the checksum that the other bytes should have.
    fn seal(&self, inode: u64, raw: &mut [u8]) {
        let is_extended = self.extra_bytes(raw).is_some_and(|extra| extra > 0);
        take_u16(raw, 0x7c);
        if is_extended {
            take_u16(raw, 0x82);
        }
        let sum = self.inode_checksum(inode, raw).to_le_bytes();
        raw[0x7c..0x7e].copy_from_slice(&sum[..2]);
        if is_extended {
            raw[0x82..0x84].copy_from_slice(&sum[2..]);
        }
    }

    #[inline]
    fn size_bytes(&self, raw: &[u8], kind: FileType) -> u64 {
        let has_high = kind == FileType::File || self.has_large_directories;
        let high = if has_high { u32_at(raw, 0x6c) } else { 0 };
        u64::from(u32_at(raw, 4)) | u64::from(high) << 32
    }

    #[inline]
    fn allocated_bytes(&self, raw: &[u8], inode_flags: u32) -> Option<u64> {
        let low = u64::from(u32_at(raw, 0x1c));
        if !self.has_huge_files {
            return Some(low * 512);
        }
        let blocks = low | u64::from(u16_at(raw, 0x74)) << 32;
        let unit = if inode_flags & flags::HUGE_FILE != 0 { self.block_bytes } else { 512 };
        blocks.checked_mul(unit)
    }
}

/// Device number: in 16 bits, or in 32 bits with more for each half.
fn special(raw: &[u8], kind: FileType) -> (u32, u32) {
    if !matches!(kind, FileType::CharDevice | FileType::BlockDevice) {
        return (0, 0);
    }
    let (old, new) = (u32_at(raw, 0x28), u32_at(raw, 0x2c));
    match old {
        0 => (new >> 8 & 0xfff, new & 0xff | new >> 12 & 0xf_ff00),
        _ => (old >> 8 & 0xff, old & 0xff),
    }
}

/// CRC-32C without inversion, as the kernel computes it.
#[inline]
fn checksum(seed: u32, bytes: &[u8]) -> u32 {
    !crc32c::crc32c_append(!seed, bytes)
}

/// 0 beyond the end.
#[inline]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |found| u16::from_le_bytes(*found))
}

/// 0 beyond the end.
#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |found| u32::from_le_bytes(*found))
}

#[inline]
fn take_u16(bytes: &mut [u8], at: usize) -> u32 {
    let field = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut());
    field.map_or(0, |found| u16::from_le_bytes(std::mem::take(found)).into())
}

/// Fuzz target: a superblock, and bytes that serve as a descriptor and as an inode, as they are and with the
/// checksums that they should have. Accepted values must lie on the device and be values that statx(2) could return.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    let (superblock, rest) = bytes.split_at(bytes.len().min(SUPERBLOCK_BYTES));
    let mut sealed = superblock.to_vec();
    sealed.resize(SUPERBLOCK_BYTES, 0);
    let _ = Geometry::decode(superblock);
    let sum = checksum(!0, &sealed[..0x3fc]);
    sealed[0x3fc..].copy_from_slice(&sum.to_le_bytes());
    let Ok(geometry) = Geometry::decode(&sealed) else { return };
    let device_bytes = geometry.blocks * geometry.block_bytes;
    let mut descriptor = rest.to_vec();
    let _ = geometry.table(7, &descriptor);
    descriptor.resize(geometry.descriptor_bytes, 0);
    let sum = geometry.descriptor_checksum(7, &descriptor).map_or(0, |sum| sum as u16);
    descriptor[0x1e..0x20].copy_from_slice(&sum.to_le_bytes());
    if let Some(table) = geometry.table(7, &descriptor) {
        assert!(
            table.offset + geometry.table_bytes() <= device_bytes && table.used <= geometry.inodes_per_group
        );
        for page_bytes in [4 << 10, 64 << 10] {
            let readable = geometry.readable(table, page_bytes);
            let at = |index: u32| table.offset + u64::from(index) * geometry.inode_bytes as u64;
            let used_to = at(table.used).next_multiple_of(geometry.block_bytes);
            assert!(readable.end <= table.used);
            let pages =
                at(readable.start) / page_bytes * page_bytes..at(readable.end).next_multiple_of(page_bytes);
            assert!(readable.is_empty() || (table.offset <= pages.start && pages.end <= used_to));
        }
    }
    for inode in [0, 1, 12, u64::from(geometry.inodes), u64::from(geometry.inodes) + 1, u64::MAX] {
        let place = geometry.place(inode);
        assert_eq!(place.is_some(), (1..=u64::from(geometry.inodes)).contains(&inode));
        let index = place.map(|place| {
            u64::from(place.group) * u64::from(geometry.inodes_per_group) + u64::from(place.index)
        });
        assert!(index.is_none_or(|index| index + 1 == inode));
    }
    if let Some(extent) = geometry.first_extent(rest) {
        assert!(extent.start <= extent.end && extent.end <= device_bytes);
    }
    let _ = geometry.attributes(12, &mut rest.to_vec());
    let mut raw = rest.to_vec();
    raw.resize(geometry.inode_bytes, 0);
    geometry.seal(12, &mut raw);
    if let Ok(row) = geometry.attributes(12, &mut raw) {
        assert_eq!(row.inode, 12);
        assert!(
            [row.accessed, row.changed, row.modified, row.born]
                .iter()
                .all(|time| time.nanoseconds < 1_000_000_000)
        );
        assert!(row.size_bytes <= i64::MAX as u64 && row.special.0 < 1 << 12 && row.special.1 < 1 << 20);
    }
}

#[cfg(test)]
mod tests;
