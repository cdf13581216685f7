//! A layout's rule as code that can be pasted into a program, and in words.
//!
//! A language's file writes one `Rule` (`rule.rs`): which names are refused, what directories are taken from, and what the file is
//! called there. None knows presets. What is written comes from the layout alone: numbers, and a label of letters, digits,
//! `_` and `-`; so nothing in it can end a comment or a literal.
//!
//! The paths are those of Unix, where names are bytes. What Windows cannot have besides is not looked for.

mod go;
mod python;
mod rule;
mod rust;
mod shell;
mod words;
mod wrap;

pub use words::words;

use std::fmt;
use std::str::FromStr;

use megadir::layout::Layout;

use rule::Rule;

/// A language that a layout can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Python 3.8 and later, with what it brings.
    Python,
    /// Rust on Unix; for a digest with the crate `sha2`.
    Rust,
    /// Go, with what it brings, and without the clause that names the package.
    Go,
    /// POSIX shell, with `sha256sum` or `shasum` where a digest is needed.
    Shell,
}

impl Language {
    /// Every language, in the order of help texts.
    pub const ALL: &'static [Self] = &[Self::Python, Self::Rust, Self::Go, Self::Shell];

    /// Returns the word for it, as it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Shell => "shell",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(text: &str) -> Result<Self, UnknownLanguage> {
        Self::ALL.iter().copied().find(|language| language.word() == text).ok_or(UnknownLanguage)
    }
}

/// There is no code in a language of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownLanguage;

impl fmt::Display for UnknownLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<&str> = Language::ALL.iter().map(|language| language.word()).collect();
        write!(f, "languages are {}", all.join(", "))
    }
}

impl std::error::Error for UnknownLanguage {}

/// Why there is no code for a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoCode {
    /// The layout refuses every name, since its levels take as many characters as a name can have.
    RefusesAll,
    /// Nobody has said yet how the layout's source is written in other languages.
    Source,
}

impl fmt::Display for NoCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RefusesAll => "no name is long enough for the layout",
            Self::Source => "it is not known how the layout is written in other languages",
        })
    }
}

impl std::error::Error for NoCode {}

/// Writes a layout as code: a function `path_for` (`pathFor` in Go) from a name to its path, which refuses what the layout
/// refuses.
///
/// Where the depth grows the function takes it as a second parameter, and a second function `depth_for` (`depthFor`) tells the
/// depth for a number of files.
///
/// ```
/// use megadir_advise::code::{Language, snippet};
/// let code = snippet(&"prefix:2/2".parse()?, Language::Python)?;
/// assert!(code.contains("return path if isinstance(name, bytes) else os.fsdecode(path)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the layout refuses every name.
pub fn snippet(layout: &Layout, language: Language) -> Result<String, NoCode> {
    let rule = Rule::new(layout)?;
    Ok(match language {
        Language::Python => python::write(&rule),
        Language::Rust => rust::write(&rule),
        Language::Go => go::write(&rule),
        Language::Shell => shell::write(&rule),
    })
}
