//! Lints all targets for Windows with the toolchain's Windows target, or with Debian's `rustc-web`, whose library source (`rust-web-src`)
//! is built by `-Zbuild-std`. Needs `dlltool` for std and mingw's gcc for Zstandard.
//!
//! Clippy runs as the compiler of `cargo check`, so that one build gives errors and lints. xtask is left
//! out: it is not shipped.

use crate::ci::stage::{Context, Report};
use crate::process;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) const TARGET: &str = "x86_64-pc-windows-gnu";
const RUSTC: &str = "/usr/bin/rustc";
const RUSTDOC: &str = "/usr/bin/rustdoc";
const CLIPPY_DRIVER: &str = "/usr/bin/clippy-driver";
const LIBRARY: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";
const DLLTOOL: &str = "x86_64-w64-mingw32-dlltool";
pub(super) const GCC: &str = "x86_64-w64-mingw32-gcc";

/// Oldest minor version of Debian's compiler that builds this workspace.
const RUSTC_MINOR_MIN: u32 = 95;

pub(crate) fn run(context: &Context) -> Result<Report, String> {
    if let Some(lacking) = lacking_to_build() {
        return Ok(Report::not_run(format!("windows: no {lacking}")));
    }
    let mut command = context.cargo(&["check", "--locked"]);
    build_with(&mut command);
    command.args(["--workspace", "--exclude", "xtask", "--all-targets"]);
    command.env("CARGO_TARGET_DIR", target_dir(context));
    let driver = if own_target_is_there() { "clippy-driver" } else { CLIPPY_DRIVER };
    command.env("RUSTC_WORKSPACE_WRAPPER", driver);
    process::run(&mut command)?;
    Ok(Report::default())
}

pub(super) fn target_dir(context: &Context) -> PathBuf {
    context.workspace.target.join("windows")
}

/// Other flags would share nothing with these builds.
pub(super) fn build_with(command: &mut Command) {
    // One set of flags for the stages windows and wine, which share a folder.
    command.args(["--target", TARGET]);
    command.env("RUSTFLAGS", "-D warnings -A clippy::too_many_lines").env("CARGO_PROFILE_DEV_DEBUG", "0");
    if !own_target_is_there() {
        command.arg("-Zbuild-std=std,panic_abort").env("RUSTC_BOOTSTRAP", "1");
        command.env("RUSTC", RUSTC).env("RUSTDOC", RUSTDOC);
    }
}

pub(super) fn lacking_to_build() -> Option<String> {
    // The C compiler is needed in both ways, everything else only without the target in the toolchain.
    if process::find_tool(GCC).is_none() {
        return Some(format!("{GCC} (compiles Zstandard, and links)"));
    }
    let lacking = lacking().filter(|_| !own_target_is_there())?;
    Some(format!("{lacking}, nor the target {TARGET} in the toolchain"))
}

fn own_target_is_there() -> bool {
    process::has_library(TARGET)
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
