//! Filters entries by type and glob, for listing and removing.

use std::ffi::OsStr;

use globset::{Candidate, GlobBuilder, GlobMatcher};
use megadir::{Entry, FileType, names};

use crate::exit::CliError;
use crate::ui::message::quoted;

/// If empty, all entries match.
pub(in crate::cmd) struct Filter {
    types: Vec<FileType>,
    glob: Option<GlobMatcher>,
}

impl Filter {
    pub(in crate::cmd) fn new(types: Vec<FileType>, glob: Option<&OsStr>) -> Result<Self, CliError> {
        let glob = glob.map(matcher).transpose()?;
        Ok(Self { types, glob })
    }

    pub(in crate::cmd) fn is_empty(&self) -> bool {
        self.types.is_empty() && self.glob.is_none()
    }

    /// Types that the listing leaves unknown must then be queried.
    pub(in crate::cmd) fn needs_types(&self) -> bool {
        !self.types.is_empty()
    }

    pub(in crate::cmd) fn accepts(&self, entry: &Entry<'_>) -> bool {
        (self.types.is_empty() || self.types.contains(&entry.kind)) && self.accepts_name(entry.name)
    }

    pub(in crate::cmd) fn accepts_name(&self, name: &[u8]) -> bool {
        self.glob.as_ref().is_none_or(|glob| match names::to_os(name) {
            Ok(name) => glob.is_match_candidate(&Candidate::new(&*name)),
            Err(_) => false,
        })
    }
}

fn matcher(glob: &OsStr) -> Result<GlobMatcher, CliError> {
    let refuse = |reason: &str| CliError::usage(format!("--match {}: {reason}", quoted(glob.as_ref())));
    let text = glob.to_str().ok_or_else(|| {
        refuse("a glob must be UTF-8 (the names it matches need not be; '?' matches any byte of them)")
    })?;
    if text.contains('/') {
        return Err(refuse("a glob matches names, which contain no '/'"));
    }
    if wide_in_brackets(text) {
        return Err(refuse("[...] matches one byte, so it takes ASCII only; write {ä,ö} instead of [äö]"));
    }
    match GlobBuilder::new(text).literal_separator(true).build() {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(refuse(&error.kind().to_string())),
    }
}

/// A multi-byte character in brackets could never match a single byte.
fn wide_in_brackets(glob: &str) -> bool {
    let mut inside = false;
    let mut letters = glob.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if !inside => drop(letters.next()),
            '[' => inside = true,
            ']' => inside = false,
            wide if inside && !wide.is_ascii() => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::Filter;
    use megadir::{Entry, FileType};

    fn entry(name: &[u8], kind: FileType) -> Entry<'_> {
        Entry { name, inode: 1, kind, cookie: None, record_bytes: 24 }
    }

    #[test]
    fn types_and_globs_must_both_accept() {
        let filter = Filter::new(vec![FileType::File, FileType::Symlink], Some("*.tmp".as_ref())).unwrap();
        assert!(filter.accepts(&entry(b"a.tmp", FileType::File)));
        assert!(filter.accepts(&entry(b"\xff.tmp", FileType::Symlink)));
        assert!(!filter.accepts(&entry(b"a.tmp", FileType::Directory)));
        assert!(!filter.accepts(&entry(b"a.tmpx", FileType::File)));
    }

    #[test]
    fn bad_globs_are_usage_errors() {
        for glob in ["a[", "a/b", "[ä]x", "{a"] {
            assert!(
                Filter::new(Vec::new(), Some(glob.as_ref())).is_err_and(|error| error.code == 2),
                "{glob}"
            );
        }
    }

    #[test]
    fn a_wide_letter_is_matched_by_its_bytes_or_by_itself() {
        let matches = |glob: &str| {
            let filter = Filter::new(Vec::new(), Some(glob.as_ref())).unwrap();
            filter.accepts(&entry("grün".as_bytes(), FileType::File))
        };
        assert!(matches("gr??n") && matches("grün") && matches("gr{ü,ö}n") && matches("gr*"));
        assert!(!matches("gr?n") && !matches("GRÜN") && !matches(""));
    }
}
