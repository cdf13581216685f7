//! Types of directory entries.

/// Type of a directory entry, as stored in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileType {
    /// Not stored in the directory; [`ReadOptions::resolve_types`](crate::ReadOptions) reads it from the inode.
    Unknown,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link. On Windows any reparse point that redirects to another path, including junctions.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharDevice,
    /// An overlay's mark for a removed name.
    Whiteout,
}

/// Value of `d_type`, name in output, and letter in `ls` and `find`.
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
    /// All types, each at the index given by its discriminant.
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

    /// Converts a `d_type` byte; unknown bytes are [`FileType::Unknown`].
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

    /// `d_type` byte.
    pub fn d_type(self) -> u8 {
        self.row().1
    }

    /// Name in output, such as `directory`.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// Letter that `ls -l` uses, such as `d`.
    pub fn letter(self) -> char {
        self.row().3
    }

    /// Parses a name or letter; `f` is a regular file, as in find(1).
    pub fn from_name(name: &str) -> Option<Self> {
        let mut letters = name.chars();
        let letter = letters.next().filter(|_| letters.next().is_none());
        TYPES
            .iter()
            .find(|row| row.2 == name || Some(row.3) == letter || (name == "f" && row.0 == Self::File))
            .map(|row| row.0)
    }

    /// All names that [`FileType::from_name`] accepts.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TYPES.iter().map(|row| row.2)
    }

    fn row(self) -> &'static (Self, u8, &'static str, char) {
        TYPES.iter().find(|row| row.0 == self).unwrap_or(&TYPES[0])
    }
}

impl From<std::fs::FileType> for FileType {
    fn from(kind: std::fs::FileType) -> Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt;
            let special = [
                (kind.is_fifo(), Self::Fifo),
                (kind.is_socket(), Self::Socket),
                (kind.is_block_device(), Self::BlockDevice),
                (kind.is_char_device(), Self::CharDevice),
            ];
            if let Some((_, special)) = special.into_iter().find(|(is, _)| *is) {
                return special;
            }
        }
        if kind.is_dir() {
            Self::Directory
        } else if kind.is_symlink() {
            Self::Symlink
        } else if kind.is_file() {
            Self::File
        } else {
            Self::Unknown
        }
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
