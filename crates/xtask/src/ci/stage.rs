//! What a stage is given, and what it gives back.

use crate::workspace::{Workspace, cargo};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One named step of `cargo xtask ci`.
pub(crate) struct Stage {
    /// The word for `--only` and `--skip`.
    pub(crate) name: &'static str,
    /// One line for `--list`.
    pub(crate) about: &'static str,
    /// Does it; an error is a failure that leaves nothing to report.
    pub(crate) run: fn(&Context) -> Result<Report, String>,
}

/// What all stages share.
pub(crate) struct Context {
    /// The checkout.
    pub(crate) workspace: Workspace,
    /// `MEGADIR_REQUIRE_ALL=1`: what cannot run is a failure.
    pub(crate) require_all: bool,
    /// `--full`: the tier without a time limit.
    pub(crate) full: bool,
}

/// What a stage leaves for the closing summary.
#[derive(Default)]
pub(crate) struct Report {
    /// Lines to print as they are: results, figures.
    pub(crate) lines: Vec<String>,
    /// What failed; any is a failure of the stage, whose other lines are still shown.
    pub(crate) failures: Vec<String>,
    /// `NAME: why`, for what could not run here but is to be had.
    pub(crate) not_run: Vec<String>,
    /// `NAME: why`, for what could not run and may be missing anywhere.
    pub(crate) unavailable: Vec<String>,
}

impl Report {
    /// Returns a report of one line.
    pub(crate) fn line(text: impl Into<String>) -> Self {
        Self { lines: vec![text.into()], ..Self::default() }
    }

    /// Returns the report of something that cannot run here, given as `NAME: why`.
    pub(crate) fn not_run(text: impl Into<String>) -> Self {
        Self { not_run: vec![text.into()], ..Self::default() }
    }
}

impl Context {
    /// Returns a cargo command in the root of the checkout.
    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        let mut command = Command::new(cargo());
        command.current_dir(&self.workspace.root).args(words);
        command
    }

    /// Returns a path below the root of the checkout.
    pub(crate) fn root(&self, name: impl AsRef<Path>) -> PathBuf {
        self.workspace.root.join(name)
    }

    /// Makes and returns the folder for what the stages write, inside the target folder.
    pub(crate) fn scratch(&self) -> Result<PathBuf, String> {
        let folder = self.workspace.target.join("ci");
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(folder)
    }
}
