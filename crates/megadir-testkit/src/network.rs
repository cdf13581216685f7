//! Network file systems for one test: servers and client in a network namespace that is isolated both ways.
//! Dropping the value ends everything. Needs root and Debian packages.
//!
//! ```text
//! MooseFS    mfsmaster <- mfschunkserver        GlusterFS   glusterfsd first, glusterfsd second
//!                 `---- mfsmount (FUSE)                          `---- glusterfs (FUSE): distribute
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::mount::{Mount, TMPFS, run, scratch, tell};
use crate::namespace::{ADDRESS, Namespace, end, missing, write};
use crate::patiently;

/// A network file system whose servers and client run here, in a network namespace of its own: ports are
/// free, and nothing is reachable from outside. `client` is the command that mounts once more. The order of
/// the end is as in a shutdown: mounts, servers in reverse, then the directories.
#[derive(Debug)]
pub struct NetworkMount {
    scratch: TempDir,
    /// In memory: on a disk, removal may take minutes.
    kept: Mount,
    servers: Vec<Stop>,
    client: Vec<String>,
    mounted: Vec<PathBuf>,
    namespace: Namespace,
}

#[derive(Debug)]
enum Stop {
    Command(Vec<String>),
    /// Has the ID of the process to signal.
    Process(PathBuf),
}

impl NetworkMount {
    /// One metadata server and one chunk server, mounted with FUSE.
    pub fn moosefs() -> Result<Self, String> {
        Self::moosefs_with(&[])
    }

    /// Without caches, a second client sees changes of the first at once.
    pub fn moosefs_without_caches() -> Result<Self, String> {
        Self::moosefs_with(&["-o", "mfsattrcacheto=0,mfsentrycacheto=0,mfsdirentrycacheto=0"])
    }

    /// One master, one chunk server and one mount, each configured by a file below `kept`. The master refuses
    /// to start without a metadata file, so an empty one is written. Each server is listed to be stopped as
    /// soon as it has started, so that a later failure leaves none running.
    fn moosefs_with(options: &[&str]) -> Result<Self, String> {
        let packages = "moosefs-master, moosefs-chunkserver, moosefs-client";
        let mut mount = Self::prepare(&["mfsmaster", "mfschunkserver", "mfsmount"], packages)?;
        let below = |name: &str| mount.kept.path().join(name);
        let (names, contents, exports) = (below("names"), below("contents"), below("exports"));
        let (disk, disks) = (below("disk"), below("disks"));
        for directory in [&names, &contents, &disk] {
            std::fs::create_dir(directory).map_err(|error| error.to_string())?;
        }
        write(&exports, "* / rw,alldirs,admin,maproot=0:0\n")?;
        write(&disks, &format!("{}\n", disk.display()))?;
        write(&names.join("metadata.mfs"), "MFSM NEW")?;
        let master = format!(
            "WORKING_USER = root\nWORKING_GROUP = root\nDATA_PATH = {}\nEXPORTS_FILENAME = {}\n\
             MATOML_LISTEN_HOST = {ADDRESS}\nMATOCS_LISTEN_HOST = {ADDRESS}\nMATOCL_LISTEN_HOST = {ADDRESS}\n",
            names.display(),
            exports.display()
        );
        let chunks = format!(
            "WORKING_USER = root\nWORKING_GROUP = root\nDATA_PATH = {}\nHDD_CONF_FILENAME = {}\n\
             MASTER_HOST = {ADDRESS}\nCSSERV_LISTEN_HOST = {ADDRESS}\n",
            contents.display(),
            disks.display()
        );
        for (program, settings) in [("mfsmaster", master), ("mfschunkserver", chunks)] {
            let file = mount.kept.path().join(program);
            write(&file, &settings)?;
            let file = file.display().to_string();
            mount.inside(&[program, "-c", &file, "start"])?;
            mount.servers.push(Stop::Command([program, "-c", &file, "stop"].map(str::to_owned).to_vec()));
        }
        let path = mount.path().display().to_string();
        let words = ["mfsmount", &path, "-H", ADDRESS];
        mount.client = words.iter().chain(options).map(|word| (*word).to_owned()).collect();
        mount.attach(&mount.path())?;
        Ok(mount)
    }

    /// Two servers that share the entries of every directory, without the management daemon, which would be
    /// visible on the whole machine. Half of the inode numbers exceed 2^63.
    pub fn glusterfs() -> Result<Self, String> {
        Self::glusterfs_with(&[])
    }

    pub fn glusterfs_without_caches() -> Result<Self, String> {
        Self::glusterfs_with(&["--attribute-timeout=0", "--entry-timeout=0", "--negative-timeout=0"])
    }

    /// Two servers and a client that distributes files between them, from volume files: the usual management
    /// daemon would keep its state in fixed places of the system. Each server has its graph of translators,
    /// from the disk to the port; the client has a connection to each and the distribution on top.
    ///
    /// ```text
    /// client: both(distribute) -> first, second -> TCP -> server: io-threads -> locks -> posix -> directory
    /// ```
    fn glusterfs_with(options: &[&str]) -> Result<Self, String> {
        let mut mount = Self::prepare(&["glusterfsd", "glusterfs"], "glusterfs-server, glusterfs-client")?;
        let mut client = String::new();
        for (server, port) in [("first", 24_011), ("second", 24_012)] {
            let brick = mount.kept.path().join(server);
            std::fs::create_dir(&brick).map_err(|error| error.to_string())?;
            let volumes = [
                ("disk", format!("type storage/posix\noption directory {}", brick.display())),
                ("locks", "type features/locks\nsubvolumes disk".to_owned()),
                ("brick", "type performance/io-threads\nsubvolumes locks".to_owned()),
                (
                    "server",
                    format!(
                        "type protocol/server\noption transport-type tcp\n\
                         option transport.socket.bind-address {ADDRESS}\n\
                         option transport.socket.listen-port {port}\n\
                         option auth.addr.brick.allow {ADDRESS}\nsubvolumes brick"
                    ),
                ),
            ];
            let volumes = volumes.map(|(name, lines)| volume(name, &lines)).concat();
            mount.gluster("glusterfsd", server, &volumes, &[])?;
            mount.servers.push(Stop::Process(mount.kept.path().join(format!("{server}.pid"))));
            let lines = format!(
                "type protocol/client\noption transport-type tcp\noption remote-host {ADDRESS}\n\
                 option remote-port {port}\noption remote-subvolume brick"
            );
            client.push_str(&volume(server, &lines));
        }
        client.push_str(&volume("both", "type cluster/distribute\nsubvolumes first second"));
        let path = mount.path().display().to_string();
        let more = [options, &[path.as_str()]].concat();
        mount.client = mount.gluster_words("glusterfs", "client", &client, &more)?;
        mount.attach(&mount.path())?;
        Ok(mount)
    }

    /// Servers and client differ in program, name and last words only.
    fn gluster(&self, program: &str, name: &str, volumes: &str, more: &[&str]) -> Result<(), String> {
        let words = self.gluster_words(program, name, volumes, more)?;
        self.inside(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn gluster_words(
        &self,
        program: &str,
        name: &str,
        volumes: &str,
        more: &[&str],
    ) -> Result<Vec<String>, String> {
        let file = |kind: &str| self.kept.path().join(format!("{name}.{kind}")).display().to_string();
        write(Path::new(&file("vol")), volumes)?;
        let (volumes, log, pid) = (file("vol"), file("log"), file("pid"));
        let words = [program, "--volfile", &volumes, "--log-file", &log, "--pid-file", &pid];
        Ok(words.iter().chain(more).map(|word| (*word).to_owned()).collect())
    }

    pub fn path(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    /// Everything that may be missing is asked for first, so that a machine without it starts no server.
    fn prepare(programs: &[&str], packages: &str) -> Result<Self, String> {
        missing(&[programs, &["ip", "nsenter"]].concat(), &format!("{packages}, iproute2, util-linux"))?;
        let scratch = scratch("megadir-network-", &std::env::temp_dir())?;
        let kept = Mount::make(&TMPFS)?;
        let namespace = Namespace::make()?;
        let (servers, client, mounted) = (Vec::new(), Vec::new(), Vec::new());
        let mount = Self { scratch, kept, servers, client, mounted, namespace };
        std::fs::create_dir(mount.path()).map_err(|error| error.to_string())?;
        Ok(mount)
    }

    fn inside(&self, words: &[&str]) -> Result<(), String> {
        run(self.namespace.command(words[0]).args(&words[1..]))
    }

    /// Mounts it with another client, whose caches are its own; returns the path.
    pub fn mount_again(&mut self) -> Result<PathBuf, String> {
        let path = self.scratch.path().join(format!("client-{}", self.mounted.len()));
        std::fs::create_dir(&path).map_err(|error| error.to_string())?;
        self.attach(&path)?;
        Ok(path)
    }

    /// The first client has the files `client.*`; a further one gets files with a number.
    fn attach(&mut self, path: &Path) -> Result<(), String> {
        let (first, shown) = (self.path().display().to_string(), path.display().to_string());
        // A client refuses the files of another one.
        let own = format!("/client-{}.", self.mounted.len());
        let words = self.client.iter().map(|word| match word.as_str() {
            word if word == first => shown.clone(),
            word if word.ends_with(".vol") => word.to_owned(),
            word => word.replace("/client.", &own),
        });
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let cannot = |why: String| format!("{}: {why}", words[0]);
        patiently(|| self.inside(&words)).map_err(cannot)?;
        self.mounted.push(path.to_owned());
        // A mount may answer before its servers are connected: only a file that appears proves it.
        let file = path.join("first");
        let appears = || match std::fs::write(&file, "content") {
            Ok(()) if file.exists() => Ok(()),
            Ok(()) => Err("a file does not appear".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        patiently(appears).map_err(cannot)?;
        std::fs::remove_file(file).map_err(|error| error.to_string())
    }
}

impl Drop for NetworkMount {
    fn drop(&mut self) {
        // Clients first, and lazily; then the servers, the last one first.
        for path in &self.mounted {
            tell(run(Command::new("umount").arg("--lazy").arg(path)));
        }
        for server in self.servers.iter().rev() {
            tell(match server {
                Stop::Command(words) => self.inside(&words.iter().map(String::as_str).collect::<Vec<_>>()),
                Stop::Process(file) => end(file),
            });
        }
    }
}

fn volume(name: &str, lines: &str) -> String {
    format!("volume {name}\n{lines}\nend-volume\n")
}
