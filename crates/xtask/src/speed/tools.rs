//! The programs that are measured: built, installed or found, each with its version.

use crate::process;
use crate::workspace::{Workspace, cargo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The current fd of crates.io, installed when it is not there.
const FD_VERSION: &str = "10.5.0";

/// The rmz of crates.io that was compared with when removing was made.
const RMZ_VERSION: &str = "3.2.1";

/// A program; several arms may run the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    /// This workspace's command.
    Megadir,
    /// The example of megadir-sys: getdents64 and nothing else.
    Bare,
    /// The example of megadir-inventory: the walk of a scan, without the scan.
    BareWalk,
    /// GNU ls.
    Ls,
    /// GNU find.
    Find,
    /// The bfs on `PATH`.
    Bfs,
    /// The bfs named by `--bfs`.
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

/// A program that is there.
pub(crate) struct Tool {
    /// The file.
    pub(crate) path: PathBuf,
    /// The first line of what it says of its version.
    pub(crate) version: String,
}

/// What to measure instead of what would be built or found.
pub(crate) struct Choices<'a> {
    /// A built `megadir`.
    pub(crate) megadir: Option<&'a Path>,
    /// Another bfs, beside the one on `PATH`.
    pub(crate) bfs: Option<&'a Path>,
    /// Whether anything is listed: then what only lists is built and installed.
    pub(crate) lists: bool,
    /// Whether anything is removed.
    pub(crate) removes: bool,
    /// Whether a tree is scanned.
    pub(crate) scans: bool,
}

/// All programs that are there, and what is missing.
pub(crate) struct Tools {
    found: BTreeMap<Program, Tool>,
    /// A line for each program that is not there.
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

    /// Returns a program, if it is there.
    pub(crate) fn get(&self, program: Program) -> Option<&Tool> {
        self.found.get(&program)
    }

    /// Returns what each program says of its version, those that say something.
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

/// Returns the path as it is from any folder: programs are started in that of the file system.
fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::fs::canonicalize(path).map_err(|error| format!("no {}: {error}", path.display()))
}

/// Builds `megadir` as users get it.
fn build_megadir(workspace: &Workspace) -> Result<PathBuf, String> {
    build(workspace, &["--package", "megadir-cli"])?;
    Ok(workspace.target.join("release/megadir"))
}

/// Builds an example that does nothing but what others cannot do without.
fn build_example(workspace: &Workspace, package: &str, example: &str) -> Result<PathBuf, String> {
    build(workspace, &["--package", package, "--example", example])?;
    Ok(workspace.target.join("release/examples").join(example))
}

fn build(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    let mut command = Command::new(cargo());
    command.current_dir(&workspace.root).args(["build", "--release", "--locked"]).args(words);
    process::run(&mut command)
}

/// Returns a program of crates.io in a version, installing it where it is not.
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

/// Returns the interpreter itself: what is on `PATH` may be a script that looks for it each time.
fn interpreter(python: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new(python);
    let printed = process::output(command.args(["-c", "import sys; print(sys.executable)"]))?;
    Ok(PathBuf::from(printed.trim()))
}
