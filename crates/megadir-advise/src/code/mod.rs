//! Rule of a layout as code to paste into a program, and in words. Each language writes one `Rule`
//! (`rule.rs`) from numbers and a label of letters, digits, `_` and `-`, so generated text cannot end a
//! comment or a literal. Paths are Unix paths.
//!
//! `rule.rs` defines refusals and slices of names once. A test runs the printed code with an interpreter or a compiler
//! and compares it with `Placer`.
//!
//! ```text
//!  Layout --Rule::new--> Rule --go, python, rust, shell--> text   (snippet)
//!                          |
//!                          +-- old and new rule, both printed, and a fixed text with open and create   (transition)
//! ```
//!
//! The code is meant to be pasted and read, so each writer chooses the shortest form that the layout
//! permits, and no library of ours is needed at run time. An error here is worse than a crash: a program
//! that computes another path than megadir loses files. Hence one `Rule` for all languages, and tests that
//! run all of them.

mod go;
mod python;
mod rule;
mod rust;
mod shell;
mod words;

pub use words::words;

use std::fmt;

use megadir::layout::Layout;

use rule::Rule;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// Python 3.8 and later, standard library only.
    Python,
    /// Rust on Unix; digests need the crate `sha2`.
    Rust,
    /// Go, standard library only, without the package clause.
    Go,
    /// POSIX shell; digests need `sha256sum` or `shasum`.
    Shell,
}

impl Language {
    pub const ALL: &'static [Self] = &[Self::Python, Self::Rust, Self::Go, Self::Shell];

    pub fn word(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Shell => "shell",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoCode {
    /// Its levels take as many characters as a name can have.
    RefusesAll,
    Source,
    /// A name has several paths.
    Growing,
    /// A path may belong to both layouts with different names; why.
    Ambiguous(String),
}

impl fmt::Display for NoCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RefusesAll => "the layout refuses every name",
            Self::Source => "this layout has no code yet",
            Self::Ambiguous(why) => {
                return write!(f, "{why}: --transition could open another file; move the files by way of a third layout");
            }
            Self::Growing => {
                "the depth of a layout depends on the number of files; for --transition name the layout without from= and under="
            }
        })
    }
}

impl std::error::Error for NoCode {}

/// Writes a layout as code: a function `path_for` (`pathFor` in Go) from a name to its path, which refuses the
/// same names as the layout.
/// If the depth grows, it is a second parameter, and a second function `depth_for` (`depthFor`) returns the
/// depth for a number of files.
/// ```
/// use megadir_advise::code::{Language, snippet};
/// let code = snippet(&"prefix:2/2".parse()?, Language::Python)?;
/// assert!(code.contains("return path if isinstance(name, bytes) else os.fsdecode(path)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// Errors: the layout refuses every name.
pub fn snippet(layout: &Layout, language: Language) -> Result<String, NoCode> {
    Ok(written(&Rule::new(layout)?, language))
}

fn written(rule: &Rule, language: Language) -> String {
    match language {
        Language::Python => python::write(rule),
        Language::Rust => rust::write(rule),
        Language::Go => go::write(rule),
        Language::Shell => shell::write(rule),
    }
}

/// Writes functions for the time in which files are moved from one layout to another: [`snippet`] of the new one, the
/// same for the old one, `open_file` (`openFile`), which finds a file at either path, and `create_file` (`createFile`),
/// which uses the new one.
/// Errors: as [`snippet`], for each layout; [`NoCode::Growing`]; [`NoCode::Ambiguous`] for layouts that cannot share a directory.
pub fn transition(old: &Layout, new: &Layout, language: Language) -> Result<String, NoCode> {
    if old.growth().is_some() || new.growth().is_some() {
        return Err(NoCode::Growing);
    }
    if let Some(why) = old.ambiguity(new) {
        return Err(NoCode::Ambiguous(why));
    }
    let (old, new) = (Rule::new(old)?, Rule::new(new)?);
    let codes = (written(&old, language), written(&new, language));
    let (both, text) = match language {
        Language::Python => (python::beside(&codes.0, &codes.1), include_str!("transition.py")),
        Language::Rust => (rust::beside(&codes.0, &codes.1), include_str!("transition.rs.txt")),
        Language::Go => (go::beside(&codes.0, &codes.1), include_str!("transition.go")),
        Language::Shell => (shell::beside(&codes.0, &codes.1), include_str!("transition.sh")),
    };
    Ok(both + &text.replace("OLD", &old.title).replace("NEW", &new.title))
}
