//! External programs, run without output and killed by the kernel with the run's thread.
//!
//! Programs are found in fixed folders and get a fixed environment, so that a run does the same from a
//! shell of root, from sudo (whose PATH may lack `sbin`) and from cron, and prints English messages that
//! can be quoted.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, PipeReader, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::fs::MemfdFlags;

use crate::control::RunControl;
use crate::table::Entry;
use crate::{LabError, Spec, mount};

/// May be missing from the caller's PATH.
const FOLDERS: [&str; 7] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];
/// Interval between two looks at a running program. Nothing is being measured while programs of the lab
/// run, so waking up costs nothing; a signal handler for children would belong to the whole process.
const LOOK: Duration = Duration::from_millis(5);

pub fn find(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    output: File,
}

impl Running {
    /// Starts a program with only PATH and LC_ALL in its environment; `ENOENT` if it is missing. Without input it is killed
    /// with the calling thread, with input it outlives the thread until the input is closed.
    pub(crate) fn start(name: &str, arguments: &[&OsStr], input: Option<PipeReader>) -> io::Result<Self> {
        let path = find(name).ok_or(io::ErrorKind::NotFound)?;
        let output = Self::own_output()?;
        let mut command = Self::command(&path, arguments, &output)?;
        match input {
            Some(input) => _ = command.stdin(input),
            None => megadir_sys::child::dies_with_parent(&mut command),
        }
        Ok(Self { child: command.spawn()?, output })
    }

    /// Starts the program `path` as [`start`](Self::start) does, but in the mount namespace that this thread had before
    /// [`enter_namespace`](mount::enter_namespace), so that the program keeps no mount of the run alive. It outlives the run
    /// until `input` is closed. `connection` becomes its standard output and is closed here.
    pub(crate) fn start_outside(
        path: &Path,
        arguments: &[&OsStr],
        input: PipeReader,
        connection: File,
    ) -> io::Result<Self> {
        let output = Self::own_output()?;
        let mut command = Self::command(path, arguments, &output)?;
        command.stdin(input).stdout(connection);
        // The command owns the connection, and is dropped there.
        let child = mount::outside(move || command.spawn())??;
        Ok(Self { child, output })
    }

    /// Not a pipe, which would fill up, since it is read only at the end.
    fn own_output() -> io::Result<File> {
        Ok(File::from(rustix::fs::memfd_create("output", MemfdFlags::CLOEXEC)?))
    }

    fn command(path: &Path, arguments: &[&OsStr], output: &File) -> io::Result<Command> {
        let mut command = Command::new(path);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", FOLDERS.join(":"))
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            // The run handles Ctrl-C.
            // A process group of its own keeps the terminal from sending it SIGINT too.
            .process_group(0);
        Ok(command)
    }

    pub(crate) fn wait(&mut self, control: RunControl<'_>) -> Result<ExitStatus, LabError> {
        self.watch(control, |own| own.child.try_wait().map_err(LabError::failed("wait for a program")))
    }

    /// Calls `look` until it returns a value, with the heartbeat advancing, and ends early if the run is
    /// stopped. Early ends leave the program to the drop of `self`, which kills it, or to its keeper.
    pub(crate) fn watch<R>(
        &mut self,
        control: RunControl<'_>,
        mut look: impl FnMut(&mut Self) -> Result<Option<R>, LabError>,
    ) -> Result<R, LabError> {
        loop {
            if let Some(result) = look(self)? {
                return Ok(result);
            }
            if control.stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            control.heartbeat.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(LOOK);
        }
    }

    pub(crate) fn output(&mut self) -> Vec<String> {
        let mut text = Vec::new();
        // Best effort: output that cannot be read counts as none.
        let _ = self.output.rewind().and_then(|()| self.output.read_to_end(&mut text));
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
    pub output: Vec<String>,
}

pub fn run(name: &str, arguments: &[&OsStr], control: RunControl<'_>) -> Result<Ended, LabError> {
    let mut running =
        Running::start(name, arguments, None).map_err(LabError::failed(format!("run {name}")))?;
    let status = running.wait(control)?;
    Ok(Ended { status, output: running.output() })
}

impl Ended {
    pub fn complaint(&self) -> Option<String> {
        let last = || self.output.last().cloned().unwrap_or_else(|| format!("it ended with {}", self.status));
        (!self.status.success()).then(last)
    }
}

/// Reason why the file system cannot be made here, found without making it, so that lists and help can show
/// it. It can be wrong in one direction: a module that is listed may still fail to load, which the first
/// mount reports.
pub fn missing(spec: &Spec) -> Option<String> {
    let entry = spec.entry;
    let programs = entry.make.first().into_iter().chain(entry.server.and_then(<[&str]>::first));
    let no_program = programs.copied().find(|name| find(name).is_none());
    let no_program = no_program.map(|name| format!("no {name} (Debian package {})", entry.package));
    let no_driver = (!has_driver(entry)).then(|| no_driver(entry));
    match (no_driver, no_program) {
        (Some(driver), Some(program)) => Some(format!("{driver}; {program}")),
        (driver, program) => driver.or(program),
    }
}

pub(crate) fn no_driver(entry: &Entry) -> String {
    match entry.removed {
        Some(why) => format!("this kernel has no driver for it: {why}"),
        None => format!("this kernel has no driver for it (its option CONFIG_{})", entry.config),
    }
}

/// `true` if the kernel has the driver or a module of it. `/proc/filesystems` lists only drivers that are
/// loaded, and mount(2) loads others on demand, so the lists of modules are searched as well.
fn has_driver(entry: &Entry) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if known.lines().any(|line| line.split_whitespace().last() == Some(entry.kind)) {
        return true;
    }
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    let folder = Path::new("/lib/modules").join(kernel);
    let module = if entry.server.is_some() { "fuse" } else { entry.kind };
    let read = |list: &str| std::fs::read_to_string(folder.join(list)).unwrap_or_default();
    ["modules.dep", "modules.builtin"].iter().any(|list| is_module(&read(list), module))
        || is_alias(&read("modules.alias"), entry.kind)
}

fn is_module(list: &str, module: &str) -> bool {
    list.lines().any(|line| {
        let path = line.split(':').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        file.split(".ko").next() == Some(module) && file.contains(".ko")
    })
}

/// The alias of ext4 covers ext2.
fn is_alias(list: &str, kind: &str) -> bool {
    let alias = format!("fs-{kind}");
    list.lines().any(|line| line.split_whitespace().nth(1) == Some(alias.as_str()))
}

pub fn tool(spec: &Spec, control: RunControl<'_>) -> Result<Option<String>, LabError> {
    let Some(name) = spec.entry.make.first().filter(|name| find(name).is_some()) else { return Ok(None) };
    Ok(run(name, &[OsStr::new(spec.entry.version)], control)?.output.into_iter().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_are_not_loaded_are_known_by_their_files_and_aliases() {
        let dep = "kernel/fs/ext4/ext4.ko.xz: kernel/lib/crc16.ko.xz\nkernel/fs/xfs/xfs.ko:\n";
        assert!(is_module(dep, "ext4") && is_module(dep, "xfs"));
        assert!(!is_module(dep, "crc16") && !is_module(dep, "ext"));
        let alias = "alias fs-ext4 ext4\nalias fs-ext3 ext4\nalias devname:fuse fuse\n";
        assert!(is_alias(alias, "ext3") && !is_alias(alias, "ext") && !is_alias(alias, "fuse"));
    }
}
