//! The measured programs: built, installed or found, each with its version.

use crate::process;
use crate::workspace::{Workspace, cargo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Current fd of crates.io, installed if missing.
const FD_VERSION: &str = "10.5.0";

/// The rmz of crates.io that the first comparison of removal used.
const RMZ_VERSION: &str = "3.2.1";

/// Program; several arms may run the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    /// This workspace's command.
    Megadir,
    /// Example of megadir-sys: getdents64 and nothing else.
    Bare,
    /// Example of megadir-inventory: the walk of a scan, without the scan.
    BareWalk,
    /// GNU ls.
    Ls,
    /// GNU find.
    Find,
    /// The bfs on `PATH`.
    Bfs,
    /// The bfs given by `--bfs`.
    OtherBfs,
    /// Debian's fd.
    Fdfind,
    /// The fd of crates.io.
    Fd,
    /// Python 3.
    Python,
    /// GNU rm.
    Rm,
    /// The rmz of crates.io.
    Rmz,
    /// GNU wc, at the end of pipes.
    Wc,
}

/// Available program.
pub(crate) struct Tool {
    pub(crate) path: PathBuf,
    /// First line of its version output.
    pub(crate) version: String,
}

/// Choice of the programs to prepare.
pub(crate) struct Choices<'a> {
    /// A built `megadir`.
    pub(crate) megadir: Option<&'a Path>,
    /// Another bfs, besides the one on `PATH`.
    pub(crate) bfs: Option<&'a Path>,
    /// `true` if programs for listing are needed.
    pub(crate) lists: bool,
    /// `true` if programs for removal are needed.
    pub(crate) removes: bool,
    /// `true` if programs for scans are needed.
    pub(crate) scans: bool,
}

/// Available programs, and missing ones.
pub(crate) struct Tools {
    found: BTreeMap<Program, Tool>,
    /// One line for each missing program.
    pub(crate) missing: Vec<String>,
}

impl Tools {
    /// Builds, installs and finds the programs.
    pub(crate) fn prepare(workspace: &Workspace, choices: &Choices<'_>) -> Result<Self, String> {
        let mut tools = Self { found: BTreeMap::new(), missing: Vec::new() };
        let megadir = choices.megadir.map_or_else(|| build_megadir(workspace), absolute)?;
        tools.add(Program::Megadir, Ok(megadir))?;
        if choices.lists {
            let bare = build_example(workspace, "megadir-sys", "bare_getdents")?;
            tools.found.insert(Program::Bare, Tool { path: bare, version: String::new() });
            let fd = install(&workspace.target.join("tools"), "fd-find", "fd", FD_VERSION);
            tools.add_if_there(Program::Fd, fd);
        }
        if choices.scans {
            let walk = build_example(workspace, "megadir-inventory", "bare_walk")?;
            tools.found.insert(Program::BareWalk, Tool { path: walk, version: String::new() });
        }
        if choices.removes {
            let rmz = install(&workspace.target.join("tools"), "rmz", "rmz", RMZ_VERSION);
            tools.add_if_there(Program::Rmz, rmz);
        }
        let path = |name: &str| process::find_tool(name).ok_or_else(|| format!("no {name}"));
        for (program, name) in
            [(Program::Ls, "ls"), (Program::Find, "find"), (Program::Wc, "wc"), (Program::Rm, "rm")]
        {
            tools.add(program, path(name))?;
        }
        tools.add_if_there(Program::Bfs, path("bfs"));
        if let Some(bfs) = choices.bfs {
            tools.add(Program::OtherBfs, absolute(bfs))?;
        }
        tools.add_if_there(Program::Fdfind, path("fdfind"));
        tools.add_if_there(Program::Python, path("python3").and_then(|python| interpreter(&python)));
        Ok(tools)
    }

    pub(crate) fn get(&self, program: Program) -> Option<&Tool> {
        self.found.get(&program)
    }

    /// Returns the version lines of all programs.
    pub(crate) fn versions(&self) -> Vec<&str> {
        self.found.values().map(|tool| tool.version.as_str()).filter(|version| !version.is_empty()).collect()
    }

    fn add(&mut self, program: Program, path: Result<PathBuf, String>) -> Result<(), String> {
        let path = path?;
        let text = process::output(Command::new(&path).arg("--version"))?;
        let version = text.lines().next().unwrap_or_default().trim().to_owned();
        self.found.insert(program, Tool { path, version });
        Ok(())
    }

    fn add_if_there(&mut self, program: Program, path: Result<PathBuf, String>) {
        if let Err(why) = self.add(program, path) {
            self.missing.push(why);
        }
    }
}

/// Makes a path absolute: programs run in the folder of the file system.
fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::fs::canonicalize(path).map_err(|error| format!("no {}: {error}", path.display()))
}

/// Builds the release of `megadir`.
fn build_megadir(workspace: &Workspace) -> Result<PathBuf, String> {
    build(workspace, &["--package", "megadir-cli"])?;
    Ok(workspace.target.join("release/megadir"))
}

/// Builds an example, which does only the unavoidable work.
fn build_example(workspace: &Workspace, package: &str, example: &str) -> Result<PathBuf, String> {
    build(workspace, &["--package", package, "--example", example])?;
    Ok(workspace.target.join("release/examples").join(example))
}

fn build(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    let mut command = Command::new(cargo());
    command.current_dir(&workspace.root).args(["build", "--release", "--locked"]).args(words);
    process::run(&mut command)
}

/// Returns a program of crates.io in this version, and installs it if missing.
fn install(root: &Path, package: &str, program: &str, version: &str) -> Result<PathBuf, String> {
    let path = root.join("bin").join(program);
    let said = process::output(Command::new(&path).arg("--version")).unwrap_or_default();
    if said.trim() != format!("{program} {version}") {
        let mut command = Command::new(cargo());
        command.args(["install", package, "--locked", "--version", version, "--root"]).arg(root);
        process::run(&mut command)?;
    }
    Ok(path)
}

/// Returns the real interpreter: the one on `PATH` may be a script that searches for it each time.
fn interpreter(python: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new(python);
    let printed = process::output(command.args(["-c", "import sys; print(sys.executable)"]))?;
    Ok(PathBuf::from(printed.trim()))
}
