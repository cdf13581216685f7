//! Runs the generated code: it must return the library's paths, and refuse the same names. Each language is one
//! process (the shell one a layout) that gets the same names for every layout, and for every depth of the
//! growing ones. Its answers, each terminated by NUL, are compared with `megadir::layout`.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod cases;
mod golden;
mod names;
mod program;
mod run_go;
mod run_python;
mod run_rust;
mod run_shell;
mod transition;
mod words;
