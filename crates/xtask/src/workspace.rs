//! Where the workspace is, and what `cargo metadata` says of it.

use crate::process;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout the task works on.
pub(crate) struct Workspace {
    /// The folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Cargo's target folder, wherever the environment puts it.
    pub(crate) target: PathBuf,
    /// What `cargo metadata --no-deps` printed.
    pub(crate) metadata: Value,
}

impl Workspace {
    /// Asks cargo for the workspace that holds this crate's source.
    pub(crate) fn find() -> Result<Self, String> {
        let metadata = metadata(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))?;
        let folder = |key: &str| {
            let value = metadata[key].as_str();
            value.map(PathBuf::from).ok_or_else(|| format!("`cargo metadata` names no {key}"))
        };
        let (root, target) = (folder("workspace_root")?, folder("target_directory")?);
        Ok(Self { root, target, metadata })
    }
}

/// Returns what `cargo metadata --no-deps` says of the workspace of `manifest`.
pub(crate) fn metadata(manifest: &Path) -> Result<Value, String> {
    let mut command = Command::new(cargo());
    command.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]).arg(manifest);
    let text = process::output(&mut command)?;
    serde_json::from_str(&text).map_err(|error| format!("cannot read what `cargo metadata` printed: {error}"))
}

/// Returns the cargo that started this task, else the one on `PATH`.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
