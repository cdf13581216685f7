//! Which entries are listed: types and globs.

use std::ffi::OsStr;

use globset::{Candidate, GlobBuilder, GlobMatcher};
use megadir::{Entry, FileType, names};

use crate::exit::CliError;

/// The entries asked for; an empty filter accepts all.
pub(super) struct Filter {
    types: Vec<FileType>,
    glob: Option<GlobMatcher>,
}

impl Filter {
    pub(super) fn new(types: &[String], glob: Option<&OsStr>) -> Result<Self, CliError> {
        let types = types.iter().map(|name| file_type(name)).collect::<Result<_, _>>()?;
        let glob = glob.map(matcher).transpose()?;
        Ok(Self { types, glob })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.types.is_empty() && self.glob.is_none()
    }

    /// Tells whether types matter, so that those the directory does not tell must be asked for.
    pub(super) fn needs_types(&self) -> bool {
        !self.types.is_empty()
    }

    pub(super) fn accepts(&self, entry: &Entry<'_>) -> bool {
        (self.types.is_empty() || self.types.contains(&entry.kind))
            && self.glob.as_ref().is_none_or(|glob| match names::to_os(entry.name) {
                Ok(name) => glob.is_match_candidate(&Candidate::new(&*name)),
                Err(_) => false,
            })
    }
}

fn file_type(name: &str) -> Result<FileType, CliError> {
    FileType::from_name(name).ok_or_else(|| {
        let known: Vec<_> = FileType::names().collect();
        CliError::usage(format!("--type '{name}': unknown type; there are {}", known.join(", ")))
    })
}

fn matcher(glob: &OsStr) -> Result<GlobMatcher, CliError> {
    let refuse = |reason: String| CliError::usage(format!("--match '{}': {reason}", glob.display()));
    let text = glob.to_str().ok_or_else(|| {
        refuse("a glob must be UTF-8 (the names it matches need not be; '?' matches any byte of them)".into())
    })?;
    if text.contains('/') {
        return Err(refuse("a glob matches names, which hold no '/'".into()));
    }
    match GlobBuilder::new(text).literal_separator(true).build() {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(refuse(error.kind().to_string())),
    }
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
        let filter = Filter::new(&["f".into(), "symlink".into()], Some("*.tmp".as_ref())).unwrap();
        assert!(filter.accepts(&entry(b"a.tmp", FileType::File)));
        assert!(filter.accepts(&entry(b"\xff.tmp", FileType::Symlink)));
        assert!(!filter.accepts(&entry(b"a.tmp", FileType::Directory)));
        assert!(!filter.accepts(&entry(b"a.tmpx", FileType::File)));
    }

    #[test]
    fn unknown_types_and_bad_globs_are_usage_errors() {
        assert!(Filter::new(&["flie".into()], None).is_err_and(|error| error.code == 2));
        assert!(Filter::new(&[], Some("a[".as_ref())).is_err_and(|error| error.code == 2));
        assert!(Filter::new(&[], Some("a/b".as_ref())).is_err_and(|error| error.code == 2));
    }
}
