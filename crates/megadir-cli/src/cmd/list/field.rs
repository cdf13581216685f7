//! The fields of a long listing: their names, what they need, and how they are written.

use std::collections::HashMap;

use megadir::nearest::choices;
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
    /// What a symbolic link points to.
    Target,
}

/// Every field with its name, what is asked of the system for it, and whether it is written to the right.
const FIELDS: [(Field, &str, Want, bool); 14] = [
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
    (Field::Target, "target", Want::TYPE, false),
];

/// The fields of `--long` without `--fields`: those of `ls -l`, and on Windows what listings of it tell of them.
pub(super) const DEFAULT: &[Field] = if cfg!(windows) {
    &[Field::Type, Field::Size, Field::Modified, Field::Name]
} else {
    &[Field::Mode, Field::Links, Field::User, Field::Group, Field::Size, Field::Modified, Field::Name]
};

impl Field {
    fn row(self) -> &'static (Self, &'static str, Want, bool) {
        // The table has the order of the variants: this is asked for every value of every line.
        &FIELDS[self as usize]
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

    /// Returns the width that the column has at least where lines are printed as they come, characters, so that it keeps its width:
    /// what most values need.
    pub(super) fn streamed_width(self, human: bool) -> usize {
        match self {
            Self::Size if human => 5,
            // Up to a terabyte.
            Self::Size => 12,
            Self::Links => 5,
            Self::User | Self::Group => 8,
            Self::Inode => 10,
            _ => 0,
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
    Err(choices(text, FIELDS.iter().map(|row| row.1)))
}

/// Writes the values of fields.
pub(super) struct Values {
    pub(super) times: TimeStyle,
    /// Sizes as `1.5M` instead of bytes.
    pub(super) human: bool,
    users: Names,
    groups: Names,
    /// The value of a member of a JSON object before it is quoted.
    scratch: Vec<u8>,
}

/// The names of users or groups that have been met.
struct Names {
    look_up: fn(u32) -> Option<String>,
    known: HashMap<u32, Vec<u8>>,
    /// The one met last: most directories belong to few.
    last: Option<(u32, Vec<u8>)>,
}

impl Values {
    pub(super) fn new(times: TimeStyle, human: bool) -> Self {
        let users = Names::new(super::owners::user_name);
        let groups = Names::new(super::owners::group_name);
        Self { times, human, users, groups, scratch: Vec::new() }
    }

    /// Appends the value of a field other than name and target; `false`, appending nothing, where it is not known.
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
            Field::Name | Field::Target => return false,
            Field::Type => text.extend_from_slice(kind(entry, row).name().as_bytes()),
            Field::Size if self.human => sizes::human(text, row.size_bytes),
            Field::Size => text.extend_from_slice(number.format(row.size_bytes).as_bytes()),
            Field::Modified => self.times.write(text, row.modified),
            Field::Changed => self.times.write(text, row.changed),
            Field::Born => self.times.write(text, row.born),
            Field::Mode => mode(text, kind(entry, row), row.mode),
            Field::User => self.users.write(text, row.user),
            Field::Group => self.groups.write(text, row.group),
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
        let mut value = std::mem::take(&mut self.scratch);
        value.clear();
        if !self.write(&mut value, field, entry, row) {
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

    /// Appends the name of a number, or the number where it has none.
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

/// Returns the entry's type: as examined, else as listed.
pub(super) fn kind(entry: &Entry<'_>, row: &Attributes) -> FileType {
    if row.have.contains(Want::TYPE) { row.kind } else { entry.kind }
}

/// Appends ten characters such as `-rw-r--r--`.
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
    // Letters of types are ASCII.
    text.push(kind.letter() as u8);
    text.extend_from_slice(&triple(6, 0o4000, b's', b'S'));
    text.extend_from_slice(&triple(3, 0o2000, b's', b'S'));
    text.extend_from_slice(&triple(0, 0o1000, b't', b'T'));
}

#[cfg(test)]
mod number_tests;

#[cfg(test)]
mod tests {
    use super::FIELDS;

    #[test]
    fn the_table_has_the_order_of_the_variants() {
        for (index, row) in FIELDS.iter().enumerate() {
            assert_eq!(row.0 as usize, index, "{}", row.1);
            assert_eq!(row.0.name(), row.1);
        }
    }
}
