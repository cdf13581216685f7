//! The stages that read the source or check it without running it.

use super::stage::{Context, Report};
use crate::{process, tidy};

/// Runs the checks of `cargo xtask tidy`.
pub(crate) fn tidy(context: &Context) -> Result<Report, String> {
    tidy::check(&context.workspace).map(Report::line)
}

/// Fails where rustfmt would change something.
pub(crate) fn format(context: &Context) -> Result<Report, String> {
    process::run(&mut context.cargo(&["fmt", "--all", "--check"]))?;
    Ok(Report::default())
}

/// Lints everything, optional parts too, then the length of functions alone in what is not a test and built by default.
///
/// Dependencies are checked once: only the workspace's own crates are linted a second time.
pub(crate) fn clippy(context: &Context) -> Result<Report, String> {
    let common = ["clippy", "--workspace", "--locked"];
    let all = [
        &common[..],
        &["--all-targets", "--all-features", "--", "-D", "warnings", "-A", "clippy::too_many_lines"],
    ]
    .concat();
    process::run(&mut context.cargo(&all))?;
    let length = [&common[..], &["--", "-D", "warnings"]].concat();
    process::run(&mut context.cargo(&length))?;
    Ok(Report::default())
}

/// Builds the documentation of the workspace's own crates.
pub(crate) fn docs(context: &Context) -> Result<Report, String> {
    let mut command = context.cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Report::default())
}
