//! The code that is printed gives the library's own paths, and refuses what the library refuses: it is run.
//!
//! Each language is one process (the shell one a layout) that gets the same names for every layout, and for every depth of those
//! that grow. Its answers, each ended by NUL, are compared with those of `megadir::layout`.
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
mod words;
