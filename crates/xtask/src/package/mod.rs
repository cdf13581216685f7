//! `cargo xtask package`: the files of a release for this architecture, in `target/package`: a Debian package, a static program, the source with
//! its dependencies, the list of components, and checksums. They are reproducible from the same commit, compiler and folder.
//!
//! ```text
//! commit, its time -> Release --build--> program -> generate: man pages, completions -> .deb
//!                         |--build--> static program -> archive      |-> source + vendor -> components
//!                         `-> SHA256SUMS of all
//! ```

mod parts;

pub(crate) use parts::lacking_to_link;

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files;
use crate::process::{self, Build, CratesIo, Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build profile of both programs
    #[arg(long, default_value = "release", value_parser = ["release", "ci"])]
    profile: String,
}

/// Paths of the files that were made, all in one folder; `sums` has the checksums of the others. `components`
/// is absent unless it was requested.
pub(crate) struct Packages {
    pub(crate) deb: PathBuf,
    pub(crate) archive: PathBuf,
    pub(crate) source: PathBuf,
    pub(crate) components: Option<PathBuf>,
    pub(crate) sums: PathBuf,
    /// As `megadir version` prints it.
    pub(crate) commit: String,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let workspace = Workspace::find()?;
    let release = Release::of(&workspace, &args.profile)?;
    release.install_tools(true)?;
    let packages = release.make(true)?;
    println!("{}", std::fs::read_to_string(&packages.sums).unwrap_or_default().trim_end());
    println!("in {}", release.folder.display());
    Ok(())
}

/// Facts that all files of a release share. `time` is used instead of the present one wherever a file would
// A checkout with changes has a version that no one can rebuild, hence the suffix.
/// hold a time, so that two builds of a commit have equal bytes.
pub(crate) struct Release<'a> {
    pub(crate) workspace: &'a Workspace,
    profile: &'a str,
    version: String,
    /// Seconds since 1970 of the last commit.
    time: String,
    commit: String,
    folder: PathBuf,
}

impl<'a> Release<'a> {
    pub(crate) fn of(workspace: &'a Workspace, profile: &'a str) -> Result<Self, String> {
        let packages = workspace.metadata["packages"].as_array().into_iter().flatten();
        let program = packages.into_iter().find(|package| package["name"] == "megadir-cli");
        let version = program.and_then(|package| package["version"].as_str());
        let version = version.ok_or("`cargo metadata` names no version of megadir-cli")?.to_owned();
        let changed = !git(workspace, &["status", "--porcelain"])?.is_empty();
        let commit = git(workspace, &["rev-parse", "--short=12", "HEAD"])?;
        Ok(Self {
            workspace,
            profile,
            version,
            time: git(workspace, &["log", "-1", "--format=%ct"])?,
            commit: format!("{commit}{}", if changed { "-dirty" } else { "" }),
            folder: workspace.target.join("package"),
        })
    }

    /// Tools of crates.io, in the folder that clones share.
    pub(crate) fn install_tools(&self, components: bool) -> Result<(), String> {
        let tools = self.tools();
        parts::CARGO_DEB.install(&tools, Build::Quick, &[])?;
        if components {
            parts::CYCLONEDX.install(&tools, Build::Quick, &[])?;
        }
        Ok(())
    }

    /// The Debian package alone, of a program that was built already with the profile.
    pub(crate) fn make_deb(&self, binary: &Path) -> Result<PathBuf, String> {
        files::recreate_folder(&self.folder)?;
        self.generate(binary)?;
        self.deb()
    }

    /// The program of the system's C library comes first: it writes the man pages and completions of both
    /// packages.
    pub(crate) fn make(&self, components: bool) -> Result<Packages, String> {
        files::recreate_folder(&self.folder)?;
        let binary = self.build(None)?;
        let pages = self.generate(&binary)?;
        let deb = self.deb()?;
        let program = self.build(Some(&static_target()))?;
        let archive = self.archive_of_program(&program, &pages)?;
        let (source, tree) = self.source()?;
        let components = components.then(|| self.components(&tree)).transpose()?;
        let mut files = vec![&deb, &archive, &source];
        files.extend(&components);
        let sums = self.sums(&files)?;
        Ok(Packages { deb, archive, source, components, sums, commit: self.commit.clone() })
    }

    fn pack(&self, parent: &Path, name: &str) -> Result<PathBuf, String> {
        let to = self.folder.join(format!("{name}.tar.gz"));
        let mut tar = Command::new("tar");
        // Names, owners, modes and times are fixed: an archive of the same files has the same bytes.
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=rX,u+rw,a-s"]);
        tar.arg(format!("--mtime=@{}", self.time)).args(["--use-compress-program=gzip -n", "-C"]);
        process::run(tar.arg(parent).arg("-cf").arg(&to).arg(name))?;
        Ok(to)
    }

    fn sums(&self, files: &[&PathBuf]) -> Result<PathBuf, String> {
        let path = self.folder.join("SHA256SUMS");
        let mut list = String::new();
        for file in files {
            let bytes = std::fs::read(file).map_err(files::cannot("read", file))?;
            let name = file.file_name().unwrap_or_default().display();
            list += &format!("{}  {name}\n", hexadecimal(&Sha256::digest(bytes)));
        }
        files::write(&path, list)?;
        Ok(path)
    }

    /// Tools write the time of the commit where a file holds one.
    fn tool(&self, tool: &CratesIo) -> Command {
        let mut command = Command::new(self.tools().join("bin").join(tool.program));
        command.env("SOURCE_DATE_EPOCH", &self.time);
        command
    }

    fn tools(&self) -> PathBuf {
        self.workspace.tools()
    }
}

/// The C library is part of the program, so that it runs on any distribution.
fn static_target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

fn git(workspace: &Workspace, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    // The checkout may belong to another user.
    command.args(["-c", "safe.directory=*"]).current_dir(&workspace.root).args(words);
    process::output(&mut command).map(|printed| printed.trim_end().to_owned())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release<'a>(workspace: &'a Workspace) -> Release<'a> {
        let (version, time, commit) = ("1.0.0".to_owned(), "86400".to_owned(), "abc".to_owned());
        Release { workspace, profile: "ci", version, time, commit, folder: workspace.target.clone() }
    }

    fn workspace(folder: &Path) -> Workspace {
        Workspace { root: folder.to_owned(), target: folder.to_owned(), metadata: serde_json::Value::Null }
    }

    #[test]
    fn the_tool_of_users_accepts_the_checksums() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = workspace(folder.path());
        let files = ["a.deb", "b.tar.gz"].map(|name| folder.path().join(name));
        files.iter().for_each(|file| std::fs::write(file, file.to_str().unwrap()).unwrap());
        release(&workspace).sums(&files.iter().collect::<Vec<_>>()).unwrap();
        let check = || {
            process::output(
                Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(folder.path()),
            )
        };
        assert_eq!(check().unwrap(), "a.deb: OK\nb.tar.gz: OK\n");
        std::fs::write(&files[0], "other").unwrap();
        assert!(check().is_err());
    }

    #[test]
    fn archives_are_the_same_bytes_whenever_they_are_packed() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = workspace(folder.path());
        let pack = |names: [&str; 2]| {
            let tree = folder.path().join("tree/megadir");
            files::recreate_folder(&tree).unwrap();
            names.iter().for_each(|name| std::fs::write(tree.join(name), "same").unwrap());
            let packed = release(&workspace).pack(&folder.path().join("tree"), "megadir").unwrap();
            std::fs::read(packed).unwrap()
        };
        assert!(pack(["a", "b"]) == pack(["b", "a"]));
        assert!(pack(["a", "b"]) != pack(["a", "c"]));
    }
}
