//! Finding and running other programs; the workspace, by cargo.
//!
//! ```text
//! run      prints the command, passes its output on          output(s)    silent, returns it
//! start    for a child that is waited for elsewhere          run_at_most  with a limit; output by a file
//! ```
//!
//! Standard input is always empty: a task that asks a question would wait for ever.

use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The command is printed first, to be repeated by hand.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    println!("$ {}", show(command));
    let status = command.stdin(Stdio::null()).status().map_err(|error| cannot("start", command, &error))?;
    judge(command, status)
}

pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    outputs(command).map(|(printed, _)| printed)
}

/// Standard output and standard error; the error contains the latter.
pub(crate) fn outputs(command: &mut Command) -> Result<(String, String), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| cannot("start", command, &error))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    judge(command, output.status).map_err(|error| format!("{error}\n{}", stderr.trim_end()))?;
    Ok((String::from_utf8_lossy(&output.stdout).into_owned(), stderr))
}

pub(crate) fn start(command: &mut Command) -> Result<Child, String> {
    command.spawn().map_err(|error| cannot("start", command, &error))
}

pub(crate) fn wait_at_most(
    child: &mut Child,
    command: &Command,
    limit: Duration,
) -> Result<ExitStatus, String> {
    // Polled, since the standard library has no wait with a limit.
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| cannot("wait for", command, &error))? {
            return Ok(status);
        }
        if started.elapsed() > limit {
            let killed = child.kill().and_then(|()| child.wait());
            let after = if killed.is_ok() { "and was killed" } else { "and could not be killed" };
            return Err(format!("`{}` was still running after {} s {after}", show(command), limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Status and output, with the lines of both streams in order. Output goes to a file: a background process would keep a pipe open.
pub(crate) fn run_at_most(command: &mut Command, limit: Duration) -> Result<(ExitStatus, String), String> {
    println!("$ {}", show(command));
    let streams = || -> std::io::Result<_> {
        let file = tempfile::tempfile()?;
        Ok((file.try_clone()?, file.try_clone()?, file))
    };
    let (out, err, mut file) = streams().map_err(|error| cannot("run", command, &error))?;
    let mut child = start(command.stdin(Stdio::null()).stdout(out).stderr(err))?;
    let ended = wait_at_most(&mut child, command, limit);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.read_to_end(&mut bytes))
        .map_err(|error| cannot("read the output of", command, &error))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match ended {
        Ok(status) => Ok((status, text)),
        Err(message) => Err(format!("{message}\n{text}")),
    }
}

/// Program of crates.io that is built from source, in one version: results must not change because a tool
/// did.
pub(crate) struct CratesIo {
    pub(crate) package: &'static str,
    pub(crate) program: &'static str,
    pub(crate) version: &'static str,
}

/// How a program of crates.io is built.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Build {
    /// A tool runs for seconds, and its optimisation takes minutes.
    Quick,
    /// For a program whose speed is measured.
    Optimised,
}

impl CratesIo {
    /// By the version that the program prints, and not by a file of cargo's.
    pub(crate) fn is_installed(&self, root: &Path) -> bool {
        let path = root.join("bin").join(self.program);
        let printed = output(Command::new(path).arg("--version")).unwrap_or_default();
        printed.split_whitespace().any(|word| word.trim_start_matches('v') == self.version)
    }

    /// A program that is installed in `root` already is kept, however it was built: each kind of build needs a root of its own.
    pub(crate) fn install(&self, root: &Path, build: Build, options: &[&str]) -> Result<(), String> {
        if self.is_installed(root) {
            return Ok(());
        }
        let mut command = Command::new(cargo());
        command.args(["install", self.package, "--locked", "--force", "--version", self.version]);
        if build == Build::Quick {
            command.arg("--debug");
        }
        // The tool is built in a folder of its own, not in the workspace's.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env_remove("CARGO_TARGET_DIR");
        run(command.args(options).arg("--root").arg(root))
    }
}

/// Location and cargo metadata.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) metadata: Value,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self, String> {
        let metadata = metadata(&manifest()?)?;
        let folder = |key: &str| {
            let value = metadata[key].as_str();
            value.map(PathBuf::from).ok_or_else(|| format!("`cargo metadata` names no {key}"))
        };
        let (root, target) = (folder("workspace_root")?, folder("target_directory")?);
        Ok(Self { root, target, metadata })
    }

    /// Folder of installed tools, which outlives clones: `megadir-xtask` in the user's cache folder, else in `target/`.
    pub(crate) fn tools(&self) -> PathBuf {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
        cache.or_else(home).map_or_else(|| self.target.join("tools"), |cache| cache.join("megadir-xtask"))
    }

    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        let mut command = Command::new(cargo());
        // In the root, whatever folder the task was started in.
        command.current_dir(&self.root).args(words);
        command
    }
}

/// Manifest in the checkout that this was started in: cargo sets the folder of the package when it runs one, wherever it was compiled. A copied or
/// moved clone therefore checks itself.
fn manifest() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os("CARGO_MANIFEST_DIR") {
        return Ok(PathBuf::from(folder).join("Cargo.toml"));
    }
    let current =
        std::env::current_dir().map_err(|error| format!("cannot find the current folder: {error}"))?;
    let manifest =
        current.ancestors().map(|folder| folder.join("crates/xtask/Cargo.toml")).find(|path| path.is_file());
    manifest.ok_or_else(|| {
        format!("{} is not in a checkout of megadir: start `cargo xtask` in one", current.display())
    })
}

pub(crate) fn metadata(manifest: &Path) -> Result<Value, String> {
    let mut command = Command::new(cargo());
    command.args(["metadata", "--no-deps", "--format-version=1", "--manifest-path"]).arg(manifest);
    let text = output(&mut command)?;
    serde_json::from_str(&text).map_err(|error| format!("cannot read what `cargo metadata` printed: {error}"))
}

/// The cargo that runs this task, by the variable that it sets.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// `true` if the toolchain has the standard library for `target`, or rustup could add it.
pub(crate) fn has_or_adds_library(target: &str) -> bool {
    // Where its servers cannot be reached, rustup tries for long.
    const LIMIT: Duration = Duration::from_secs(120);
    let adds = || {
        run_at_most(Command::new("rustup").args(["target", "add", target]), LIMIT)
            .is_ok_and(|(status, _)| status.success())
    };
    has_library(target) || (adds() && has_library(target))
}

pub(crate) fn has_library(target: &str) -> bool {
    let words = ["--print", "target-libdir", "--target", target];
    let folder = output(Command::new("rustc").args(words));
    folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// By absolute path, on `PATH`, or in the folders of system tools.
pub(crate) fn find_tool(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(system);
    folders.find_map(|folder| Some(folder.join(tool)).filter(|candidate| candidate.is_file()))
}

pub(crate) fn judge(command: &Command, status: ExitStatus) -> Result<(), String> {
    if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", show(command))) }
}

/// As [`judge`], of a command whose output is `printed`. Its last line is a program's error, and comes first, because a summary has the first line
/// of a message only.
pub(crate) fn judge_printed(command: &Command, status: ExitStatus, printed: &str) -> Result<(), String> {
    let last = printed.lines().last().unwrap_or("nothing was printed");
    judge(command, status).map_err(|error| format!("{error}: {last}\n{printed}"))
}

pub(crate) fn cannot(action: &str, command: &Command, error: &std::io::Error) -> String {
    format!("cannot {action} `{}`: {error}", show(command))
}

/// As a shell would take it: variables, program, arguments. Only spaces are quoted, since it is read and
/// rarely repeated.
pub(crate) fn show(command: &Command) -> String {
    let quote = |text: &std::ffi::OsStr| {
        let text = text.to_string_lossy().into_owned();
        if text.contains(' ') { format!("'{text}'") } else { text }
    };
    let set = command.get_envs().filter_map(|(key, value)| Some((key, value?)));
    let mut words: Vec<String> = set.map(|(key, value)| format!("{}={}", quote(key), quote(value))).collect();
    let program = Path::new(command.get_program());
    let program = program.file_name().filter(|name| *name == "cargo").unwrap_or(program.as_os_str());
    words.push(quote(program));
    words.extend(command.get_args().map(quote));
    words.join(" ")
}

#[cfg(test)]
pub(crate) fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_streams_keep_their_order_and_the_exit_code_is_returned() {
        let mut command = shell("echo a; echo b >&2; echo c; exit 3");
        let (status, text) = run_at_most(&mut command, Duration::from_secs(60)).unwrap();
        assert_eq!((status.code(), text.as_str()), (Some(3), "a\nb\nc\n"));
    }

    #[test]
    fn a_command_that_takes_too_long_is_killed() {
        // The time of the first output depends on the load of the machine.
        let mut limit = Duration::from_millis(300);
        loop {
            let message = run_at_most(&mut shell("echo begun; exec sleep 600"), limit).unwrap_err();
            assert!(message.contains("was killed"), "{message}");
            if message.ends_with("begun\n") {
                return;
            }
            limit *= 2;
            assert!(limit < Duration::from_secs(60), "{message}");
        }
    }

    #[test]
    fn errors_name_the_command_and_carry_its_complaint() {
        let message = output(&mut shell("echo no >&2; exit 4")).unwrap_err();
        assert!(message.ends_with("exit 4'` failed: exit status: 4\nno"), "{message}");
        let message = output(&mut Command::new("no-such-command")).unwrap_err();
        assert!(message.contains("cannot start `no-such-command`"), "{message}");
        assert_eq!(outputs(&mut shell("echo a; echo b >&2")), Ok(("a\n".to_owned(), "b\n".to_owned())));
    }

    #[test]
    fn commands_are_shown_as_typed() {
        let mut command = Command::new("cargo");
        command.env("RUSTFLAGS", "-D warnings").args(["check", "--tests"]);
        assert_eq!(show(&command), "RUSTFLAGS='-D warnings' cargo check --tests");
    }
}
