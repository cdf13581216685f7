//! `cargo xtask tidy`: what every file must be like, beyond what compiler and linter see.
//!
//! Each check is a pure function from files to findings, so that its test hands it a small tree that breaks it
//! and one that does not. To add one: a file here, and a line in [`CHECKS`].

mod circles;
mod dependencies;
mod edges;
mod language;
mod lexer;
mod modules;
mod paths;
mod run;
mod sizes;
mod source;
mod words;

pub(crate) use run::{Args, check, run};
use source::{Finding, Source};

/// Takes all files, returns what is wrong with them.
type Check = fn(&[Source]) -> Vec<Finding>;

/// The checks of files; that of crate edges needs `cargo metadata` and stands apart in [`edges`].
static CHECKS: &[Check] = &[
    sizes::find,
    paths::find_names,
    paths::find_headers,
    paths::find_machine_paths,
    modules::find,
    circles::find,
    dependencies::find,
    words::find,
    language::find,
];
