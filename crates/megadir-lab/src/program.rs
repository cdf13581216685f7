//! External programs: located, run without output, stopped with the run, killed by the kernel with the run's
//! thread.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::fs::MemfdFlags;

use crate::LabError;
use crate::control::RunControl;

/// Directories of administration programs, which may be missing from the caller's PATH.
const FOLDERS: [&str; 7] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];
/// Interval between checks for exit.
const LOOK: Duration = Duration::from_millis(5);

pub fn find(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

#[derive(Debug)]
pub struct Running {
    pub child: Child,
    said: File,
}

impl Running {
    /// Starts a program without input and with a minimal environment, killed with the calling thread; `ENOENT`
    /// if it is missing.
    pub fn start<A: AsRef<OsStr>>(name: &str, arguments: &[A]) -> io::Result<Self> {
        Self::spawn(name, arguments, Stdio::null(), megadir_sys::child::dies_with_parent)
    }

    /// Starts a program that outlives the calling thread until its input is closed.
    pub fn keep<A: AsRef<OsStr>>(name: &str, arguments: &[A], input: Stdio) -> io::Result<Self> {
        Self::spawn(name, arguments, input, |_| ())
    }

    fn spawn<A: AsRef<OsStr>>(
        name: &str,
        arguments: &[A],
        input: Stdio,
        bind: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let path = find(name).ok_or(io::ErrorKind::NotFound)?;
        // A pipe would fill up, since it is read only at the end.
        let said = File::from(rustix::fs::memfd_create("said", MemfdFlags::CLOEXEC)?);
        let mut command = Command::new(path);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", FOLDERS.join(":"))
            .env("LC_ALL", "C")
            .stdin(input)
            .stdout(said.try_clone()?)
            .stderr(said.try_clone()?)
            // Keep Ctrl-C from reaching the program: the run handles it.
            .process_group(0);
        bind(&mut command);
        Ok(Self { child: command.spawn()?, said })
    }

    /// Waits for its exit; kills it if the run is stopped.
    pub fn wait(&mut self, control: RunControl<'_>) -> Result<ExitStatus, LabError> {
        loop {
            let ended = self.child.try_wait().map_err(LabError::failed("wait for a program"))?;
            if let Some(status) = ended {
                return Ok(status);
            }
            if control.stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(LOOK);
        }
    }

    /// Returns its output lines so far.
    pub fn said(&mut self) -> Vec<String> {
        let mut text = Vec::new();
        // Best effort: output that cannot be read counts as none.
        let _ = self.said.rewind().and_then(|()| self.said.read_to_end(&mut text));
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The PID cannot have been reused before `wait`, so this kills no other process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub said: Vec<String>,
}

/// Runs a program to its end.
pub fn run<A: AsRef<OsStr>>(name: &str, arguments: &[A], control: RunControl<'_>) -> Result<Ended, LabError> {
    let mut running = Running::start(name, arguments).map_err(LabError::failed(format!("run {name}")))?;
    let status = running.wait(control)?;
    Ok(Ended { status, said: running.said() })
}

impl Ended {
    /// Returns the error of a failed program: the last line of its output, otherwise its exit status.
    pub fn complaint(&self) -> Option<String> {
        if self.status.success() {
            return None;
        }
        let last = self.said.last().cloned();
        Some(last.unwrap_or_else(|| format!("it ended with {}", self.status)))
    }
}
