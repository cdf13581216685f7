//! Programs of servers: whether they are there, their files, and their end.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::PATIENCE;

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

pub(crate) fn end(file: &Path) -> Result<(), String> {
    let number = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let process = number.trim().parse().ok().and_then(Pid::from_raw);
    let Some(process) = process else { return Err(format!("{}: no process", file.display())) };
    kill_process(process, Signal::TERM).map_err(|error| format!("process {number}: {error}"))?;
    let deadline = Instant::now() + PATIENCE;
    while is_running(number.trim()) {
        if Instant::now() > deadline {
            return Err(format!("process {number} does not end"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A zombie stays visible until its parent waits.
fn is_running(number: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

/// Error if this process may not start servers, or a program is missing.
pub(crate) fn missing(programs: &[&str], packages: &str) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("servers are started by root only".to_owned());
    }
    match programs.iter().find(|program| !is_there(program)) {
        Some(missing) => Err(format!("no program {missing}: install the packages {packages}")),
        None => Ok(()),
    }
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.into_iter().any(|folder: PathBuf| folder.join(program).is_file())
}
