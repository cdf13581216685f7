//! `cargo xtask tidy`: rules for files beyond compiler and linter. Each check is a pure function from files to
//! findings; a new one is a file here and a line in [`CHECKS`].

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

type Check = fn(&[Source]) -> Vec<Finding>;

/// Checks of files. The check of crate edges needs `cargo metadata` and is separate, in [`edges`].
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
