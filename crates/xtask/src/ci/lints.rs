//! Stages that check the source without running it.

use super::stage::{Context, Report};
use crate::{process, tidy};

pub(crate) fn tidy(context: &Context) -> Result<Report, String> {
    tidy::check(&context.workspace).map(Report::line)
}

pub(crate) fn format(context: &Context) -> Result<Report, String> {
    process::run(&mut context.cargo(&["fmt", "--all", "--check"]))?;
    Ok(Report::default())
}

/// Lints everything including optional parts, then the length of functions in default builds without tests.
///
/// The second pass covers only the workspace's crates.
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

pub(crate) fn docs(context: &Context) -> Result<Report, String> {
    let mut command = context.cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    process::run(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Report::default())
}
