//! The seeds of the fuzz target are parts of real file systems; everything else is varied from them.

use megadir_sys::ext4::Features;
use proptest::prelude::*;

use super::{Geometry, Place, Refusal, SUPERBLOCK_BYTES, SuperblockFeatures, Table, Unusable, checksum};
use crate::attributes::Time;
use crate::file_type::FileType;

/// Superblock, descriptor of group 0 and inode 12, a file of 5 bytes.
const WHOLE: &[u8] = include_bytes!("../../../../fuzz/seeds/ext4_disk/whole");
const SMALL_INODES: &[u8] = include_bytes!("../../../../fuzz/seeds/ext4_disk/small-inodes");

fn parts(seed: &[u8]) -> (Geometry, Vec<u8>, Vec<u8>) {
    let geometry = Geometry::decode(&seed[..SUPERBLOCK_BYTES]).unwrap();
    let (descriptor, inode) = seed[SUPERBLOCK_BYTES..].split_at(geometry.descriptor_bytes);
    (geometry, descriptor.to_vec(), inode.to_vec())
}

/// A superblock with other bytes at some places, and the right checksum.
fn changed(changes: &[(usize, &[u8])]) -> Result<Geometry, Refusal> {
    let mut superblock = WHOLE[..SUPERBLOCK_BYTES].to_vec();
    for (at, bytes) in changes {
        superblock[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    let sum = checksum(!0, &superblock[..0x3fc]);
    superblock[0x3fc..].copy_from_slice(&sum.to_le_bytes());
    Geometry::decode(&superblock)
}

#[test]
fn a_real_file_system_is_read() {
    let (geometry, descriptor, mut inode) = parts(WHOLE);
    assert_eq!((geometry.inode_bytes, geometry.descriptor_bytes, geometry.block_bytes), (256, 64, 4096));
    let table = geometry.table(0, &descriptor).unwrap();
    assert!(
        table.offset > 0 && table.offset.is_multiple_of(4096) && (12..64).contains(&table.used),
        "{table:?}"
    );
    assert_eq!(geometry.table(1, &descriptor), None, "the number of the group is part of the checksum");
    assert_eq!(geometry.attributes(13, &mut inode.clone()), Err(Unusable::Invalid), "so is the inode's");
    let row = geometry.attributes(12, &mut inode).unwrap();
    assert_eq!((row.kind, row.mode, row.links, row.size_bytes), (FileType::File, 0o644, 1, 5));
    assert_eq!((row.user, row.group, row.allocated_bytes), (70_000, 80_000, 4096));
    assert_eq!(row.modified, Time { seconds: 10_000_000_000, nanoseconds: 123_456_789 });
    assert_eq!(row.accessed, Time { seconds: -1, nanoseconds: 5 });
    assert!(row.born.seconds > 1_600_000_000 && row.changed >= row.born);
}

#[test]
fn the_first_extent_lies_on_the_device() {
    let (geometry, _, inode) = parts(WHOLE);
    let extent = geometry.first_extent(&inode).unwrap();
    assert!(extent.start > 0 && extent.start.is_multiple_of(4096) && extent.end == extent.start + 4096);
    let with = |at: usize, bytes: &[u8]| {
        let mut inode = inode.clone();
        inode[at..at + bytes.len()].copy_from_slice(bytes);
        geometry.first_extent(&inode)
    };
    assert_eq!(with(0x22, &[0]), None, "blocks are listed one by one");
    assert_eq!(with(0x23, &[0x10]), None, "the contents are in the inode");
    assert_eq!(with(0x28, &[0, 0]), None, "no list of extents");
    assert_eq!(with(0x2a, &[0, 0]), None, "an empty one");
    assert_eq!(with(0x2e, &[1, 0]), None, "a tree of extents");
    assert_eq!(with(0x3a, &[0xff; 6]), None, "beyond the end");
    assert_eq!(geometry.first_extent(&[]), None);
}

#[test]
fn small_inodes_have_whole_seconds_and_no_birth() {
    let (geometry, descriptor, mut inode) = parts(SMALL_INODES);
    assert!(geometry.keeps_seconds_only() && geometry.table(0, &descriptor).is_some());
    let row = geometry.attributes(12, &mut inode).unwrap();
    assert_eq!((row.size_bytes, row.user, row.born), (5, 70_000, Time::EPOCH));
    assert_eq!(row.accessed, Time { seconds: -1, nanoseconds: 0 });
}

#[test]
fn a_changed_bit_anywhere_is_noticed() {
    for seed in [WHOLE, SMALL_INODES] {
        let (geometry, descriptor, inode) = parts(seed);
        for bit in 0..SUPERBLOCK_BYTES * 8 {
            let mut superblock = seed[..SUPERBLOCK_BYTES].to_vec();
            superblock[bit / 8] ^= 1 << (bit % 8);
            assert!(Geometry::decode(&superblock).is_err(), "bit {bit} of the superblock");
        }
        for bit in 0..descriptor.len() * 8 {
            let mut descriptor = descriptor.clone();
            descriptor[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(geometry.table(0, &descriptor), None, "bit {bit} of the descriptor");
        }
        for bit in 0..inode.len() * 8 {
            let mut inode = inode.clone();
            inode[bit / 8] ^= 1 << (bit % 8);
            assert!(geometry.attributes(12, &mut inode).is_err(), "bit {bit} of the inode");
        }
    }
}

#[test]
fn invalid_values_are_refused_with_the_reason() {
    let features = |incompat: u32| changed(&[(0x60, &incompat.to_le_bytes())]).map(|_| ());
    assert_eq!(features(0x0003_e7c6), Ok(()));
    assert_eq!(features(0x2c2 | 0x10), Err(Refusal::MetaBg));
    assert_eq!(features(0x2c2 | 0x8000_0001), Err(Refusal::Unknown(0x8000_0001)));
    assert_eq!(changed(&[(0x64, &[0; 4])]), Err(Refusal::NoChecksums));
    assert_eq!(changed(&[(0x38, b"XX")]), Err(Refusal::NoSuperblock));
    assert_eq!(changed(&[(0x48, &[1])]), Err(Refusal::NotOfLinux));
    let nonsense: [(usize, &[u8]); 7] = [
        (0x58, &[0, 0]),
        (0x58, &[0, 0x80]),
        (0x18, &[200]),
        (0x28, &[0; 4]),
        (0x28, &[0xff; 4]),
        (0, &[0; 4]),
        (0xfe, &[33, 0]),
    ];
    for change in nonsense {
        assert_eq!(changed(&[change]), Err(Refusal::Nonsense), "{change:?}");
    }
    for refusal in [Refusal::MetaBg, Refusal::Unknown(1), Refusal::NoChecksums, Refusal::Nonsense] {
        assert!(refusal.to_string().len() > 20 && !refusal.to_string().ends_with('.'));
    }
}

#[test]
fn features_match_the_superblock() {
    let mut block = [0; SUPERBLOCK_BYTES];
    assert_eq!(SuperblockFeatures::decode(&block), None);
    block[0x38..0x3a].copy_from_slice(&[0x53, 0xef]);
    block[0x5c..0x68].copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    block[0xfc] = 4;
    let masks = Features { compat: 1, incompat: 2, ro_compat: 3 };
    assert_eq!(SuperblockFeatures::decode(&block), Some(SuperblockFeatures { masks, hash_version: 4 }));
}

/// Inode 12 with other bytes at some places, and the right checksum.
fn with(changes: &[(usize, &[u8])]) -> Result<crate::Attributes, Unusable> {
    let (geometry, _, mut inode) = parts(WHOLE);
    for (at, bytes) in changes {
        inode[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    geometry.seal(12, &mut inode);
    geometry.attributes(12, &mut inode)
}

#[test]
fn numbers_that_are_stored_in_parts_are_put_together() {
    const CHARACTER_DEVICE: (usize, &[u8]) = (0, &[0xa4, 0x21]);
    const DIRECTORY: (usize, &[u8]) = (0, &[0xed, 0x41]);
    let wide: (usize, &[u8]) = (0x6c, &[1, 0, 0, 0]);
    assert_eq!(with(&[wide]).unwrap().size_bytes, (1 << 32) + 5);
    // Only with large_dir.
    assert_eq!(with(&[wide, DIRECTORY]).unwrap().size_bytes, 5);
    assert_eq!(with(&[(0x6c, &[0xff; 4])]), Err(Unusable::Incomplete), "a negative size");
    assert_eq!(with(&[(0x74, &[1, 0])]).unwrap().allocated_bytes, (1 << 41) + 4096);
    assert_eq!(with(&[(0x22, &[0x0c])]).unwrap().allocated_bytes, 8 * 4096, "in blocks");
    let old = with(&[CHARACTER_DEVICE, (0x28, &[3, 4, 0, 0, 0, 0, 0, 0])]).unwrap();
    assert_eq!((old.kind, old.special), (FileType::CharDevice, (4, 3)));
    let new = with(&[CHARACTER_DEVICE, (0x28, &[0, 0, 0, 0, 0x2c, 0x07, 0x10, 0])]).unwrap();
    assert_eq!(new.special, (7, 300));
    assert_eq!(with(&[(0x1a, &[1, 0]), DIRECTORY]).unwrap().links, 1, "a directory with very many links");
}

#[test]
fn partial_keys_are_left_to_the_kernel() {
    assert_eq!(with(&[(0x21, &[0x08])]), Err(Unusable::Incomplete), "encrypted");
    assert_eq!(with(&[(0x22, &[0x28])]), Err(Unusable::Incomplete), "an extended attribute");
    assert_eq!(with(&[(0x80, &[8, 0])]), Err(Unusable::Incomplete), "no room for fractions of seconds");
    assert_eq!(with(&[(0x84, &[0xff; 4])]), Err(Unusable::Incomplete), "more than a second");
}

#[test]
fn inodes_lie_in_their_groups_up_to_the_last() {
    let per_group = parts(WHOLE).0.inodes_per_group;
    let geometry = changed(&[(0, &(per_group * 2).to_le_bytes())]).unwrap();
    assert_eq!(geometry.place(1), Some(Place { group: 0, index: 0 }));
    assert_eq!(geometry.place(u64::from(per_group) + 1).map(|place| place.index), Some(0));
    let last = geometry.place(u64::from(per_group) * 2);
    assert_eq!(last, Some(Place { group: 1, index: per_group - 1 }));
    for missing in [0, u64::from(geometry.inodes) + 1, 1 << 32, u64::MAX] {
        assert_eq!(geometry.place(missing), None);
    }
}

#[test]
fn pages_that_hold_unused_blocks_are_not_read() {
    let (geometry, ..) = parts(SMALL_INODES);
    assert_eq!(geometry.block_bytes, 1024);
    let readable = |offset, used| geometry.readable(Table { offset, used }, 4096);
    // 8 inodes to a block, 32 to a page.
    assert_eq!(readable(4096 * 9, 100), 0..96);
    assert_eq!(readable(4096 * 9, 121), 0..121, "its block ends with the page");
    assert_eq!(readable(4096 * 9, 31), 0..31);
    assert_eq!(readable(4096 * 9, 24), 0..0);
    assert_eq!(readable(4096 * 9 + 1024, 100), 24..88, "another table is in the first page");
    assert!(readable(4096 * 9 + 1024, 20).is_empty() && readable(4096, 0).is_empty());
    let (geometry, ..) = parts(WHOLE);
    assert_eq!(geometry.readable(Table { offset: 8192, used: 17 }, 4096), 0..17);
}

#[test]
fn a_group_that_was_never_used_has_no_inodes_in_use() {
    let (geometry, mut descriptor, _) = parts(WHOLE);
    descriptor[0x12] |= 1;
    let sum = geometry.descriptor_checksum(0, &descriptor).unwrap() as u16;
    descriptor[0x1e..0x20].copy_from_slice(&sum.to_le_bytes());
    assert!(matches!(geometry.table(0, &descriptor), Some(Table { used: 0, .. })));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        super::fuzz(&bytes);
    }

    #[test]
    fn changed_file_systems_never_panic(
        changes in prop::collection::vec((0..WHOLE.len(), any::<u8>()), 0..40),
        length in 0..=WHOLE.len(),
    ) {
        let mut bytes = WHOLE.to_vec();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        super::fuzz(&bytes[..length]);
    }
}
