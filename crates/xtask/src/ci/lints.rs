//! Stages that check the source without running it.

use crate::ci::stage::{Context, PROFILE, Report};
use crate::{book, files, process, tidy};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
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

/// All targets in one pass, then the fuzz targets, with the profile of the tests: build scripts, procedural macros and C code are compiled once
/// for both.
pub(crate) fn clippy(context: &Context) -> Result<Report, String> {
    let words = ["check", "--workspace", "--locked", "--all-features", "--all-targets", "--profile", PROFILE];
    process::run(lint(context, &mut context.cargo(&words))?)?;
    process::run(&mut fuzz(context))?;
    Ok(Report::default())
}

/// Lets clippy check the crates of the workspace in the place of the compiler. `cargo clippy` has one set of words for tests and programs, so that
/// the length of functions took a second pass over all crates.
///
/// Cargo knows the wrapper by its path alone: with the script at one path, its changes would leave all crates unchecked. So it is copied to a path
/// that has the digest of its contents.
pub(super) fn lint<'a>(context: &Context, check: &'a mut Command) -> Result<&'a mut Command, String> {
    const SCRIPT: &str = include_str!("clippy.sh");
    let mut digest = DefaultHasher::new();
    SCRIPT.hash(&mut digest);
    let folder = context.workspace.target.join("clippy");
    files::create_folder(&folder)?;
    let path = folder.join(format!("{:016x}.sh", digest.finish()));
    // A file that is open for writing cannot be executed.
    if !files::read(&path).is_ok_and(|text| text == SCRIPT) {
        files::write(&path, SCRIPT)?;
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
        .map_err(files::cannot("change the mode of", &path))?;
    Ok(check.env("RUSTC_WORKSPACE_WRAPPER", path))
}

fn fuzz(context: &Context) -> Command {
    let manifest = context.root("fuzz/Cargo.toml");
    let mut command =
        context.cargo(&["clippy", "--locked", "--lib", "--bins", "--profile", PROFILE, "--manifest-path"]);
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
    let mut command = context.cargo(&[
        "doc",
        "--workspace",
        "--all-features",
        "--no-deps",
        "--locked",
        "--profile",
        PROFILE,
    ]);
    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Report::default())
}
