//! Globs on names and paths, with the rules of `globset`: byte by byte, and `*` never matches a `/`.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;

use globset::{Candidate, GlobBuilder, GlobMatcher};

use crate::names;

/// Glob that cannot be used, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadGlob {
    /// The glob as given.
    pub glob: String,
    /// Reason for the refusal.
    pub reason: String,
}

impl fmt::Display for BadGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.glob, self.reason)
    }
}

impl std::error::Error for BadGlob {}

/// Alternatives: an entry matches if one of the globs does.
#[derive(Clone, Default)]
pub struct Globs {
    texts: Vec<String>,
    names: Vec<GlobMatcher>,
    paths: Vec<GlobMatcher>,
}

impl Globs {
    /// Globs that match whole names. Fails on a glob with a `/`. Errors: [`BadGlob`] for the first glob that is malformed or can match
    /// no name.
    pub fn of_names(globs: &[impl AsRef<str>]) -> Result<Self, BadGlob> {
        Self::new(globs, |glob| match glob.contains('/') {
            true => Err(bad(glob, "a glob matches names, which contain no '/'")),
            false => Ok(false),
        })
    }

    /// Globs that match whole paths below the directory, such as `cache/*/old`; `**` matches any number of directories. A
    /// leading `/` has no effect. Errors: [`BadGlob`] for the first glob that is malformed or can match no path.
    pub fn of_paths(globs: &[impl AsRef<str>]) -> Result<Self, BadGlob> {
        Self::new(globs, |_| Ok(true))
    }

    /// A glob with a `/` matches paths, any other names. Errors: as [`Globs::of_names`] and
    /// [`Globs::of_paths`].
    pub fn of_names_or_paths(globs: &[impl AsRef<str>]) -> Result<Self, BadGlob> {
        Self::new(globs, |glob| Ok(glob.contains('/')))
    }

    fn new(
        globs: &[impl AsRef<str>],
        matches_paths: impl Fn(&str) -> Result<bool, BadGlob>,
    ) -> Result<Self, BadGlob> {
        let mut all = Self::default();
        for glob in globs.iter().map(AsRef::as_ref) {
            if let Some(reason) = is_in_vain(glob) {
                return Err(bad(glob, reason));
            }
            match matches_paths(glob)? {
                true => all.paths.push(path_matcher(glob)?),
                false => all.names.push(matcher(glob, glob)?),
            }
            all.texts.push(glob.to_owned());
        }
        Ok(all)
    }

    /// The globs as given.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// `true` if there is no glob.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub(super) fn has_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    pub(crate) fn match_name(&self, name: &[u8]) -> bool {
        !self.names.is_empty() && any(&self.names, name)
    }

    pub(super) fn match_path(&self, path: &[u8]) -> bool {
        any(&self.paths, path)
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        self.texts == other.texts && self.names.len() == other.names.len()
    }
}

impl Eq for Globs {}

impl fmt::Debug for Globs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.texts.fmt(f)
    }
}

fn any(globs: &[GlobMatcher], text: &[u8]) -> bool {
    let text: Cow<'_, OsStr> = match names::to_os(text) {
        Ok(text) => text,
        Err(_) => return false,
    };
    let candidate = Candidate::new(&*text);
    globs.iter().any(|glob| glob.is_match_candidate(&candidate))
}

/// The reason if no entry can match a glob: to exclude it protects nothing, and `remove --exclude "$KEEP"` would remove everything.
fn is_in_vain(glob: &str) -> Option<&'static str> {
    let has_alternatives = glob.starts_with('{');
    match glob {
        "." | ".." => Some("no entry has this name; write the name of the entry"),
        _ if glob.is_empty() || has_alternatives && glob.bytes().all(|byte| b"{,}".contains(&byte)) => {
            Some("an empty glob matches nothing; is a variable unset?")
        }
        _ => None,
    }
}

fn path_matcher(glob: &str) -> Result<GlobMatcher, BadGlob> {
    let relative = glob.strip_prefix('/').unwrap_or(glob);
    if relative.ends_with('/') {
        return Err(bad(glob, "no path ends with '/'; leave it out"));
    }
    if relative.split('/').any(|name| matches!(name, "" | "." | "..")) {
        return Err(bad(glob, "paths begin below the directory that is named and have no '.', '..' or '//'"));
    }
    matcher(relative, glob)
}

fn matcher(glob: &str, given: &str) -> Result<GlobMatcher, BadGlob> {
    if wide_in_brackets(glob) {
        return Err(bad(
            given,
            "[...] matches one byte, so it takes ASCII only; write {ä,ö} instead of [äö]",
        ));
    }
    match GlobBuilder::new(glob).literal_separator(true).build() {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(bad(given, &error.kind().to_string())),
    }
}

fn bad(glob: &str, reason: &str) -> BadGlob {
    BadGlob { glob: glob.to_owned(), reason: reason.to_owned() }
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
    use super::Globs;

    #[test]
    fn bad_globs_are_refused() {
        for glob in ["a[", "a/b", "[ä]x", "{a", "", ".", "..", "{}", "{,}"] {
            assert!(Globs::of_names(&[glob]).is_err_and(|bad| bad.glob == glob), "{glob}");
        }
        for glob in ["a/", "a//b", "./a", "../a", "a/..", "/", "", ".", "a/[ä]"] {
            assert!(Globs::of_paths(&[glob]).is_err_and(|bad| bad.glob == glob), "{glob}");
        }
        assert!(Globs::of_names_or_paths(&["a", "a/b", "/a", "...", ",", "{,a}"]).is_ok());
        assert!(Globs::of_names_or_paths(&["a", ""]).is_err_and(|bad| bad.reason.contains("variable unset")));
    }

    #[test]
    fn multibyte_letter_is_matched_by_its_bytes_or_as_a_letter() {
        let matches = |glob: &str| Globs::of_names(&[glob]).unwrap().match_name("grün".as_bytes());
        assert!(matches("gr??n") && matches("grün") && matches("gr{ü,ö}n") && matches("gr*"));
        assert!(!matches("gr?n") && !matches("GRÜN"));
    }

    #[test]
    fn a_star_stays_in_one_name_and_two_stars_do_not() {
        let matches = |glob: &str, path: &str| Globs::of_paths(&[glob]).unwrap().match_path(path.as_bytes());
        assert!(matches("a/*/c", "a/b/c") && matches("/a/**", "a/b/c") && matches("**/c", "a/b/c"));
        assert!(matches("**/c", "c") && matches("c", "c"));
        assert!(!matches("a/*", "a/b/c") && !matches("c", "a/c") && !matches("a/**", "a"));
    }

    #[test]
    fn names_that_end_with_a_dot_match_as_others_do() {
        let matches = |glob: &str, name: &str| Globs::of_names(&[glob]).unwrap().match_name(name.as_bytes());
        assert!(matches("*.", "a.") && matches("a.", "a.") && matches("...", "...") && matches("*", "..."));
    }
}
