//! An ext4 file system in memory for the files that tests make. The tests sync thousands of small files, and each sync waits for the
//! device: on the device of the machine, the same tests take longer without testing more.
//!
//! ```text
//! /dev/shm/megadir-ci-PID-*/image (sparse, 8 GiB) --loop--> root: ext4 with discard, TMPDIR of the tests
//! ```

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::{files, process};

const SHARED_MEMORY: &str = "/dev/shm";
const PREFIX: &str = "megadir-ci-";

/// Sparse: it takes as much memory as its files.
const IMAGE_BYTES: u64 = 8 << 30;
/// Memory that has to be available, for the files of all tests and for the tests themselves.
const AVAILABLE_MIN_KIB: u64 = 12 << 20;

/// Mounted until it is dropped.
pub(super) struct MemoryDisk {
    /// Has the image and the directory where it is mounted.
    folder: TempDir,
}

impl MemoryDisk {
    /// The error is the reason why tests use the usual directory for temporary files instead.
    pub(super) fn mount() -> Result<Self, String> {
        // Before anything else: a disk that was left takes memory.
        unmount_abandoned();
        if !rustix::process::geteuid().is_root() {
            return Err("only root can mount one".to_owned());
        }
        let available_kib = available_kib().unwrap_or(0);
        if available_kib < AVAILABLE_MIN_KIB {
            return Err(format!("{} GiB of memory are available, not 12", available_kib >> 20));
        }
        let folder = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .permissions(std::fs::Permissions::from_mode(0o755))
            .tempdir_in(SHARED_MEMORY)
            .map_err(|error| format!("create a directory in {SHARED_MEMORY}: {error}"))?;
        let disk = Self { folder };
        let (image, root) = (disk.folder.path().join("image"), disk.path());
        let sized = std::fs::File::create(&image).and_then(|file| file.set_len(IMAGE_BYTES));
        sized.map_err(|error| format!("{}: {error}", image.display()))?;
        files::create_folder(&root)?;
        // An inode for each block, as most files of tests are empty or small.
        quietly(Command::new("mkfs.ext4").args(["-q", "-F", "-i", "4096"]).arg(&image))?;
        // Without `noinit_itable`, the kernel would fill all inode tables with zeros, which takes memory.
        let options = "loop,discard,noinit_itable";
        quietly(Command::new("mount").args(["-o", options]).arg(&image).arg(&root))?;
        std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o1777))
            .map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(disk)
    }

    /// Every user may create files there, as in a temporary folder.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("root")
    }
}

impl Drop for MemoryDisk {
    fn drop(&mut self) {
        unmount(&self.path());
    }
}

fn quietly(command: &mut Command) -> Result<(), String> {
    process::output(command).map(drop)
}

/// Also if a test left a process there; where nothing is mounted, nothing happens.
fn unmount(root: &Path) {
    let _ = quietly(Command::new("umount").args(["--lazy", "--quiet"]).arg(root));
}

/// Disks of runs that were killed.
fn unmount_abandoned() {
    for entry in std::fs::read_dir(SHARED_MEMORY).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            unmount(&entry.path().join("root"));
            // Only the image and two empty directories are removed, nothing that may still be mounted.
            let _ = std::fs::remove_file(entry.path().join("image"));
            let _ = std::fs::remove_dir(entry.path().join("root"));
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

fn available_kib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse().ok()
}
