//! Parts of a release: packages of programs (one for Debian with the system's C library, which knows the users of every name service, and
//! one with a static program for any kernel), and the source with its dependencies, which builds without a network, and its components.
//!
//! The contents of a part are a list here or in a manifest, and its use is tried by the stage
//! `package` of CI.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Release, git, static_target};
use crate::files;
use crate::process::{self, CratesIo};

pub(super) const CARGO_DEB: CratesIo =
    CratesIo { package: "cargo-deb", program: "cargo-deb", version: "3.8.0" };

const PAGES: &[&str] = &["README.md", "CHANGELOG.md", "METHODOLOGY.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Kinds of `megadir generate`, and the folder of each.
const GENERATED: &[(&str, &str)] =
    &[("man", "man1"), ("bash", "completions"), ("zsh", "completions"), ("fish", "completions")];

impl Release<'_> {
    pub(super) fn build(&self, target: Option<&str>) -> Result<PathBuf, String> {
        let mut folder = self.workspace.target.clone();
        let words = ["build", "--profile", self.profile, "--locked", "--package", "megadir-cli"];
        let mut command = self.workspace.cargo(&words);
        if let Some(target) = target {
            command.args(["--target", target]);
            folder.push(target);
        }
        process::run(&mut command)?;
        Ok(folder.join(self.profile).join("megadir"))
    }

    /// `Cargo.toml` names the folder to `cargo deb`.
    pub(super) fn generate(&self, binary: &Path) -> Result<PathBuf, String> {
        let pages = self.workspace.target.join(self.profile).join("pages");
        files::recreate_folder(&pages)?;
        for (kind, folder) in GENERATED {
            process::run(Command::new(binary).args(["generate", kind, "--output"]).arg(pages.join(folder)))?;
        }
        // Without name and time in the header, as the files must be reproducible.
        process::run(Command::new("gzip").args(["-9", "-n"]).args(files::list(&pages.join("man1"))?))?;
        Ok(pages)
    }

    /// `crates/megadir-cli/Cargo.toml` describes the contents.
    pub(super) fn deb(&self) -> Result<PathBuf, String> {
        let mut command = self.tool(&CARGO_DEB);
        command.current_dir(&self.workspace.root);
        command.args(["--package=megadir-cli", "--no-build", "--no-strip", "--compress-system"]);
        command.args(["--profile", self.profile, "--output"]).arg(&self.folder);
        let printed = process::output(&mut command)?;
        let path = printed.lines().last().unwrap_or_default();
        Some(PathBuf::from(path))
            .filter(|path| path.is_file())
            .ok_or_else(|| format!("`cargo deb` names no package: {printed}"))
    }

    pub(super) fn archive_of_program(&self, program: &Path, pages: &Path) -> Result<PathBuf, String> {
        let name = format!("megadir-{}-{}", self.version, static_target());
        let stage = self.workspace.target.join("package-stage");
        files::recreate_folder(&stage)?;
        let folder = stage.join(&name);
        files::copy(program, &folder.join("megadir"))?;
        for page in PAGES {
            files::copy(&self.workspace.root.join(page), &folder.join(page))?;
        }
        for part in ["docs", "man1", "completions"] {
            let from = if part == "docs" { self.workspace.root.join(part) } else { pages.join(part) };
            process::run(Command::new("cp").arg("-r").arg(from).arg(folder.join(part)))?;
        }
        self.pack(&stage, &name)
    }
}

pub(crate) fn lacking_to_link() -> Option<String> {
    let target = static_target();
    if !process::has_library(&target) {
        return Some(format!("target {target} in the toolchain; try `rustup target add {target}`"));
    }
    let compiler = "musl-gcc";
    process::find_tool(compiler)
        .is_none()
        .then(|| format!("{compiler} (package musl-tools; compiles Zstandard)"))
}

pub(super) const CYCLONEDX: CratesIo =
    CratesIo { package: "cargo-cyclonedx", program: "cargo-cyclonedx", version: "0.5.9" };

/// Records are measurements for readers of the repository; a build does not need them.
const LEFT_OUT: &str = "records/";

impl Release<'_> {
    pub(super) fn source(&self) -> Result<(PathBuf, PathBuf), String> {
        let name = format!("megadir-{}-vendored", self.version);
        let stage = self.workspace.target.join("package-source");
        files::recreate_folder(&stage)?;
        let tree = stage.join(&name);
        let listed = git(self.workspace, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
        // Tracked files and new ones, as the checkout is released.
        for file in listed.split('\0').filter(|file| !file.is_empty() && !file.starts_with(LEFT_OUT)) {
            let from = self.workspace.root.join(file);
            if from.is_file() {
                files::copy(&from, &tree.join(file))?;
            }
        }
        let mut vendor = self.workspace.cargo(&["vendor", "--locked", "--versioned-dirs", "vendor"]);
        let settings = process::output(vendor.current_dir(&tree))?;
        let path = tree.join(".cargo/config.toml");
        files::write(&path, with_sources(&files::read(&path)?, &settings, &self.commit))?;
        Ok((self.pack(&stage, &name)?, tree))
    }

    /// CycloneDX, for the Debian package's program; one list per crate.
    pub(super) fn components(&self, tree: &Path) -> Result<PathBuf, String> {
        let manifest = tree.join("crates/megadir-cli");
        let mut command = self.tool(&CYCLONEDX);
        command.current_dir(&manifest);
        let target = static_target().replace("musl", "gnu");
        command.args(["cyclonedx", "--format=json", "--spec-version=1.5", "--target", &target]);
        process::run(&mut command)?;
        let list = manifest.join("megadir-cli.cdx.json");
        let to = self.folder.join(format!("megadir-{}.cdx.json", self.version));
        // Paths of this machine would differ between two builds.
        files::write(&to, files::read(&list)?.replace(&format!("{}/", tree.display()), ""))?;
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
