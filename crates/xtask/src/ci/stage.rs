//! Input and output of a stage.

use crate::workspace::{Workspace, cargo};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Named step of `cargo xtask ci`.
pub(crate) struct Stage {
    /// Word for `--only` and `--skip`.
    pub(crate) name: &'static str,
    /// One line for `--list`.
    pub(crate) about: &'static str,
    /// `true` if it runs beside the stages after it, except in the full tier. Such stages run one after another.
    pub(crate) aside: bool,
    /// Runs the stage; an error is a failure without a report.
    pub(crate) run: Run,
}

pub(crate) type Run = fn(&Context) -> Result<Report, String>;

pub(crate) struct Context {
    pub(crate) workspace: Workspace,
    /// `MEGADIR_REQUIRE_ALL=1`: parts that cannot run are failures.
    pub(crate) require_all: bool,
    /// `--full`: the tier without a time limit.
    pub(crate) full: bool,
}

#[derive(Default)]
pub(crate) struct Report {
    /// Lines to print verbatim: results, figures.
    pub(crate) lines: Vec<String>,
    /// Any failure fails the stage; its other lines are still shown.
    pub(crate) failures: Vec<String>,
    /// `NAME: why`, for parts that could run here with the right setup.
    pub(crate) not_run: Vec<String>,
    /// `NAME: why`, for parts that may be missing anywhere.
    pub(crate) unavailable: Vec<String>,
}

impl Report {
    pub(crate) fn line(text: impl Into<String>) -> Self {
        Self { lines: vec![text.into()], ..Self::default() }
    }

    /// Reports a part that cannot run here, as `NAME: why`.
    pub(crate) fn not_run(text: impl Into<String>) -> Self {
        Self { not_run: vec![text.into()], ..Self::default() }
    }
}

impl Context {
    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        let mut command = Command::new(cargo());
        command.current_dir(&self.workspace.root).args(words);
        command
    }

    pub(crate) fn root(&self, name: impl AsRef<Path>) -> PathBuf {
        self.workspace.root.join(name)
    }

    pub(crate) fn scratch(&self) -> Result<PathBuf, String> {
        let folder = self.workspace.target.join("ci");
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        Ok(folder)
    }
}
