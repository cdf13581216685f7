//! Private mount namespace: all mounts go with the process, even after `kill -9`.

use crate::process;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Set in the process that already has its own namespace.
const INSIDE: &str = "MEGADIR_SPEED_NAMESPACE";

/// Re-executes this program in a new namespace, in the same process; returns once inside.
pub(crate) fn enter() -> Result<(), String> {
    if std::env::var_os(INSIDE).is_some() {
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() {
        return Err("creating and mounting file systems needs root".to_owned());
    }
    let unshare = process::find_tool("unshare").ok_or("no unshare (package util-linux)")?;
    let own = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = Command::new(unshare);
    command.args(["--mount", "--propagation", "private", "--"]).arg(own);
    command.args(std::env::args_os().skip(1)).env(INSIDE, "1");
    let error = command.exec();
    Err(process::cannot("start", &command, &error))
}
