//! Lints all targets for Windows with the toolchain's Windows target, which rustup adds, or without rustup with Debian's `rustc-web`, whose
//! library source (`rust-web-src`) is built by `-Zbuild-std`. Needs `dlltool` for std and mingw's gcc for BLAKE3.
//!
//! Clippy runs as the compiler of `cargo check`, so that one build gives errors and lints. xtask is left
//! out: it is not shipped.

use crate::ci::lints::lint;
use crate::ci::stage::{Context, PROFILE, Report};
use crate::process;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

pub(super) const TARGET: &str = "x86_64-pc-windows-gnu";
const RUSTC: &str = "/usr/bin/rustc";
const RUSTDOC: &str = "/usr/bin/rustdoc";
const CLIPPY_DRIVER: &str = "/usr/bin/clippy-driver";
const LIBRARY: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";
const DLLTOOL: &str = "x86_64-w64-mingw32-dlltool";
pub(super) const GCC: &str = "x86_64-w64-mingw32-gcc";

/// Cargo's setting for the package that links `zstd`: nothing is linked here, so that its C code need not be compiled. The stage
/// `wine` compiles it.
const WITHOUT_ZSTANDARD: &str = "target.x86_64-pc-windows-gnu.zstd.rustc-link-lib=[\"zstd\"]";

/// Oldest minor version of Debian's compiler that builds this workspace.
const RUSTC_MINOR_MIN: u32 = 95;

pub(crate) fn run(context: &Context) -> Result<Report, String> {
    if let Some(lacking) = lacking_to_build() {
        return Ok(Report::not_run(format!("windows: no {lacking}")));
    }
    let mut command = context.cargo(&["check", "--locked"]);
    build_with(&mut command, PROFILE);
    command.args(["--workspace", "--exclude", "xtask", "--all-targets", "--config", WITHOUT_ZSTANDARD]);
    if !own_target_is_there() {
        command.env("CLIPPY_DRIVER", CLIPPY_DRIVER);
    }
    process::run(lint(context, &mut command)?)?;
    Ok(Report::default())
}

/// In the folder of the tests: with their profile, procedural macros and build scripts are compiled once for both systems.
pub(super) fn build_with(command: &mut Command, profile: &str) {
    command.args(["--target", TARGET, "--profile", profile]);
    if !own_target_is_there() {
        command.arg("-Zbuild-std=std,panic_abort").env("RUSTC_BOOTSTRAP", "1");
        command.env("RUSTC", RUSTC).env("RUSTDOC", RUSTDOC);
    }
}

pub(super) fn lacking_to_build() -> Option<String> {
    // The C compiler is needed in both ways, everything else only without the target in the toolchain.
    if process::find_tool(GCC).is_none() {
        return Some(format!("{GCC} (compiles BLAKE3 and Zstandard, and links)"));
    }
    let lacking = lacking().filter(|_| !own_target_is_there())?;
    Some(format!("{lacking}, nor the target {TARGET} in the toolchain"))
}

/// rustup is tried once: without it, building the standard library takes a third of the stage.
fn own_target_is_there() -> bool {
    static IS_THERE: OnceLock<bool> = OnceLock::new();
    *IS_THERE.get_or_init(|| process::has_or_adds_library(TARGET))
}

/// `true` for a file that only Debian's compiler needs, if the toolchain has the target.
pub(super) fn does_without(file: &str) -> bool {
    [RUSTC, CLIPPY_DRIVER, LIBRARY].contains(&file) && own_target_is_there()
}

fn lacking() -> Option<&'static str> {
    let files = [CLIPPY_DRIVER, LIBRARY].into_iter().find(|file| !Path::new(file).is_file());
    let dlltool = Some(DLLTOOL).filter(|tool| process::find_tool(tool).is_none());
    let rustc = Some("recent /usr/bin/rustc").filter(|_| !debian_rustc_is_recent());
    rustc.or(files).or(dlltool)
}

/// Debian's plain `rustc` has the same path but is old.
pub(crate) fn debian_rustc_is_recent() -> bool {
    let version = process::output(Command::new(RUSTC).arg("--version"));
    version.is_ok_and(|text| minor_version(&text).is_some_and(|minor| minor >= RUSTC_MINOR_MIN))
}

fn minor_version(text: &str) -> Option<u32> {
    text.strip_prefix("rustc 1.")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::minor_version;

    #[test]
    fn reads_the_version_of_a_compiler() {
        assert_eq!(
            minor_version("rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)"),
            Some(96)
        );
        assert_eq!(minor_version("rustc 1.63.0"), Some(63));
        assert_eq!(minor_version("clippy 0.1.96"), None);
    }
}
