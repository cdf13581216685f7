//! Reporting of tests that cannot run; `cargo xtask ci` counts them separately.
//!
//! ```text
//! not run: TESTNAME: why        can be provided: a failure with MEGADIR_REQUIRE_ALL=1
//! unavailable: TESTNAME: why    may be missing on any machine: never a failure
//! ```

use std::io::Write;

/// Unwraps a `Result<T, String>`, or ends the test as not run; panics if `MEGADIR_REQUIRE_ALL=1`.
/// A macro, because only the test may return from the test.
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

/// Found on the path as a file; the tool is not started.
pub fn have(tool: &str) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    if found { Ok(()) } else { Err(format!("no program {tool}")) }
}

pub fn is_wine() -> bool {
    cfg!(windows) && std::path::Path::new(r"C:\windows\system32\winecfg.exe").is_file()
}

/// `MEGADIR_FULL=1`.
pub fn full() -> bool {
    is_set("MEGADIR_FULL")
}

/// For requirements that can be provided; panics if `MEGADIR_REQUIRE_ALL=1`.
pub fn not_run(test: &str, why: &str) {
    note("not run", test, why);
    assert!(!is_set("MEGADIR_REQUIRE_ALL"), "MEGADIR_REQUIRE_ALL=1 and {test} cannot run: {why}");
}

/// For requirements that may be missing on any machine.
pub fn unavailable(test: &str, why: &str) {
    note("unavailable", test, why);
}

/// The place in the source if the harness does not name the test.
pub fn test_name(module: &str, line: u32) -> String {
    match std::thread::current().name() {
        Some(name) if name != "main" => format!("{module}::{name}"),
        _ => format!("{module}, line {line}"),
    }
}

#[expect(clippy::print_stderr, reason = "shown to the person who runs the test")]
fn note(word: &str, test: &str, why: &str) {
    let line = format!("{word}: {test}: {}\n", why.trim().replace('\n', "; "));
    eprint!("{line}");
    if let Some(log) = std::env::var_os("MEGADIR_NOT_RUN_LOG") {
        // Appended, since many processes of tests write to one log.
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        // Lines of concurrent tests must not mix.
        log.write_all(line.as_bytes()).unwrap();
    }
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}
