//! `cargo xtask wheel`: the Python package with the command `megadir`, as a wheel in `target/wheel`. maturin is installed by pip into
//! the folder of tools that clones share (`Workspace::tools`). `pip3 --python` needs no pip in the environment, and so no `python3-venv`.
//!
//! ```text
//! program, crates/megadir-python -> maturin build -> wheel with library and command -> Environment::install
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Workspace;
use crate::{files, process};

const MATURIN: &str = "maturin==1.16.0";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Cargo profile: release, or ci and dev for tests
    #[arg(long, default_value = "release", value_parser = ["release", "ci", "dev"])]
    profile: String,
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let workspace = Workspace::find()?;
    let words = ["build", "--locked", "--package", "megadir-cli", "--profile", &args.profile];
    process::run(&mut workspace.cargo(&words))?;
    let folder = if args.profile == "dev" { "debug" } else { &args.profile };
    let program = workspace.target.join(folder).join("megadir");
    println!("{}", build(&workspace, &args.profile, &program)?.display());
    Ok(())
}

fn tools(workspace: &Workspace) -> PathBuf {
    workspace.tools().join("maturin")
}

pub(crate) struct Environment {
    pub(crate) folder: PathBuf,
}

// An environment is kept if it is there.
impl Environment {
    pub(crate) fn at(folder: PathBuf) -> Result<Self, String> {
        Self::of(Path::new("python3"), folder)
    }

    fn of(interpreter: &Path, folder: PathBuf) -> Result<Self, String> {
        let environment = Self { folder };
        if !environment.program("python").exists() {
            process::run(
                Command::new(interpreter).args(["-m", "venv", "--without-pip"]).arg(&environment.folder),
            )?;
        }
        Ok(environment)
    }

    /// Made again, so that no library of an earlier run is in it.
    pub(crate) fn bare(interpreter: &Path, folder: PathBuf) -> Result<Self, String> {
        files::remove_folder(&folder)?;
        Self::of(interpreter, folder)
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// pip of the system installs into the environment.
    pub(crate) fn install(&self, words: &[&str]) -> Result<(), String> {
        let mut command = Command::new("pip3");
        command.arg("--python").arg(self.program("python"));
        command.args(["--disable-pip-version-check", "install", "--quiet"]).args(words);
        process::run(&mut command)
    }
}

/// `program` is put into the wheel.
pub(crate) fn build(workspace: &Workspace, profile: &str, program: &Path) -> Result<PathBuf, String> {
    let package = workspace.root.join("crates/megadir-python");
    // maturin packs everything below this folder as the wheel's scripts.
    files::copy(program, &package.join("wheel-data/scripts/megadir"))?;
    let wheels = workspace.target.join("wheel");
    files::remove_folder(&wheels)?;
    let tools = Environment::at(tools(workspace))?;
    tools.install(&[MATURIN])?;
    let mut maturin = Command::new(tools.program("maturin"));
    maturin.args(["build", "--locked", "--profile", profile, "--interpreter", "python3", "--out"]);
    maturin.arg(&wheels).env("CARGO_TARGET_DIR", &workspace.target);
    maturin.arg("--manifest-path").arg(package.join("Cargo.toml"));
    // Only a release must run on older systems; the check needs patchelf.
    if profile != "release" {
        maturin.args(["--auditwheel", "skip"]);
    }
    process::run(&mut maturin)?;
    let made = files::list(&wheels)?.into_iter().next();
    made.ok_or_else(|| format!("no wheel in {}", wheels.display()))
}
