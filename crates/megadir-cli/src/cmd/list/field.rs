//! Fields of a long listing: names, required attributes, formatting.

use std::collections::HashMap;

use megadir::nearest::choices;
use megadir::{Attributes, FileType, StatMask};

use crate::cmd::times::{TimeStyle, started_s};
use crate::ui::escape;
use crate::ui::sizes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// With the path of its directory if paths are printed.
    Name,
    Type,
    Size,
    Modified,
    Changed,
    Born,
    Mode,
    User,
    Group,
    Links,
    Inode,
    Device,
    Mount,
    Target,
    Allocated,
    Accessed,
    /// Device that an entry stands for, as major:minor.
    Special,
}

/// Name, required attributes, `true` if right-aligned.
const FIELDS: [(Field, &str, StatMask, bool); 17] = [
    (Field::Name, "name", StatMask::NOTHING, false),
    (Field::Type, "type", StatMask::TYPE, false),
    (Field::Size, "size", StatMask::SIZE, true),
    (Field::Modified, "mtime", StatMask::MODIFIED, true),
    (Field::Changed, "ctime", StatMask::CHANGED, true),
    (Field::Born, "btime", StatMask::BORN, true),
    (Field::Mode, "mode", StatMask::MODE, false),
    (Field::User, "user", StatMask::OWNER, false),
    (Field::Group, "group", StatMask::OWNER, false),
    (Field::Links, "links", StatMask::LINKS, true),
    (Field::Inode, "inode", StatMask::INODE, true),
    (Field::Device, "device", StatMask::DEVICE, true),
    (Field::Mount, "mount", StatMask::MOUNT, true),
    (Field::Target, "target", StatMask::TYPE, false),
    (Field::Allocated, "allocated", StatMask::ALLOCATED, true),
    (Field::Accessed, "atime", StatMask::ACCESSED, true),
    (Field::Special, "rdev", StatMask::SPECIAL, true),
];

/// As `ls -l`; on Windows only fields that a listing returns.
pub(super) const DEFAULT: &[Field] = if cfg!(windows) {
    &[Field::Type, Field::Size, Field::Modified, Field::Name]
} else {
    &[Field::Mode, Field::Links, Field::User, Field::Group, Field::Size, Field::Modified, Field::Name]
};

impl Field {
    fn row(self) -> &'static (Self, &'static str, StatMask, bool) {
        &FIELDS[self as usize]
    }

    pub(super) fn name(self) -> &'static str {
        self.row().1
    }

    pub(super) fn want(self) -> StatMask {
        match self {
            // The first letter of the mode is the type.
            Self::Mode => StatMask::MODE | StatMask::TYPE,
            // Other entries stand for none.
            Self::Special => StatMask::SPECIAL | StatMask::TYPE,
            _ => self.row().2,
        }
    }

    /// Most values fit, so that columns rarely shift.
    pub(super) fn streamed_width(self, human: bool) -> usize {
        match self {
            Self::Size | Self::Allocated if human => 5,
            // Up to a terabyte.
            Self::Size | Self::Allocated => 12,
            Self::Links => 5,
            Self::User | Self::Group => 8,
            Self::Inode => 10,
            _ => 0,
        }
    }

    pub(super) fn is_number(self) -> bool {
        self.row().3
    }
}

pub(in crate::cmd) fn names() -> Vec<&'static str> {
    FIELDS.iter().map(|(_, name, ..)| *name).collect()
}

pub(super) fn parse(text: &str) -> Result<Field, String> {
    let found = FIELDS.iter().find(|row| row.1 == text);
    found.map(|row| row.0).ok_or_else(|| choices(text, FIELDS.iter().map(|row| row.1)))
}

/// Writes the values of fields. Names of users and groups are looked up once for each number, because a lookup may
/// ask a server. `scratch` is a buffer for values in JSON.
pub(super) struct Values {
    pub(super) times: TimeStyle,
    pub(super) human: bool,
    users: Names,
    groups: Names,
    scratch: Vec<u8>,
}

struct Names {
    look_up: fn(u32) -> Option<String>,
    known: HashMap<u32, Vec<u8>>,
    /// Most directories have few owners.
    last: Option<(u32, Vec<u8>)>,
}

impl Values {
    pub(super) fn new(times: TimeStyle, human: bool) -> Self {
        let users = Names::new(crate::cmd::owners::user_name);
        let groups = Names::new(crate::cmd::owners::group_name);
        // Ages are relative to now, not to the first printed line.
        started_s();
        Self { times, human, users, groups, scratch: Vec::new() }
    }

    /// No name or target. `false` if the value is unknown.
    ///
    /// Appends a value as text; the caller aligns or quotes it. A field whose attribute was not returned writes
    /// nothing, and the caller prints its sign for unknown values, so that no line has a zero that was never
    /// measured. The type is the exception, because the listing has it too.
    pub(super) fn write(
        &mut self,
        text: &mut Vec<u8>,
        field: Field,
        kind: FileType,
        row: &Attributes,
    ) -> bool {
        if !row.have.contains(field.row().2) && field != Field::Type {
            return false;
        }
        let mut number = itoa::Buffer::new();
        match field {
            Field::Name | Field::Target => return false,
            Field::Type => text.extend_from_slice(kind.name().as_bytes()),
            Field::Size if self.human => sizes::human(text, row.size_bytes),
            Field::Size => text.extend_from_slice(number.format(row.size_bytes).as_bytes()),
            Field::Allocated if self.human => sizes::human(text, row.allocated_bytes),
            Field::Allocated => text.extend_from_slice(number.format(row.allocated_bytes).as_bytes()),
            Field::Modified => self.times.write(text, row.modified),
            Field::Accessed => self.times.write(text, row.accessed),
            Field::Changed => self.times.write(text, row.changed),
            Field::Born => self.times.write(text, row.born),
            Field::Mode => mode(text, kind, row.mode),
            Field::User => self.users.write(text, row.user),
            Field::Group => self.groups.write(text, row.group),
            Field::Links => text.extend_from_slice(number.format(row.links).as_bytes()),
            Field::Inode => text.extend_from_slice(number.format(row.inode).as_bytes()),
            Field::Device => device(text, row.device),
            Field::Special if matches!(kind, FileType::BlockDevice | FileType::CharDevice) => {
                device(text, row.special);
            }
            Field::Special => return false,
            Field::Mount => text.extend_from_slice(number.format(row.mount).as_bytes()),
        }
        true
    }

    pub(super) fn write_json(&mut self, text: &mut Vec<u8>, field: Field, kind: FileType, row: &Attributes) {
        text.push(b'"');
        text.extend_from_slice(field.name().as_bytes());
        text.extend_from_slice(b"\":");
        let quoted =
            !matches!(field, Field::Links | Field::Inode | Field::Mount | Field::Size | Field::Allocated)
                || self.human && matches!(field, Field::Size | Field::Allocated);
        let mut value = std::mem::take(&mut self.scratch);
        value.clear();
        if !self.write(&mut value, field, kind, row) {
            text.extend_from_slice(b"null");
        } else if quoted {
            escape::json_string(text, &String::from_utf8_lossy(&value));
        } else {
            text.extend_from_slice(&value);
        }
        self.scratch = value;
    }
}

impl Names {
    fn new(look_up: fn(u32) -> Option<String>) -> Self {
        Self { look_up, known: HashMap::new(), last: None }
    }

    fn write(&mut self, text: &mut Vec<u8>, number: u32) {
        if let Some((last, name)) = &self.last
            && *last == number
        {
            return text.extend_from_slice(name);
        }
        let look_up = || (self.look_up)(number).unwrap_or_else(|| number.to_string()).into_bytes();
        let name = self.known.entry(number).or_insert_with(look_up);
        text.extend_from_slice(name);
        self.last = Some((number, name.clone()));
    }
}

fn device(text: &mut Vec<u8>, (major, minor): (u32, u32)) {
    let mut number = itoa::Buffer::new();
    text.extend_from_slice(number.format(major).as_bytes());
    text.push(b':');
    text.extend_from_slice(number.format(minor).as_bytes());
}

/// For example `-rw-r--r--`.
fn mode(text: &mut Vec<u8>, kind: FileType, mode: u16) {
    let triple = |shift: u32, special: u16, set: u8, unset: u8| {
        let bits = mode >> shift;
        let last = match (bits & 1 != 0, mode & special != 0) {
            (true, true) => set,
            (false, true) => unset,
            (true, false) => b'x',
            (false, false) => b'-',
        };
        [if bits & 4 != 0 { b'r' } else { b'-' }, if bits & 2 != 0 { b'w' } else { b'-' }, last]
    };
    text.push(kind.letter() as u8);
    text.extend_from_slice(&triple(6, 0o4000, b's', b'S'));
    text.extend_from_slice(&triple(3, 0o2000, b's', b'S'));
    text.extend_from_slice(&triple(0, 0o1000, b't', b'T'));
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use megadir::{Attributes, Entry, FileType, StatMask};

    use super::super::lines::{Format, Lines};
    use super::{FIELDS, Field, Values};
    use crate::cmd::times::TimeStyle;

    /// Integers too large for a double, up to the 64-bit maximum.
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
        let mut values = Values::new(TimeStyle::Epoch, false);
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
    fn listed_inode_numbers_are_written_exactly() {
        for number in NUMBERS {
            for (format, expected) in [
                (Format::Json, format!("{{\"v\":1,\"name\":\"a\",\"type\":\"file\",\"inode\":{number}}}\n")),
                (Format::Raw, format!("{number:>10}  file          24                   0  a\n")),
            ] {
                let lines = Lines { format, end: b'\n', escape: false, with_path: false, with_inodes: true };
                let mut text = Vec::new();
                lines.entry(&mut text, &lines.label(Path::new(".").into()), &entry(number));
                assert_eq!(String::from_utf8(text).unwrap(), expected);
            }
        }
    }

    #[test]
    fn unknown_fields_are_null_in_json_and_empty_elsewhere() {
        let mut values = Values::new(TimeStyle::Iso, false);
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

    #[test]
    fn the_table_has_the_order_of_the_variants() {
        for (index, row) in FIELDS.iter().enumerate() {
            assert_eq!(row.0 as usize, index, "{}", row.1);
            assert_eq!(row.0.name(), row.1);
        }
    }
}
