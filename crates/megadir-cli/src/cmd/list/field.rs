//! The fields of a long listing: their names, what they need, and how they are written.

use std::collections::HashMap;

use megadir::{Attributes, Entry, FileType, Want};

use super::times::TimeStyle;
use crate::ui::escape;
use crate::ui::sizes;

/// A column of a long listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// The name, with the path of its directory where names have one.
    Name,
    /// The type.
    Type,
    /// The size, bytes.
    Size,
    /// When the contents were modified.
    Modified,
    /// When the inode was changed.
    Changed,
    /// When the inode was made.
    Born,
    /// Type and permissions, as `ls -l` writes them.
    Mode,
    /// The user's name, or number where it has none.
    User,
    /// The group's name, or number where it has none.
    Group,
    /// Hard links.
    Links,
    /// The inode number.
    Inode,
    /// The device, major:minor.
    Device,
    /// The mount's identifier.
    Mount,
}

/// Every field with its name, what is asked of the system for it, and whether it is written to the right.
const FIELDS: [(Field, &str, Want, bool); 13] = [
    (Field::Name, "name", Want::NOTHING, false),
    (Field::Type, "type", Want::TYPE, false),
    (Field::Size, "size", Want::SIZE, true),
    (Field::Modified, "mtime", Want::MODIFIED, true),
    (Field::Changed, "ctime", Want::CHANGED, true),
    (Field::Born, "btime", Want::BORN, true),
    (Field::Mode, "mode", Want::MODE, false),
    (Field::User, "user", Want::OWNER, false),
    (Field::Group, "group", Want::OWNER, false),
    (Field::Links, "links", Want::LINKS, true),
    (Field::Inode, "inode", Want::INODE, true),
    (Field::Device, "device", Want::DEVICE, true),
    (Field::Mount, "mount", Want::MOUNT, true),
];

/// The fields of `--long` without `--fields`: those of `ls -l`.
pub(super) const DEFAULT: [Field; 7] =
    [Field::Mode, Field::Links, Field::User, Field::Group, Field::Size, Field::Modified, Field::Name];

impl Field {
    fn row(self) -> &'static (Self, &'static str, Want, bool) {
        FIELDS.iter().find(|row| row.0 == self).unwrap_or(&FIELDS[0])
    }

    /// Returns the name used in `--fields` and as the key in JSON.
    pub(super) fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns what the system is asked for.
    pub(super) fn want(self) -> Want {
        match self {
            // The letter in front of the permissions is the type.
            Self::Mode => Want::MODE | Want::TYPE,
            _ => self.row().2,
        }
    }

    /// Tells whether the column is aligned to the right.
    pub(super) fn is_number(self) -> bool {
        self.row().3
    }
}

/// Parses one name of `--fields`.
pub(super) fn parse(text: &str) -> Result<Field, String> {
    if let Some(row) = FIELDS.iter().find(|row| row.1 == text) {
        return Ok(row.0);
    }
    let names = || FIELDS.iter().map(|row| row.1);
    let near = names()
        .map(|name| (strsim::damerau_levenshtein(text, name), name))
        .min()
        .filter(|(distance, _)| *distance <= 2)
        .map(|(_, name)| format!("did you mean '{name}'? "))
        .unwrap_or_default();
    Err(format!("{near}there are {}", names().collect::<Vec<_>>().join(", ")))
}

/// Writes the values of fields.
pub(super) struct Values {
    pub(super) times: TimeStyle,
    /// Sizes as `1.5M` instead of bytes.
    pub(super) human: bool,
    users: HashMap<u32, Option<String>>,
    groups: HashMap<u32, Option<String>>,
}

impl Values {
    pub(super) fn new(times: TimeStyle, human: bool) -> Self {
        Self { times, human, users: HashMap::new(), groups: HashMap::new() }
    }

    /// Appends the value of a field other than the name; `false`, appending nothing, where it is not known.
    pub(super) fn write(
        &mut self,
        text: &mut Vec<u8>,
        field: Field,
        entry: &Entry<'_>,
        row: &Attributes,
    ) -> bool {
        if !row.have.contains(field.row().2) && field != Field::Type {
            return false;
        }
        let mut number = itoa::Buffer::new();
        match field {
            Field::Name => return false,
            Field::Type => text.extend_from_slice(kind(entry, row).name().as_bytes()),
            Field::Size if self.human => sizes::human(text, row.size_bytes),
            Field::Size => text.extend_from_slice(number.format(row.size_bytes).as_bytes()),
            Field::Modified => self.times.write(text, row.modified),
            Field::Changed => self.times.write(text, row.changed),
            Field::Born => self.times.write(text, row.born),
            Field::Mode => mode(text, kind(entry, row), row.mode),
            Field::User => owner(text, &mut self.users, row.user, super::owners::user_name),
            Field::Group => owner(text, &mut self.groups, row.group, super::owners::group_name),
            Field::Links => text.extend_from_slice(number.format(row.links).as_bytes()),
            Field::Inode => text.extend_from_slice(number.format(row.inode).as_bytes()),
            Field::Device => {
                text.extend_from_slice(number.format(row.device.0).as_bytes());
                text.push(b':');
                text.extend_from_slice(number.format(row.device.1).as_bytes());
            }
            Field::Mount => text.extend_from_slice(number.format(row.mount).as_bytes()),
        }
        true
    }

    /// Appends `"field":value` for JSON; `null` where the value is not known.
    pub(super) fn write_json(
        &mut self,
        text: &mut Vec<u8>,
        field: Field,
        entry: &Entry<'_>,
        row: &Attributes,
    ) {
        text.push(b'"');
        text.extend_from_slice(field.name().as_bytes());
        text.extend_from_slice(b"\":");
        let quoted = !matches!(field, Field::Links | Field::Inode | Field::Mount | Field::Size)
            || self.human && field == Field::Size;
        let mut value = Vec::new();
        if !self.write(&mut value, field, entry, row) {
            text.extend_from_slice(b"null");
        } else if quoted {
            escape::json_string(text, &String::from_utf8_lossy(&value));
        } else {
            text.extend_from_slice(&value);
        }
    }
}

/// Returns the entry's type: as examined, else as listed.
fn kind(entry: &Entry<'_>, row: &Attributes) -> FileType {
    if row.have.contains(Want::TYPE) { row.kind } else { entry.kind }
}

fn owner(
    text: &mut Vec<u8>,
    known: &mut HashMap<u32, Option<String>>,
    number: u32,
    look_up: fn(u32) -> Option<String>,
) {
    match known.entry(number).or_insert_with(|| look_up(number)) {
        Some(name) => text.extend_from_slice(name.as_bytes()),
        None => text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes()),
    }
}

/// Appends ten characters such as `-rw-r--r--`.
fn mode(text: &mut Vec<u8>, kind: FileType, mode: u16) {
    let mut letters = Vec::with_capacity(10);
    letters.extend(kind.letter().to_string().bytes());
    for (shift, special, set, unset) in
        [(6, 0o4000, b's', b'S'), (3, 0o2000, b's', b'S'), (0, 0o1000, b't', b'T')]
    {
        let bits = mode >> shift;
        letters.push(if bits & 4 != 0 { b'r' } else { b'-' });
        letters.push(if bits & 2 != 0 { b'w' } else { b'-' });
        letters.push(match (bits & 1 != 0, mode & special != 0) {
            (true, true) => set,
            (false, true) => unset,
            (true, false) => b'x',
            (false, false) => b'-',
        });
    }
    text.extend_from_slice(&letters);
}
