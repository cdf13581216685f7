//! Linux: a process `rm -rf` in the open directory, with all its names as arguments.

use std::ffi::{OsStr, OsString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use megadir::Dir;
use megadir_sys::usage::{Usage, children_usage};
use rustix::fs::RawDir;

use super::failed;
use crate::control::WorkError;

/// Upper bound of the arguments on one command line.
const NAMES_MAX: usize = 50_000;

fn rm() -> Command {
    Command::new("rm")
}

/// Returns the reason why `rm` is unavailable.
pub(crate) fn unavailable() -> Option<String> {
    let found = rm().arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.err().map(|error| format!("the program rm is missing: {error}"))
}

/// Returns the names in a directory, as arguments of `rm`.
pub(crate) fn names(directory: &Dir) -> Result<Vec<OsString>, WorkError> {
    let own = directory.reopen().map_err(|error| failed(error.into()))?;
    let mut buffer = Vec::with_capacity(64 << 10);
    let mut entries = RawDir::new(&own, buffer.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(|error| failed(error.into()))?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    if names.len() > NAMES_MAX {
        return Err(failed(std::io::Error::other("too many directories for one rm -rf")));
    }
    Ok(names)
}

pub(crate) fn remove(directory: &Dir, names: &[OsString]) -> Result<(), WorkError> {
    // By descriptor, whatever the path means now: the child inherits a copy, and /proc/self is the child's own.
    let own = directory.reopen().map_err(|error| failed(error.into()))?;
    let mut rm = rm();
    rm.args(["-rf", "--"]).args(names).current_dir(format!("/proc/self/fd/{}", own.as_raw_fd()));
    let output = rm.stdin(Stdio::null()).stdout(Stdio::null()).output().map_err(failed)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(std::io::Error::other(format!(
            "rm -rf: {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default()
        )))),
    }
}

/// Returns the processor time of all child processes that were waited for.
pub(crate) fn usage() -> Usage {
    children_usage()
}
