//! The source with its dependencies, which builds without a network, and its components.

use std::path::{Path, PathBuf};

use super::{Release, cannot, copy, git, recreate};
use crate::process::{self, CratesIo};

pub(super) const CYCLONEDX: CratesIo =
    CratesIo { package: "cargo-cyclonedx", program: "cargo-cyclonedx", version: "0.5.9" };

const LEFT_OUT: &str = "records/";

impl Release<'_> {
    pub(super) fn source(&self) -> Result<(PathBuf, PathBuf), String> {
        let name = format!("megadir-{}-vendored", self.version);
        let stage = self.workspace.target.join("package-source");
        recreate(&stage)?;
        let tree = stage.join(&name);
        let listed = git(self.workspace, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        for file in listed.split('\0').filter(|file| !file.is_empty() && !file.starts_with(LEFT_OUT)) {
            let from = self.workspace.root.join(file);
            if from.is_file() {
                copy(&from, &tree.join(file))?;
            }
        }
        let mut vendor = self.cargo();
        vendor.current_dir(&tree).args(["vendor", "--locked", "--versioned-dirs", "vendor"]);
        let settings = process::output(&mut vendor)?;
        let path = tree.join(".cargo/config.toml");
        let own = std::fs::read_to_string(&path).map_err(|error| cannot("read", &path, &error))?;
        std::fs::write(&path, with_sources(&own, &settings, &self.commit))
            .map_err(|error| cannot("write", &path, &error))?;
        Ok((self.pack(&stage, &name)?, tree))
    }

    /// CycloneDX, for the Debian package's program; one list per crate.
    pub(super) fn components(&self, tree: &Path) -> Result<PathBuf, String> {
        let manifest = tree.join("crates/megadir-cli");
        let mut command = self.tool(&CYCLONEDX);
        command.current_dir(&manifest);
        let target = super::static_target().replace("musl", "gnu");
        process::run(command.args([
            "cyclonedx",
            "--format=json",
            "--spec-version=1.5",
            "--target",
            &target,
        ]))?;
        let list = manifest.join("megadir-cli.cdx.json");
        let text = std::fs::read_to_string(&list).map_err(|error| cannot("read", &list, &error))?;
        let to = self.folder.join(format!("megadir-{}.cdx.json", self.version));
        let text = text.replace(&format!("{}/", tree.display()), "");
        std::fs::write(&to, text).map_err(|error| cannot("write", &to, &error))?;
        Ok(to)
    }
}

/// For a tree without git: the checkout's settings, the dependencies, and the commit.
fn with_sources(own: &str, sources: &str, commit: &str) -> String {
    format!("{own}\n[env]\nMEGADIR_COMMIT = \"{commit}\"\n\n{sources}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_keep_the_checkouts_and_add_the_sources() {
        let text = with_sources("[alias]\nx = \"y\"\n", "[source.z]\ndirectory = \"vendor\"\n", "abc-dirty");
        let expected = "[alias]\nx = \"y\"\n\n[env]\nMEGADIR_COMMIT = \"abc-dirty\"\n\n[source.z]\ndirectory = \"vendor\"\n";
        assert_eq!(text, expected);
    }
}
