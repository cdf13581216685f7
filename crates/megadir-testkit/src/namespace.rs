//! Network namespaces for the servers of one test, isolated both ways, or for two hosts. Needs root.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use crate::mount::run;
use crate::servers::{missing, write};

/// Some servers refuse 127.0.0.1.
pub(crate) const ADDRESS: &str = "10.99.0.1";

#[derive(Debug)]
pub(crate) struct Namespace(String);

impl Namespace {
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
    #[expect(clippy::print_stderr, reason = "a drop has no other way to say that something was left behind")]
    fn drop(&mut self) {
        if let Err(why) = run(Command::new("ip").args(["netns", "delete", &self.0])) {
            eprintln!("{why}");
        }
    }
}

/// Addresses of the hosts.
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
        let scratch = tempfile::Builder::new().prefix("megadir-hosts-").tempdir();
        let hosts = Self {
            scratch: scratch.map_err(|error| error.to_string())?,
            hosts: [Namespace::make()?, Namespace::make()?],
        };
        let [first, second] = &hosts.hosts;
        let cable =
            ["link", "add", "cable", "netns", &first.0, "type", "veth", "peer", "name", "cable", "netns"];
        run(Command::new("ip").args(cable).arg(&second.0))?;
        for (host, address) in hosts.hosts.iter().zip(HOSTS) {
            run(host.command("ip").args(["address", "add", &format!("{address}/24"), "dev", "cable"]))?;
            run(host.command("ip").args(["link", "set", "cable", "up"]))?;
        }
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

    /// Command on the first host.
    pub fn command(&self, program: &str) -> Command {
        let mut command = self.hosts[0].command("unshare");
        command.args(["--uts", "sh", "-c", "hostname host-a; exec \"$@\"", "-", program]);
        command
    }
}
