//! The type of an entry.

/// The type of a directory entry, as the directory tells it without looking at the inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileType {
    /// The directory does not tell; [`ReadOptions::resolve_types`](crate::ReadOptions) asks the inode.
    Unknown,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; on Windows a reparse point that stands for another path, so junctions too.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharDevice,
    /// An overlay's mark of a removed name.
    Whiteout,
}

/// Every type with its `d_type` value, the name used in output and the letter used by `ls` and `find`.
const TYPES: [(FileType, u8, &str, char); 9] = [
    (FileType::Unknown, 0, "unknown", '?'),
    (FileType::File, 8, "file", '-'),
    (FileType::Directory, 4, "directory", 'd'),
    (FileType::Symlink, 10, "symlink", 'l'),
    (FileType::Fifo, 1, "fifo", 'p'),
    (FileType::Socket, 12, "socket", 's'),
    (FileType::BlockDevice, 6, "block-device", 'b'),
    (FileType::CharDevice, 2, "char-device", 'c'),
    (FileType::Whiteout, 14, "whiteout", 'w'),
];

impl FileType {
    /// Every type, each at the index that it has as a number.
    pub const ALL: [Self; 9] = [
        Self::Unknown,
        Self::File,
        Self::Directory,
        Self::Symlink,
        Self::Fifo,
        Self::Socket,
        Self::BlockDevice,
        Self::CharDevice,
        Self::Whiteout,
    ];

    /// Returns the type that a `d_type` byte stands for; unknown bytes are [`FileType::Unknown`].
    #[inline]
    pub fn from_d_type(byte: u8) -> Self {
        match byte {
            8 => Self::File,
            4 => Self::Directory,
            10 => Self::Symlink,
            1 => Self::Fifo,
            12 => Self::Socket,
            6 => Self::BlockDevice,
            2 => Self::CharDevice,
            14 => Self::Whiteout,
            _ => Self::Unknown,
        }
    }

    /// Returns the `d_type` byte.
    pub fn d_type(self) -> u8 {
        self.row().1
    }

    /// Returns the name used in output, e.g. `directory`.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// Returns the letter that `ls -l` uses, e.g. `d`.
    pub fn letter(self) -> char {
        self.row().3
    }

    /// Returns the type with that name or letter (`f` for a file too, as find(1) has it).
    pub fn from_name(name: &str) -> Option<Self> {
        let mut letters = name.chars();
        let letter = letters.next().filter(|_| letters.next().is_none());
        TYPES
            .iter()
            .find(|row| row.2 == name || Some(row.3) == letter || (name == "f" && row.0 == Self::File))
            .map(|row| row.0)
    }

    /// Returns every name that [`FileType::from_name`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TYPES.iter().map(|row| row.2)
    }

    fn row(self) -> &'static (Self, u8, &'static str, char) {
        TYPES.iter().find(|row| row.0 == self).unwrap_or(&TYPES[0])
    }
}

#[cfg(unix)]
impl From<rustix::fs::FileType> for FileType {
    fn from(kind: rustix::fs::FileType) -> Self {
        use rustix::fs::FileType as Kind;
        match kind {
            Kind::RegularFile => Self::File,
            Kind::Directory => Self::Directory,
            Kind::Symlink => Self::Symlink,
            Kind::Fifo => Self::Fifo,
            Kind::Socket => Self::Socket,
            Kind::BlockDevice => Self::BlockDevice,
            Kind::CharacterDevice => Self::CharDevice,
            Kind::Unknown => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FileType, TYPES};

    #[test]
    fn bytes_names_and_letters_lead_back() {
        for (kind, byte, name, letter) in TYPES {
            assert_eq!(FileType::from_d_type(byte), kind);
            assert_eq!(kind.d_type(), byte);
            assert_eq!(FileType::from_name(name), Some(kind));
            assert_eq!(FileType::from_name(&letter.to_string()), Some(kind));
        }
        for (index, kind) in FileType::ALL.into_iter().enumerate() {
            assert_eq!((kind as usize, kind.row().0), (index, kind));
        }
        assert_eq!(FileType::from_name("f"), Some(FileType::File));
        assert_eq!(FileType::from_name("fi"), None);
        assert_eq!(FileType::from_d_type(77), FileType::Unknown);
    }
}
