//! Integers too large for a double, up to the 64-bit maximum, in each output format.

use std::path::Path;

use megadir::{Attributes, Entry, FileType, StatMask};

use super::super::lines::{Format, Lines};
use super::{FIELDS, Field, Values};
use crate::cmd::times::Named;

const NUMBERS: [u64; 7] =
    [(1 << 53) - 1, (1 << 53) + 1, (1 << 60) + 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX];

fn entry(inode: u64) -> Entry<'static> {
    Entry { name: b"a", inode, kind: FileType::File, cookie: None, record_bytes: 24 }
}

fn row(number: u64) -> Attributes {
    Attributes {
        have: StatMask::ALL,
        size_bytes: number,
        inode: number,
        links: number,
        mount: number,
        user: u32::MAX,
        ..Attributes::NOTHING
    }
}

#[test]
fn numbers_of_64_bits_are_written_to_the_last_digit() {
    let mut values = Values::new(Named::Epoch.style(), false);
    for number in NUMBERS {
        for field in [Field::Size, Field::Inode, Field::Links, Field::Mount] {
            let mut text = Vec::new();
            assert!(values.write(&mut text, field, FileType::File, &row(number)));
            assert_eq!(text, number.to_string().as_bytes(), "{field:?}");
            let mut text = b"{".to_vec();
            values.write_json(&mut text, field, FileType::File, &row(number));
            text.push(b'}');
            assert_eq!(text, format!("{{\"{}\":{number}}}", field.name()).as_bytes());
            let read: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(read[field.name()].as_u64(), Some(number), "read as an integer");
        }
    }
}

#[test]
fn inodes_that_the_directory_tells_are_written_to_the_last_digit() {
    for number in NUMBERS {
        for (format, expected) in [
            (Format::Json, format!("{{\"v\":1,\"name\":\"a\",\"type\":\"file\",\"inode\":{number}}}\n")),
            (Format::Raw, format!("{number:>10}  file          24                   0  a\n")),
        ] {
            let lines = Lines { format, end: b'\n', escape: false, with_path: false };
            let mut text = Vec::new();
            lines.entry(&mut text, &lines.label(Path::new(".").into()), &entry(number));
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
    }
}

#[test]
fn what_is_not_known_is_null_in_json_and_empty_elsewhere() {
    let mut values = Values::new(Named::Iso.style(), false);
    // Other code writes the name, and the type comes from the listing.
    for field in
        FIELDS.map(|row| row.0).into_iter().filter(|field| ![Field::Name, Field::Type].contains(field))
    {
        let mut text = Vec::new();
        assert!(!values.write(&mut text, field, FileType::File, &Attributes::NOTHING));
        assert!(text.is_empty(), "{field:?}");
        values.write_json(&mut text, field, FileType::File, &Attributes::NOTHING);
        assert_eq!(text, format!("\"{}\":null", field.name()).as_bytes());
    }
}
