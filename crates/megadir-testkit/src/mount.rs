//! Private file systems for one test, on loop devices over sparse images, and one that never answers (root, Linux).
//! Dropping the value unmounts.
//!
//! ```text
//! Recipe: mkfs words, options, tune -> image (sparse) -> loop device -> mount below a scratch directory
//! remount: unmount, wait until no other namespace has it -> change(image) -> mount again
//! drop: unmount, detach the device, remove image and directory
//! ```

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use megadir_lab::{Disk, FILE_SYSTEMS, RunControl, mount as lab, program};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use tempfile::TempDir;

use crate::PATIENCE;

/// Words to make an image file with one file system. `kind` is the type for mount(8), and differs from `name`
/// for variants such as another block size. `tune` runs on the image after it was formatted; without words
/// nothing runs.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub name: &'static str,
    pub kind: &'static str,
    pub mkfs: &'static [&'static str],
    /// After `mkfs`.
    pub options: &'static [&'static str],
    pub tune: &'static [&'static str],
    pub image_bytes: u64,
}

impl Recipe {
    /// As the lab makes it, for a driver of the kernel.
    pub fn of_lab(name: &str) -> Self {
        let entry = FILE_SYSTEMS.iter().find(|entry| entry.name == name).unwrap();
        let image_bytes = entry.smallest_bytes;
        Self { name: entry.name, kind: entry.kind, mkfs: entry.make, image_bytes, ..TMPFS }
    }
}

/// A random seed would decide the order of names and how full directory blocks are.
pub const HASH_SEED: &str = "hash_seed=00000000-0000-4000-8000-000000000001";

pub const TMPFS: Recipe =
    Recipe { name: "tmpfs", kind: "tmpfs", mkfs: &[], options: &[], tune: &[], image_bytes: 0 };

pub const EXT4: Recipe = Recipe {
    name: "ext4",
    kind: "ext4",
    mkfs: &["mkfs.ext4", "-q", "-F", "-N", "400000", "-E", HASH_SEED],
    image_bytes: 1 << 30,
    ..TMPFS
};

/// The index grows deep soon.
pub const EXT4_1K: Recipe = Recipe { name: "ext4 with 1 KiB blocks", options: &["-b", "1024"], ..EXT4 };

/// No nanoseconds, no times after 2038, no birth time.
pub const EXT4_SMALL_INODES: Recipe =
    Recipe { name: "ext4 with inodes of 128 bytes", options: &["-I", "128"], ..EXT4 };

pub const EXT4_LINEAR: Recipe =
    Recipe { name: "ext4 without dir_index", options: &["-O", "^dir_index"], ..EXT4 };

/// No file types in directories.
pub const EXT4_UNTYPED: Recipe =
    Recipe { name: "ext4 without file types", options: &["-O", "^filetype"], ..EXT4 };

/// Collisions of the 31-bit hash are easy to find.
pub const EXT4_LEGACY: Recipe =
    Recipe { name: "ext4 with legacy hash", tune: &["tune2fs", "-E", "hash_alg=legacy"], ..EXT4 };

pub const XFS: Recipe =
    Recipe { name: "xfs", kind: "xfs", mkfs: &["mkfs.xfs", "-q", "-f"], image_bytes: 1 << 30, ..TMPFS };

/// No file types in directories; most current kernels no longer support it.
pub const XFS_UNTYPED: Recipe =
    Recipe { name: "xfs without ftype", options: &["-m", "crc=0", "-n", "ftype=0"], ..XFS };

pub const BTRFS: Recipe = Recipe {
    name: "btrfs",
    kind: "btrfs",
    mkfs: &["mkfs.btrfs", "-q", "-f", "-m", "single"],
    image_bytes: 2 << 30,
    ..TMPFS
};

// The fields are dropped in their order, but `detach` runs first, since a mounted directory cannot be
// removed.
#[derive(Debug)]
pub struct Mount {
    recipe: Recipe,
    scratch: TempDir,
    /// `None` while it is unmounted, or in memory.
    disk: Option<Disk>,
    mounted: bool,
}

impl Mount {
    /// The image is in memory if it fits: writing throwaway images to disk would dominate most tests (ext4
    /// alone zeroes 100 MB of inode tables). The error is the reason if it is unavailable.
    pub fn make(recipe: &Recipe) -> Result<Self, String> {
        let shared = Path::new("/dev/shm");
        let free_bytes = rustix::fs::statvfs(shared).map_or(0, |space| space.f_bavail * space.f_frsize);
        // At most half of the free memory, because several mounts exist at once.
        match free_bytes.min(available_bytes()) / 2 >= recipe.image_bytes {
            true => Self::make_below(recipe, shared),
            false => Self::make_below(recipe, &std::env::temp_dir()),
        }
    }

    fn make_below(recipe: &Recipe, parent: &Path) -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Err(format!("{} is mounted by root only", recipe.name));
        }
        let scratch = scratch("megadir-mount-", parent)?;
        let mut mount = Self { recipe: *recipe, scratch, disk: None, mounted: false };
        std::fs::create_dir(mount.path()).map_err(|error| error.to_string())?;
        if !recipe.mkfs.is_empty() {
            let image = File::create_new(mount.image()).map_err(|error| error.to_string())?;
            image.set_len(recipe.image_bytes).map_err(|error| error.to_string())?;
            mount.on_image(&[recipe.mkfs, recipe.options].concat())?;
            mount.on_image(recipe.tune)?;
        }
        mount.attach()?;
        Ok(mount)
    }

    pub fn path(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    pub fn image(&self) -> PathBuf {
        self.scratch.path().join("image")
    }

    /// Unmounts, lets `change` edit the image, and mounts again. On tmpfs nothing is left after that.
    pub fn remount(&mut self, change: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
        let disk = self.disk.take();
        self.detach()?;
        // Another test's mount namespace, copied from this one, may keep the file system alive; its changes
        // may not be in the image until that ends.
        if !disk.as_ref().is_none_or(|disk| disk.wait_until_free(PATIENCE)) {
            return Err(format!("{} stayed mounted in another mount namespace", self.path().display()));
        }
        drop(disk);
        change(&self.image())?;
        self.attach()
    }

    /// Words of the recipe, with the image as the last argument.
    fn on_image(&self, words: &[&str]) -> Result<(), String> {
        let Some((name, options)) = words.split_first() else { return Ok(()) };
        let image = self.image();
        let arguments: Vec<&OsStr> = options.iter().map(OsStr::new).chain([image.as_os_str()]).collect();
        let (stop, heartbeat) = Default::default();
        let ended = program::run(name, &arguments, RunControl { stop: &stop, heartbeat: &heartbeat });
        match ended.map_err(|error| error.to_string())?.complaint() {
            None => Ok(()),
            Some(complaint) => Err(format!("{name}: {complaint}")),
        }
    }

    fn attach(&mut self) -> Result<(), String> {
        let cannot = |error: std::io::Error| format!("{}: {error}", self.recipe.name);
        // tmpfs gets limits, since its defaults depend on the memory of the machine.
        let options: &[&str] = match self.recipe.mkfs {
            [] => &["noatime", "size=1G", "nr_inodes=1M"],
            _ => &["noatime"],
        };
        let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
        if !self.recipe.mkfs.is_empty() {
            let image = File::options().read(true).write(true).open(self.image()).map_err(cannot)?;
            self.disk = Some(Disk::attach_buffered(Arc::new(image)).map_err(cannot)?);
        }
        let source = self.disk.as_ref().map_or(Path::new("none"), |disk| &disk.path);
        lab::mount(source, &self.path(), self.recipe.kind, &options).map_err(|error| cannot(error.into()))?;
        self.mounted = true;
        Ok(())
    }

    /// State is cleared even if unmounting fails, so that a drop does not try it a second time.
    fn detach(&mut self) -> Result<(), String> {
        let detached = unmount(&self.path());
        self.mounted = false;
        self.disk = None;
        detached
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.mounted {
            tell(self.detach());
        }
    }
}

#[expect(clippy::print_stderr, reason = "a drop has no other way to say that something was left behind")]
// A panic in a drop would hide the failure of the test.
pub(crate) fn tell(dropped: Result<(), String>) {
    if let Err(why) = dropped {
        eprintln!("{why}");
    }
}

/// Retries while `path` is busy: readers of the mount table and forked children before exec keep it busy for
/// a moment. Then unmounts lazily, and fails.
pub fn unmount(path: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("cannot unmount {}: {error}", path.display());
    match lab::unmount(path, PATIENCE) {
        Err(Errno::BUSY) => {
            lab::detach(path).map_err(|error| cannot(error.into()))?;
            Err(format!("{} stayed busy and was unmounted lazily", path.display()))
        }
        ended => ended.map_err(|error| cannot(error.into())),
    }
}

pub(crate) fn scratch(prefix: &str, parent: &Path) -> Result<TempDir, String> {
    tempfile::Builder::new().prefix(prefix).tempdir_in(parent).map_err(|error| error.to_string())
}

fn available_bytes() -> u64 {
    let told = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap_or_default();
    let kib = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1 << 10)
}

/// A separate process copies: children of other tests inherit a file open for writing until they exec, and
/// executing it would fail with `ETXTBSY`.
pub fn copy_program(from: &Path, to: &Path) -> Result<(), String> {
    run(Command::new("cp").arg(from).arg(to))
}

pub fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    // `sbin` is not on every user's path.
    let path = std::env::var("PATH").unwrap_or_default();
    let output = command
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {} ({})", String::from_utf8_lossy(&output.stderr).trim(), output.status))
}

/// A mount that never answers: every call on it blocks until a signal ends it.
#[derive(Debug)]
pub struct Hanging {
    /// Closing it ends the connection and wakes all blocked callers.
    connection: Option<File>,
    path: PathBuf,
    _scratch: TempDir,
}

impl Hanging {
    /// The kernel's first request to the FUSE server is never read, so all later calls wait for the answer
    /// to it.
    pub fn make() -> Result<Self, String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = scratch.path().join("hanging");
        std::fs::create_dir(&path).map_err(|error| error.to_string())?;
        let connection = File::options().read(true).write(true).open("/dev/fuse");
        let connection = connection.map_err(|error| format!("/dev/fuse: {error}"))?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", connection.as_raw_fd());
        let options = CString::new(options).map_err(|error| error.to_string())?;
        rustix::mount::mount(
            "megadir-test",
            &path,
            "fuse",
            MountFlags::NODEV | MountFlags::NOSUID,
            options.as_c_str(),
        )
        .map_err(|error| format!("mount: {error}"))?;
        Ok(Self { connection: Some(connection), path, _scratch: scratch })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

// Detached first: closing the connection then fails all calls that still wait.
impl Drop for Hanging {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.path, UnmountFlags::DETACH);
        self.connection = None;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{EXT4, Mount};

    #[test]
    fn a_change_is_in_the_image_though_another_namespace_has_the_mount() {
        let mut mount = crate::require!(Mount::make(&EXT4));
        let mut namespace = Command::new("unshare");
        namespace.args(["--mount", "sh", "-c", "touch entered; exec sleep 2"]).current_dir(mount.path());
        let mut holder = namespace.spawn().unwrap();
        while !mount.path().join("entered").exists() {
            std::thread::yield_now();
        }
        let file = mount.path().join("file");
        std::fs::write(&file, "x").unwrap();
        mount.remount(|_| Ok(())).unwrap();
        assert!(file.exists());
        holder.wait().unwrap();
    }

    #[test]
    fn a_panic_leaves_neither_mount_nor_image() {
        let mount = crate::require!(Mount::make(&EXT4));
        let path = mount.path();
        std::fs::write(path.join("file"), "x").unwrap();
        let thread = std::thread::spawn(move || {
            let _kept = mount;
            panic!("wanted by the test");
        });
        assert!(thread.join().is_err());
        assert!(!path.exists());
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(path.to_str().unwrap()));
    }
}
