//! Records as documented, truncated, overlapping, and of arbitrary bytes.

use super::{Found, Layout, Records};
use crate::attributes::{StatMask, Time};
use crate::file_type::FileType;
use crate::names;
use proptest::prelude::*;

fn push(bytes: &mut Vec<u8>, layout: Layout, found: &Found, name: &[u16], is_last: bool) {
    let places = layout.places();
    let start = bytes.len();
    let length = (places.name + 2 * name.len()).next_multiple_of(8);
    // Bytes that no reader looks at may hold anything.
    bytes.resize(start + length, 0xee);
    let record = &mut bytes[start..];
    let mut put = |place: usize, value: &[u8]| record[place..place + value.len()].copy_from_slice(value);
    put(0, &(if is_last { 0 } else { length as u32 }).to_le_bytes());
    put(8, &found.created.to_le_bytes());
    put(16, &found.accessed.to_le_bytes());
    put(24, &found.written.to_le_bytes());
    put(32, &found.changed.to_le_bytes());
    put(40, &found.size_bytes.to_le_bytes());
    put(48, &found.allocated_bytes.to_le_bytes());
    put(56, &found.attributes.to_le_bytes());
    put(60, &(2 * name.len() as u32).to_le_bytes());
    put(places.reparse_tag, &found.reparse_tag.to_le_bytes());
    if let Some(place) = places.file_id {
        put(place, &found.file_id.to_le_bytes());
    }
    let name: Vec<u8> = name.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    put(places.name, &name);
}

fn founds() -> impl Strategy<Value = Found> {
    let numbers = (any::<u32>(), any::<u32>(), any::<[u64; 3]>());
    (numbers, any::<[i64; 4]>()).prop_map(
        |(
            (attributes, reparse_tag, [size_bytes, allocated_bytes, file_id]),
            [created, accessed, written, changed],
        )| Found {
            attributes,
            reparse_tag,
            created,
            accessed,
            written,
            changed,
            size_bytes,
            allocated_bytes,
            file_id,
        },
    )
}

/// Fields of an entry that the layout contains.
fn expected(layout: Layout, found: &Found) -> Found {
    let places = layout.places();
    let is_reparse_point = found.attributes & super::REPARSE_POINT != 0;
    Found {
        reparse_tag: if is_reparse_point { found.reparse_tag } else { 0 },
        file_id: if places.file_id.is_some() { found.file_id } else { 0 },
        ..*found
    }
}

proptest! {
    #[test]
    fn encoding_round_trips(
        entries in prop::collection::vec((founds(), prop::collection::vec(1u16.., 1..256)), 1..20)
    ) {
        for layout in Layout::ALL {
            let mut bytes = Vec::new();
            for (index, (found, name)) in entries.iter().enumerate() {
                push(&mut bytes, layout, found, name, index + 1 == entries.len());
            }
            // After the last record comes what an earlier call left there.
            bytes.extend_from_slice(&[0x55; 100]);
            let decoded: Vec<(Found, Vec<u16>)> = Records::new(&bytes, layout)
                .map(|record| record.map(|record| (record.found, record.name().collect())).unwrap())
                .collect();
            let expected: Vec<(Found, Vec<u16>)> =
                entries.iter().map(|(found, name)| (expected(layout, found), name.clone())).collect();
            prop_assert_eq!(decoded, expected, "{:?}", layout);
        }
    }

    #[test]
    fn cut_off_buffers_are_malformed_never_a_panic(name in prop::collection::vec(1u16.., 1..256), cut in 8usize..200) {
        for layout in Layout::ALL {
            let mut bytes = Vec::new();
            push(&mut bytes, layout, &Found::default(), &name, false);
            let second = bytes.len();
            push(&mut bytes, layout, &Found::default(), &name, true);
            bytes.truncate(bytes.len() - cut.min(second - 1));
            let records: Vec<_> = Records::new(&bytes, layout).collect();
            prop_assert_eq!(records.len(), 2);
            prop_assert!(records[0].is_ok());
            prop_assert_eq!(records[1].map(drop).unwrap_err().at, second);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        super::fuzz(&bytes);
    }
}

#[test]
fn records_that_overlap_or_have_no_name_are_malformed() {
    for layout in Layout::ALL {
        let mut bytes = Vec::new();
        push(&mut bytes, layout, &Found::default(), &[65; 9], false);
        push(&mut bytes, layout, &Found::default(), &[66; 9], true);
        for next in [1_u32, 8, 63, layout.places().name as u32 + 17, u32::MAX] {
            let mut bytes = bytes.clone();
            bytes[..4].copy_from_slice(&next.to_le_bytes());
            assert_eq!(Records::new(&bytes, layout).next().unwrap().unwrap_err().at, 0, "{layout:?} {next}");
        }
        for name_bytes in [0_u32, 17, 4000, u32::MAX] {
            let mut bytes = bytes.clone();
            bytes[60..64].copy_from_slice(&name_bytes.to_le_bytes());
            let mut records = Records::new(&bytes, layout);
            assert!(records.next().unwrap().is_err(), "{layout:?} {name_bytes}");
            assert!(records.next().is_none(), "nothing after a malformed record");
        }
        assert!(Records::new(&[], layout).next().is_none());
    }
}

#[test]
fn links_and_junctions_are_links_and_other_reparse_points_keep_their_type() {
    let kind = |attributes, reparse_tag| Found { attributes, reparse_tag, ..Found::default() }.kind();
    const SYMLINK: u32 = 0xa000_000c;
    const JUNCTION: u32 = 0xa000_0003;
    const DEDUPLICATED: u32 = 0x8000_0013;
    assert_eq!(kind(0x420, SYMLINK), FileType::Symlink);
    assert_eq!(kind(0x410, SYMLINK), FileType::Symlink);
    assert_eq!(kind(0x410, JUNCTION), FileType::Symlink);
    assert_eq!(kind(0x420, DEDUPLICATED), FileType::File);
    assert_eq!(kind(0x410, 0x9000_701a), FileType::Directory, "a folder of a cloud");
    assert_eq!((kind(0x10, SYMLINK), kind(0x80, 0)), (FileType::Directory, FileType::File));
}

#[test]
fn names_have_their_unpaired_surrogates() {
    let mut bytes = Vec::new();
    let wide = [0x41, 0xd800, 0xe9, 0xdc00, 0xd83d, 0xde00, 0xdbff];
    push(&mut bytes, Layout::IdBoth, &Found::default(), &wide, true);
    let record = Records::new(&bytes, Layout::IdBoth).next().unwrap().unwrap();
    let mut name = Vec::new();
    names::push_wide(&mut name, record.name());
    assert_eq!(name, b"A\xed\xa0\x80\xc3\xa9\xed\xb0\x80\xf0\x9f\x98\x80\xed\xaf\xbf");
    assert_eq!(names::to_wide(&name).unwrap(), wide);
}

#[test]
fn fields_that_a_file_system_lacks_are_left_out() {
    let found = Found { written: 1, size_bytes: 7, ..Found::default() };
    let row = found.attributes(StatMask::ALL, Layout::Full.attributes());
    assert_eq!(row.have, StatMask::TYPE | StatMask::SIZE | StatMask::ALLOCATED | StatMask::MODIFIED);
    assert_eq!(row.modified, Time { seconds: -11_644_473_600, nanoseconds: 100 });
    assert_eq!(found.attributes(StatMask::SIZE, Layout::Full.attributes()).have, StatMask::SIZE);
}
