//! The directory to list: empty files with names of 32 hex digits, like MD5 digests.

use super::interrupt::Interrupt;
use md5::{Digest, Md5};
use rustix::fs::{CWD, Mode, OFlags};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// Length of each name, bytes.
pub(crate) const NAME_BYTES: usize = 32;

/// Content of a listing, independent of its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) entries: u64,
    /// Wrapping sum of the hashes of the names.
    pub(crate) hash: u64,
}

impl Content {
    pub(crate) fn add(&mut self, name: &[u8]) {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.entries += 1;
        self.hash = self.hash.wrapping_add(hasher.finish());
    }
}

/// Creates a synced directory with this number of files; returns its content.
pub(crate) fn fill(path: &Path, entries: u64, interrupt: &Interrupt) -> Result<Content, String> {
    let cannot = |error: rustix::io::Errno| format!("cannot fill {}: {error}", path.display());
    rustix::fs::mkdirat(CWD, path, Mode::from_raw_mode(0o755)).map_err(cannot)?;
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, path, folder, Mode::empty()).map_err(cannot)?;
    let mut content = Content::default();
    for number in 0..entries {
        let name = name(number);
        let regular = rustix::fs::FileType::RegularFile;
        rustix::fs::mknodat(&directory, &name[..], regular, Mode::from_raw_mode(0o644), 0).map_err(cannot)?;
        content.add(&name);
        if number % 4096 == 0 {
            interrupt.check()?;
        }
    }
    rustix::fs::syncfs(&directory).map_err(cannot)?;
    Ok(content)
}

pub(super) fn name(number: u64) -> [u8; NAME_BYTES] {
    let digest = Md5::digest(number.to_string());
    let digit = |half: u8| char::from_digit(u32::from(half), 16).map_or(b'0', |digit| digit as u8);
    std::array::from_fn(|at| {
        let byte = digest[at / 2];
        digit(if at % 2 == 0 { byte >> 4 } else { byte & 15 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_md5_in_hex() {
        assert_eq!(&name(0), b"cfcd208495d565ef66e7dff9f98764da");
        assert_eq!(&name(1), b"c4ca4238a0b923820dcc509a6f75849b");
    }

    #[test]
    fn content_knows_no_order() {
        let of = |names: &[&[u8]]| {
            let mut content = Content::default();
            names.iter().for_each(|name| content.add(name));
            content
        };
        assert_eq!(of(&[b"a", b"b"]), of(&[b"b", b"a"]));
        assert_ne!(of(&[b"a", b"b"]), of(&[b"a", b"a"]));
        assert_ne!(of(&[b"a"]), of(&[b"a", b"a"]));
    }
}
