//! Network namespaces for the servers of one test, isolated both ways, or for two hosts, and the servers' programs.
//! Needs root.
//!
//! ```text
//! Namespace: lo with 10.99.0.1               TwoHosts: host-a 10.99.1.1 ---- cable (veth) ---- 10.99.1.2 host-b
//! server and client of one test                        names by unshare --uts; one file system for both
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use megadir_lab::program::find;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::mount::{run, scratch, tell};
use crate::patiently;

/// Some servers refuse 127.0.0.1.
pub(crate) const ADDRESS: &str = "10.99.0.1";

/// Name of a namespace below /run/netns; removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Namespace(String);

impl Namespace {
    /// Process and number make it unique among tests that run at once.
    pub(crate) fn make() -> Result<Self, String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let namespace = Self(format!("megadir-{}-{number}", std::process::id()));
        run(Command::new("ip").args(["netns", "add", &namespace.0]))?;
        run(namespace.command("ip").args(["link", "set", "lo", "up"]))?;
        run(namespace.command("ip").args(["address", "add", &format!("{ADDRESS}/32"), "dev", "lo"]))?;
        Ok(namespace)
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.0)).arg(program);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        tell(run(Command::new("ip").args(["netns", "delete", &self.0])));
    }
}

pub const HOSTS: [&str; 2] = ["10.99.1.1", "10.99.1.2"];

/// Two hosts with names and network addresses of their own, joined by a cable, and the file systems of this machine.
#[derive(Debug)]
pub struct TwoHosts {
    scratch: TempDir,
    hosts: [Namespace; 2],
}

impl TwoHosts {
    pub fn make() -> Result<Self, String> {
        missing(&["ip", "nsenter", "unshare"], "iproute2, util-linux")?;
        let scratch = scratch("megadir-hosts-", &std::env::temp_dir())?;
        let hosts = Self { scratch, hosts: [Namespace::make()?, Namespace::make()?] };
        let [first, second] = &hosts.hosts;
        let cable =
            ["link", "add", "cable", "netns", &first.0, "type", "veth", "peer", "name", "cable", "netns"];
        run(Command::new("ip").args(cable).arg(&second.0))?;
        for (host, address) in hosts.hosts.iter().zip(HOSTS) {
            run(host.command("ip").args(["address", "add", &format!("{address}/24"), "dev", "cable"]))?;
            run(host.command("ip").args(["link", "set", "cable", "up"]))?;
        }
        // Stands in for ssh: options are skipped, and the host's name selects a namespace. Launchers of MPI
        // start their processes with it.
        let script = format!(
            "#!/bin/bash\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nhost=$1; shift\n\
             case $host in {}) at={}; name=host-a;; *) at={}; name=host-b;; esac\n\
             exec nsenter --net=/run/netns/$at unshare --uts sh -c \"hostname $name; cd $PWD; $*\"\n",
            HOSTS[0], first.0, second.0
        );
        write(&hosts.shell(), &script)?;
        run(Command::new("chmod").arg("755").arg(hosts.shell()))?;
        Ok(hosts)
    }

    /// Runs a command on a host, as ssh does: OPTIONS HOST COMMAND.
    pub fn shell(&self) -> PathBuf {
        self.scratch.path().join("shell")
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = self.hosts[0].command("unshare");
        command.args(["--uts", "sh", "-c", "hostname host-a; exec \"$@\"", "-", program]);
        command
    }
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Ends the process of a file with an ID, and waits until it has ended; else its files would be removed
/// below it.
pub(crate) fn end(file: &Path) -> Result<(), String> {
    let number = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let process = number.trim().parse().ok().and_then(Pid::from_raw);
    let Some(process) = process else { return Err(format!("{}: no process", file.display())) };
    kill_process(process, Signal::TERM).map_err(|error| format!("process {number}: {error}"))?;
    patiently(|| match is_running(number.trim()) {
        true => Err(format!("process {number} does not end")),
        false => Ok(()),
    })
}

/// A zombie stays visible until its parent waits.
fn is_running(number: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

pub(crate) fn missing(programs: &[&str], packages: &str) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("servers are started by root only".to_owned());
    }
    match programs.iter().find(|program| find(program).is_none()) {
        Some(missing) => Err(format!("no program {missing}: install the packages {packages}")),
        None => Ok(()),
    }
}
