//! A stage: its lane, its input and its result.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Workspace;
use crate::{files, process};

/// Cargo profile of tests, studies and packages; defined in Cargo.toml.
pub(crate) const PROFILE: &str = "ci";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    /// Before the others: stages that the others need, and stages of seconds.
    First,
    /// Runs tests and studies, which wait for devices and timers.
    Tests,
    /// Compiles and checks while tests run.
    Checks,
}

pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The lanes `Tests` and `Checks` run side by side, except in the full tier.
    pub(crate) lane: Lane,
    pub(crate) run: Run,
}

pub(crate) type Run = fn(&Context) -> Result<Report, String>;

pub(crate) struct Context {
    pub(crate) workspace: Workspace,
    /// `MEGADIR_REQUIRE_ALL=1`.
    pub(crate) require_all: bool,
    pub(crate) full: bool,
    /// `--only`.
    pub(crate) named: bool,
}

/// A stage that returns a report has run to its end: what failed in it is in `failures`, and an error of the
/// stage itself is no report. With `MEGADIR_REQUIRE_ALL`, parts in `not_run` count as failures too.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) lines: Vec<String>,
    pub(crate) failures: Vec<String>,
    /// `NAME: why`; could run here with the right setup.
    pub(crate) not_run: Vec<String>,
    /// `NAME: why`; this system lacks it. The table of deferred parts covers it, or it counts as not run.
    pub(crate) unavailable: Vec<String>,
    /// Row of that table for each part that was unavailable.
    pub(crate) deferred: Vec<&'static str>,
    /// Names of tests and their times in seconds.
    pub(crate) tests_s: Vec<(String, f64)>,
}

impl Report {
    pub(crate) fn line(text: impl Into<String>) -> Self {
        Self { lines: vec![text.into()], ..Self::default() }
    }

    pub(crate) fn not_run(text: impl Into<String>) -> Self {
        Self { not_run: vec![text.into()], ..Self::default() }
    }
}

impl Context {
    /// The toolchain that runs xtask, in the root of the workspace.
    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        self.workspace.cargo(words)
    }

    /// `cargo test` as all stages build it: one profile and one set of features, so that nothing is built twice.
    pub(crate) fn cargo_tests(&self) -> Command {
        self.cargo(&["test", "--workspace", "--all-features", "--locked", "--profile", PROFILE])
    }

    /// The program that tests and studies start: in the full tier as released, else the one that the tests were built with.
    pub(crate) fn program(&self) -> Result<PathBuf, String> {
        let (profile, mut command) = match self.full {
            true => ("release", self.cargo(&["build", "--release", "--locked", "--package", "megadir-cli"])),
            false => (PROFILE, self.cargo_tests()),
        };
        if !self.full {
            // Already built by the stage `test`; a build here only finds it.
            command.arg("--no-run").stderr(std::process::Stdio::null());
        }
        process::run(&mut command)?;
        Ok(self.workspace.target.join(profile).join("megadir"))
    }

    pub(crate) fn root(&self, name: impl AsRef<Path>) -> PathBuf {
        self.workspace.root.join(name)
    }

    pub(crate) fn scratch(&self) -> Result<PathBuf, String> {
        let folder = self.workspace.target.join("xtask");
        files::create_folder(&folder)?;
        Ok(folder)
    }
}
