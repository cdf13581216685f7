//! Tests that cannot run here say so, and are counted apart by `cargo xtask ci`.
//!
//! ```text
//! not run: TESTNAME: why        is to be had: a failure where MEGADIR_REQUIRE_ALL=1
//! unavailable: TESTNAME: why    may be missing anywhere: never a failure
//! ```

use std::io::Write;

/// Takes the value of a `Result<T, String>`, or ends the test as not run for the reason given.
///
/// # Panics
///
/// When the value is missing and `MEGADIR_REQUIRE_ALL=1`.
#[macro_export]
macro_rules! require {
    ($needed:expr) => {
        match $needed {
            Ok(value) => value,
            Err(why) => {
                $crate::require::not_run(&$crate::require::test_name(module_path!(), line!()), &why);
                return;
            }
        }
    };
}

/// Tells whether a program is there; `Err` says that it is not.
pub fn have(tool: &str) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    if found { Ok(()) } else { Err(format!("no program {tool}")) }
}

/// Tells whether this is Wine: what it lacks may be unavailable, what Windows has must work.
pub fn is_wine() -> bool {
    cfg!(windows) && std::path::Path::new(r"C:\windows\system32\winecfg.exe").is_file()
}

/// Tells whether the long tier was asked for (`MEGADIR_FULL=1`).
pub fn full() -> bool {
    is_set("MEGADIR_FULL")
}

/// Notes that a test did not run although what it needs is to be had.
///
/// # Panics
///
/// When `MEGADIR_REQUIRE_ALL=1`.
pub fn not_run(test: &str, why: &str) {
    note("not run", test, why);
    assert!(!is_set("MEGADIR_REQUIRE_ALL"), "MEGADIR_REQUIRE_ALL=1 and {test} cannot run: {why}");
}

/// Notes that a test did not run for lack of something that may be missing anywhere.
pub fn unavailable(test: &str, why: &str) {
    note("unavailable", test, why);
}

/// Returns the name of the running test; its place in the source where the harness does not tell.
pub fn test_name(module: &str, line: u32) -> String {
    match std::thread::current().name() {
        Some(name) if name != "main" => format!("{module}::{name}"),
        _ => format!("{module}, line {line}"),
    }
}

#[expect(clippy::print_stderr, reason = "whoever runs the test by hand reads it there")]
fn note(word: &str, test: &str, why: &str) {
    let line = format!("{word}: {test}: {}\n", why.trim().replace('\n', "; "));
    eprint!("{line}");
    if let Some(log) = std::env::var_os("MEGADIR_NOT_RUN_LOG") {
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        // One call, so that lines of tests running at the same time do not mix.
        log.write_all(line.as_bytes()).unwrap();
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}
