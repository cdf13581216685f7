//! Slurm on this machine alone, in a network namespace. Dropping the value ends it. Needs root and Debian packages.
//!
//! ```text
//! munged (key, socket) <- slurmctld <- slurmd      one node, in a namespace; srun by `command`
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::mount::{run, scratch, tell};
use crate::namespace::{ADDRESS, Namespace, end, missing, write};
use crate::patiently;

/// Length of munge's key.
const KEY_BYTES: usize = 1024;

#[derive(Debug)]
pub struct Slurm {
    scratch: TempDir,
    /// Files with the IDs of the processes, in the order of their start.
    servers: Vec<PathBuf>,
    namespace: Namespace,
}

impl Slurm {
    /// A cluster of one node: authentication, controller, node daemon, in this order, since each connects to
    /// the one before. Everything is configured into a scratch directory, and the daemons run in a network
    /// namespace, so that an installed Slurm is not disturbed. The node is usable only once it is idle, which
    /// takes seconds.
    pub fn start() -> Result<Self, String> {
        missing(
            &["munged", "slurmctld", "slurmd", "srun", "sinfo", "ip", "nsenter"],
            "slurm-wlm, munge, iproute2",
        )?;
        let scratch = scratch("megadir-slurm-", &std::env::temp_dir())?;
        let mut slurm = Self { scratch, servers: Vec::new(), namespace: Namespace::make()? };
        let below = |name: &str| slurm.scratch.path().join(name).display().to_string();
        let [state, spool, key, socket] = ["state", "spool", "key", "socket"].map(below);
        let pids = ["munged.pid", "slurmctld.pid", "slurmd.pid"].map(below);
        for directory in [&state, &spool] {
            std::fs::create_dir(directory).map_err(|error| error.to_string())?;
        }
        write(Path::new(&key), &"k".repeat(KEY_BYTES))?;
        run(Command::new("chmod").args(["400", &key]))?;
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").map_err(|error| error.to_string())?;
        let host = host.trim().split('.').next().unwrap_or_default();
        let settings = format!(
            "ClusterName=one\nSlurmctldHost={host}({ADDRESS})\nAuthType=auth/munge\nAuthInfo=socket={socket}\nSlurmUser=root\n\
             StateSaveLocation={state}\nSlurmdSpoolDir={spool}\nSlurmctldPidFile={}\nSlurmdPidFile={}\n\
             SlurmctldLogFile={}\nSlurmdLogFile={}\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             ReturnToService=2\nSelectType=select/linear\nNodeName={host} NodeAddr={ADDRESS} CPUs=1 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:4\n",
            pids[1],
            pids[2],
            below("slurmctld.log"),
            below("slurmd.log"),
        );
        write(&slurm.scratch.path().join("slurm.conf"), &settings)?;
        let names = ["--key-file", "--socket", "--pid-file", "--log-file", "--seed-file"];
        let files = [&key, &socket, &pids[0], &below("munged.log"), &below("seed")];
        let options = names.iter().zip(files).map(|(name, file)| format!("{name}={file}"));
        run(slurm.command("munged").arg("--force").args(options))?;
        slurm.servers.push(pids[0].clone().into());
        for (program, pid) in [("slurmctld", &pids[1]), ("slurmd", &pids[2])] {
            run(&mut slurm.command(program))?;
            slurm.servers.push(pid.into());
        }
        patiently(|| match slurm.command("sinfo").args(["-h", "-o", "%t"]).output() {
            Ok(states) if states.stdout.starts_with(b"idle") => Ok(()),
            _ => Err("the node of Slurm does not become idle".to_owned()),
        })?;
        Ok(slurm)
    }

    /// Programs find the configuration by a variable, so that an installed Slurm is not asked.
    pub fn command(&self, program: &str) -> Command {
        let mut command = self.namespace.command(program);
        command.env("SLURM_CONF", self.scratch.path().join("slurm.conf"));
        command
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // The last one that was started ends first.
        self.servers.iter().rev().for_each(|server| tell(end(server)));
    }
}
