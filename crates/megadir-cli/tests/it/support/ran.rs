//! Runs the program and checks the result; creates trees for it.
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use megadir_record::{Phase, Record};
pub(crate) use megadir_testkit::require::have;
use tempfile::TempDir;

use super::{megadir, program};

pub(crate) type Names = BTreeSet<Vec<u8>>;

/// Result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

#[track_caller]
pub(crate) fn run<A: AsRef<OsStr>>(directory: &Path, arguments: &[A]) -> Ran {
    finish(&mut megadir(directory, arguments))
}

/// Runs a command until it ends.
#[track_caller]
pub(crate) fn finish(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).expect("messages are UTF-8");
    Ran {
        code: output.status.code(),
        signal: output.status.signal(),
        out: output.stdout,
        // On a loaded machine anything may take ten seconds.
        err: err.split_inclusive('\n').filter(|line| !line.contains("still working after")).collect(),
    }
}

/// A process begins with the peak of the one that started it, so the program is started by a small one.
const START_AND_WAIT: &str = "import os, sys
pid = os.fork()
if pid == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(pid, 0)
print(used.ru_maxrss, os.waitstatus_to_exitcode(status))";

/// Runs the program without its output; returns its peak memory, bytes. Needs Python.
#[track_caller]
pub(crate) fn peak_of<A: AsRef<OsStr>>(directory: &Path, arguments: &[A], code: i32) -> u64 {
    let mut command = Command::new("python3");
    command.args(["-c", START_AND_WAIT]).arg(program()).args(arguments).current_dir(directory);
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let (kib, ended) = out.trim().split_once(' ').unwrap_or_else(|| panic!("{out}{err}"));
    assert_eq!(ended, code.to_string(), "{err}");
    kib.parse::<u64>().unwrap() << 10
}

/// Runs `scan` of a tree or a command on its inventory; returns the peak memory, bytes.
#[track_caller]
pub(crate) fn peak(words: &[&str], tree: &Path, inventory: &Path, code: i32) -> u64 {
    let paths = match words[0] {
        "scan" => vec![tree.as_os_str(), OsStr::new("--output"), inventory.as_os_str()],
        _ => vec![inventory.as_os_str()],
    };
    let words: Vec<&OsStr> = words.iter().map(OsStr::new).chain(paths).collect();
    peak_of(Path::new("."), &words, code)
}

/// Runs a line of shell in a directory, with the program as `$M`.
#[track_caller]
/// Rounds and arms that were measured, each once: a disturbed round is repeated.
pub(crate) fn measured_blocks(record: &Record) -> BTreeSet<(u32, u32)> {
    let measured = record.samples.iter().filter(|sample| sample.phase == Phase::Measure);
    measured.map(|sample| (sample.round, sample.arm.0)).collect()
}

pub(crate) fn shell(directory: &Path, line: &str) -> Ran {
    let mut command = Command::new("bash");
    command.args(["-c", line]).env("M", program()).current_dir(directory).stdin(Stdio::null());
    finish(&mut command)
}

impl Ran {
    /// Asserts success without messages; returns the output.
    #[track_caller]
    pub(crate) fn quiet(self) -> Vec<u8> {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{:?}", self.signal);
        self.out
    }

    /// Asserts an exit code and one line on standard error that contains all of `words`.
    #[track_caller]
    pub(crate) fn complains(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.err.lines().count(), 1, "one line: {:?}", self.err);
        assert!(self.err.starts_with("megadir: ") && self.err.ends_with('\n'), "{:?}", self.err);
        for word in words {
            assert!(self.err.contains(word), "nothing about {word:?} in {:?}", self.err);
        }
    }

    /// The printed lines in order.
    #[track_caller]
    pub(crate) fn lines(self) -> Vec<Vec<u8>> {
        split(&self.quiet(), b'\n')
    }
}

/// Splits output at line terminators; the last line must have one too.
#[track_caller]
pub(crate) fn split(output: &[u8], end: u8) -> Vec<Vec<u8>> {
    let Some(output) = output.strip_suffix(&[end]) else {
        assert!(output.is_empty(), "the last line is not ended");
        return Vec::new();
    };
    output.split(|byte| *byte == end).map(<[u8]>::to_vec).collect()
}

/// Set of lines; asserts that none is repeated.
#[track_caller]
pub(crate) fn set(lines: Vec<Vec<u8>>) -> Names {
    let count = lines.len();
    let names: Names = lines.into_iter().collect();
    assert_eq!(names.len(), count, "something was listed twice");
    names
}

/// Texts of the notes of a kind.
pub(crate) fn notes<'r>(record: &'r Record, kind: &str) -> Vec<&'r str> {
    let of_kind = record.notes.iter().filter(|note| note.kind == kind);
    of_kind.map(|note| note.text.as_str()).collect()
}

pub(crate) fn named(names: &[&str]) -> Names {
    names.iter().map(|name| name.as_bytes().to_vec()).collect()
}

/// Creates a temporary directory that all users may enter.
pub(crate) fn scratch() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let scratch = tempfile::Builder::new().prefix("megadir-list-").tempdir().unwrap();
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    scratch
}

/// Creates a temporary directory in memory if there is room for some hundred thousand files.
pub(crate) fn scratch_in_memory() -> TempDir {
    const ROOM_BYTES: u64 = 2 << 30;
    let free = rustix::fs::statvfs("/dev/shm").map_or(0, |space| space.f_bavail * space.f_frsize);
    if free < ROOM_BYTES { tempfile::tempdir().unwrap() } else { tempfile::tempdir_in("/dev/shm").unwrap() }
}

/// Creates files and directories (names with a trailing slash) below a directory.
pub(crate) fn fill(directory: &Path, names: &[&str]) {
    for name in names {
        match name.strip_suffix('/') {
            Some(below) => std::fs::create_dir_all(directory.join(below)).unwrap(),
            None => drop(std::fs::File::create_new(directory.join(name)).unwrap()),
        }
    }
}

pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// Names in a directory, read by `std`, which is independent of this project.
pub(crate) fn by_std(directory: &Path) -> Names {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().as_bytes().to_vec())
        .collect()
}

/// Returns an error unless this is root.
pub(crate) fn root() -> Result<(), String> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err("not root".to_owned()) }
}

/// Copies the program to a world-accessible directory, so that an unprivileged user can run it.
pub(crate) fn unprivileged(scratch: &TempDir) -> Result<PathBuf, String> {
    use std::os::unix::fs::PermissionsExt;
    root()?;
    have("setpriv")?;
    let copy = scratch.path().join("megadir");
    megadir_testkit::mount::copy_program(program(), &copy).unwrap();
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
    Ok(copy)
}

/// Runs a copy of the program as an unprivileged user.
#[track_caller]
pub(crate) fn run_as_nobody(program: &Path, directory: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).args(arguments);
    finish(command.current_dir(directory).stdin(Stdio::null()))
}
