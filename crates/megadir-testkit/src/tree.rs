//! Flat directories of any size. Name and type of an entry follow from seed and index, so trees need no memory.
//!
//! ```text
//! seed, index --mix--> 16 hex digits --Names--> name        Kinds --> type
//! ensure: NAME.partial -> fill -> rename to NAME            a tree is whole or not there
//! ```

#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use megadir::FileType;

use crate::rng::mix;

// No list of entries is kept anywhere: a test computes the names that it expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flat {
    pub entries: u64,
    pub names: Names,
    pub kinds: Kinds,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// 16 hexadecimal digits.
    Plain,
    /// 255 bytes.
    Longest,
    /// One byte, then two, then three.
    Shortest,
    /// Any length up to 255 bytes.
    Varied,
    /// Newlines, tabs and other control characters.
    Newlines,
    NotUtf8,
    /// Every byte except `/` and NUL, cyclically.
    EveryByte,
    /// One to three leading dots.
    Dotfiles,
    /// Characters of two, three and four bytes.
    Unicode,
    /// Unpaired UTF-16 surrogates as WTF-8; ordinary bytes on Linux.
    Surrogates,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    Files,
    Mixed,
}

/// Without links on Windows, where they need privileges.
pub const MIXED: &[FileType] = if cfg!(windows) {
    &[FileType::File, FileType::Directory]
} else {
    &[FileType::File, FileType::Directory, FileType::Symlink, FileType::Fifo, FileType::Socket]
};

impl Names {
    #[cfg(windows)]
    pub const ALL: [Self; 5] = [Self::Plain, Self::Longest, Self::EveryByte, Self::Dotfiles, Self::Unicode];
    #[cfg(not(windows))]
    pub const ALL: [Self; 8] = [
        Self::Plain,
        Self::Longest,
        Self::Shortest,
        Self::Varied,
        Self::Newlines,
        Self::NotUtf8,
        Self::EveryByte,
        Self::Dotfiles,
    ];
}

impl Flat {
    pub fn plain(entries: u64) -> Self {
        Self { entries, names: Names::Plain, kinds: Kinds::Files, seed: 0 }
    }

    pub fn name(&self, index: u64) -> Vec<u8> {
        let number = mix(index.wrapping_add(mix(self.seed)));
        let hex = format!("{number:016x}").into_bytes();
        // Filled up to a length with a letter that changes with the index.
        let filled = |to: usize| [&hex[..], &vec![b'a' + (index % 26) as u8; to - hex.len()]].concat();
        match self.names {
            Names::Plain => hex,
            Names::Longest => filled(255),
            Names::Shortest => shortest(index),
            Names::Varied => {
                let mut name = shortest(index);
                name.push(b'.');
                let to = name.len() + number as usize % (256 - name.len());
                name.resize(to, b'v');
                name
            }
            Names::Newlines => [b"\n", &hex[..8], b"\n\t\r\x1b[2J\x7f", &hex[8..], b"\n"].concat(),
            Names::NotUtf8 => [b"\xff\xfe\xc3\x28", &hex[..], b"\xe2\x82"].concat(),
            Names::EveryByte => {
                let byte = [any_byte(index)];
                [&byte, &hex[..], &byte].concat()
            }
            // `...` is a name, unlike `.` and `..`, and easily skipped by mistake.
            Names::Dotfiles if index == 0 => b"...".to_vec(),
            Names::Dotfiles => [&b"..."[..1 + (index % 3) as usize], &hex].concat(),
            Names::Unicode => ["é漢😀".as_bytes(), &hex, "ß字".as_bytes()].concat(),
            Names::Surrogates => [b"\xed\xa0\xbd", &hex[..], b"\xed\xb8\x80"].concat(),
        }
    }

    pub fn kind(&self, index: u64) -> FileType {
        match self.kinds {
            Kinds::Files => FileType::File,
            Kinds::Mixed => MIXED[index as usize % MIXED.len()],
        }
    }

    /// The directory must not exist. Names that the file system rejects are left out (NTFS wants UTF-8).
    pub fn build(&self, directory: &Path) {
        std::fs::create_dir(directory).unwrap();
        self.fill(directory);
    }

    /// Tests must not change it. On Windows it is taken from `MEGADIR_TREES` if it exists there ([`of_windows`]).
    pub fn ensure(&self, parent: &Path) -> PathBuf {
        let name = format!("{}-{:?}-{:?}-{}", self.entries, self.names, self.kinds, self.seed);
        let ready = std::env::var_os("MEGADIR_TREES").filter(|_| cfg!(windows));
        if let Some(ready) = ready.map(|ready| Path::new(&ready).join(&name)).filter(|ready| ready.is_dir()) {
            return ready;
        }
        ensure(parent, &name, |path| self.fill(path))
    }

    fn fill(&self, directory: &Path) {
        let maker = Maker::open(directory);
        for index in 0..self.entries {
            maker.make_if_named(&self.name(index), self.kind(index));
        }
    }
}

/// `fill` gets a new directory.
pub fn ensure(parent: &Path, name: &str, fill: impl FnOnce(&Path)) -> PathBuf {
    let path = parent.join(name);
    if !path.exists() {
        // A partial tree must never pass for a whole one.
        let partial = parent.join(format!("{name}.partial"));
        std::fs::create_dir(&partial).unwrap();
        fill(&partial);
        std::fs::rename(&partial, &path).unwrap();
    }
    path
}

/// Created in advance: Wine reads a whole directory to create one file in it.
pub fn of_windows() -> Vec<Flat> {
    [710, 1500, 2000, 5000, 100_000].map(Flat::plain).to_vec()
}

#[track_caller]
pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[derive(Debug)]
pub struct Maker {
    #[cfg(unix)]
    directory: std::fs::File,
    #[cfg(windows)]
    directory: PathBuf,
}

// Works relative to a descriptor where the system allows it.
impl Maker {
    pub fn make(&self, name: &[u8], kind: FileType) {
        assert!(self.make_if_named(name, kind), "no name here: {:?}", name.escape_ascii().to_string());
    }
}

#[cfg(unix)]
impl Maker {
    pub fn open(directory: &Path) -> Self {
        Self { directory: std::fs::File::open(directory).unwrap() }
    }

    /// `false` if the file system rejects the name; the entry must not exist.
    pub fn make_if_named(&self, name: &[u8], kind: FileType) -> bool {
        use rustix::fs::{FileType as Kind, Mode, mkdirat, mknodat, symlinkat};
        let (directory, path) = (&self.directory, std::ffi::OsStr::from_bytes(name));
        let mode = Mode::from_raw_mode(0o644);
        let made = match kind {
            FileType::Directory => mkdirat(directory, path, Mode::from_raw_mode(0o755)),
            FileType::Symlink => symlinkat("nowhere", directory, path),
            FileType::Fifo => mknodat(directory, path, Kind::Fifo, mode, 0),
            FileType::Socket => mknodat(directory, path, Kind::Socket, mode, 0),
            _ => mknodat(directory, path, Kind::RegularFile, mode, 0),
        };
        // Other errors than an illegal sequence mean that the test is wrong.
        match made {
            Ok(()) => true,
            Err(rustix::io::Errno::ILSEQ) => false,
            Err(error) => panic!("cannot make {:?} ({kind:?}): {error}", name.escape_ascii().to_string()),
        }
    }

    pub fn has(&self, name: &[u8]) -> bool {
        let path = std::ffi::OsStr::from_bytes(name);
        rustix::fs::statat(&self.directory, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    pub fn remove(&self, name: &[u8]) {
        let name = std::ffi::OsStr::from_bytes(name);
        rustix::fs::unlinkat(&self.directory, name, rustix::fs::AtFlags::empty()).unwrap();
    }

    pub fn rename(&self, from: &[u8], to: &[u8]) {
        let name = std::ffi::OsStr::from_bytes;
        rustix::fs::renameat(&self.directory, name(from), &self.directory, name(to)).unwrap();
    }
}

#[cfg(windows)]
impl Maker {
    pub fn open(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// `false` if the system rejects the name; the entry must not exist.
    pub fn make_if_named(&self, name: &[u8], kind: FileType) -> bool {
        if !is_name(name) {
            return false;
        }
        let path = self.path(name);
        match kind {
            FileType::Directory => std::fs::create_dir(path).unwrap(),
            FileType::File => drop(std::fs::File::create_new(path).unwrap()),
            kind => panic!("no {kind:?} can be made here"),
        }
        true
    }

    pub fn has(&self, name: &[u8]) -> bool {
        is_name(name) && std::fs::symlink_metadata(self.path(name)).is_ok()
    }

    pub fn remove(&self, name: &[u8]) {
        std::fs::remove_file(self.path(name)).unwrap();
    }

    pub fn rename(&self, from: &[u8], to: &[u8]) {
        std::fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn path(&self, name: &[u8]) -> PathBuf {
        self.directory.join(megadir::names::to_os(name).unwrap())
    }
}

/// Windows accepts WTF-8 without control characters, characters with a meaning in paths, and final dots and spaces.
#[cfg(windows)]
fn is_name(name: &[u8]) -> bool {
    let is_forbidden = |byte: &u8| *byte < 32 || b"<>:\"/\\|?*".contains(byte);
    megadir::names::to_wide(name).is_some()
        && !name.iter().any(is_forbidden)
        && !name.last().is_none_or(|last| b". ".contains(last))
}

fn any_byte(index: u64) -> u8 {
    match (index % 254) as u8 + 1 {
        byte if byte < b'/' => byte,
        byte => byte + 1,
    }
}

/// Shortest name that no smaller index has; without dots, so never `.` or `..`.
fn shortest(index: u64) -> Vec<u8> {
    let mut name = Vec::new();
    let mut rest = index;
    loop {
        // The bytes before the dot are 1 to 45, the first after the slash is 48.
        let digit = (rest % 253) as u8;
        name.push(if digit < 45 { digit + 1 } else { digit + 3 });
        if rest < 253 {
            return name;
        }
        rest = rest / 253 - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Flat, Kinds, Names, any_byte};
    use std::collections::HashSet;

    #[test]
    fn names_differ_and_a_directory_can_hold_them() {
        for names in Names::ALL {
            let flat = Flat { entries: 70_000, names, kinds: Kinds::Files, seed: 3 };
            let mut all = HashSet::new();
            for index in 0..flat.entries {
                let name = flat.name(index);
                assert!((1..=255).contains(&name.len()) && name != b"." && name != b"..", "{names:?}");
                assert!(!name.contains(&0) && !name.contains(&b'/'), "{names:?}");
                assert!(all.insert(name), "{names:?} {index}");
            }
        }
    }

    #[test]
    fn every_byte_is_used() {
        let bytes: HashSet<u8> = (0..254).map(any_byte).collect();
        assert_eq!(bytes.len(), 254);
        assert!(!bytes.contains(&0) && !bytes.contains(&b'/'));
    }
}
