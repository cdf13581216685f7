//! Location and cargo metadata of the workspace.

use crate::process;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) metadata: Value,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self, String> {
        let metadata = metadata(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))?;
        let folder = |key: &str| {
            let value = metadata[key].as_str();
            value.map(PathBuf::from).ok_or_else(|| format!("`cargo metadata` names no {key}"))
        };
        let (root, target) = (folder("workspace_root")?, folder("target_directory")?);
        Ok(Self { root, target, metadata })
    }

    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        let mut command = Command::new(process::cargo());
        command.current_dir(&self.root).args(words);
        command
    }
}

pub(crate) fn metadata(manifest: &Path) -> Result<Value, String> {
    let mut command = Command::new(process::cargo());
    command.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]).arg(manifest);
    let text = process::output(&mut command)?;
    serde_json::from_str(&text).map_err(|error| format!("cannot read what `cargo metadata` printed: {error}"))
}
