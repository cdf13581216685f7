//! Stages that check the source without running it.

use crate::ci::stage::{Context, Report};
use crate::{book, process, tidy};
use std::process::Command;

pub(crate) fn tidy(context: &Context) -> Result<Report, String> {
    tidy::check(&context.workspace).map(Report::line)
}

pub(crate) fn format(context: &Context) -> Result<Report, String> {
    process::run(&mut context.cargo(&["fmt", "--all", "--check"]))?;
    // A workspace of its own, which `--all` does not reach.
    let python = context.root("crates/megadir-python/Cargo.toml");
    process::run(context.cargo(&["fmt", "--check", "--manifest-path"]).arg(python))?;
    Ok(Report::default())
}

/// All targets; then the length of functions without tests, with the same features, so that only this workspace is checked again; then
/// the fuzz targets.
pub(crate) fn clippy(context: &Context) -> Result<Report, String> {
    let common = ["clippy", "--workspace", "--locked", "--all-features"];
    // Tests may be longer than a screen, other functions may not; the lint has no setting for it.
    let all =
        [&common[..], &["--all-targets", "--", "-D", "warnings", "-A", "clippy::too_many_lines"]].concat();
    process::run(&mut context.cargo(&all))?;
    let length = [&common[..], &["--", "-D", "warnings"]].concat();
    process::run(&mut context.cargo(&length))?;
    process::run(&mut fuzz(context))?;
    Ok(Report::default())
}

fn fuzz(context: &Context) -> Command {
    let manifest = context.root("fuzz/Cargo.toml");
    let mut command = context.cargo(&["clippy", "--locked", "--lib", "--bins", "--manifest-path"]);
    command.arg(manifest).args(["--", "-D", "warnings"]);
    // In the folder of the other builds, so that dependencies are compiled once; the library of the fuzzer
    // is named, so that no C++ is compiled.
    command.env("CARGO_TARGET_DIR", &context.workspace.target);
    command.env("CUSTOM_LIBFUZZER_PATH", context.workspace.target.join("libfuzzer.a"));
    command
}

/// Installs mdBook once for each machine.
pub(crate) fn book(context: &Context) -> Result<Report, String> {
    book::install(&context.workspace)?;
    book::build(&context.workspace).map(Report::line)
}

pub(crate) fn docs(context: &Context) -> Result<Report, String> {
    let mut command = context.cargo(&["doc", "--workspace", "--all-features", "--no-deps", "--locked"]);
    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Report::default())
}
