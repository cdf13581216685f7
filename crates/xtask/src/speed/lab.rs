//! Private file systems on loop devices over sparse images, formatted with defaults.
//!
//! mount(8) attaches the loop device, and unmounting (on drop) detaches it.

use crate::process;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) struct Kind {
    /// Word for `--fs` and mount(8).
    pub(crate) name: &'static str,
    pub(crate) mkfs: &'static [&'static str],
}

/// Supported file systems. The inode tables of ext4 are written at once, not in the background of the
/// measurement.
pub(crate) static KINDS: &[Kind] = &[
    Kind { name: "ext4", mkfs: &["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"] },
    Kind { name: "xfs", mkfs: &["mkfs.xfs", "-q", "-f"] },
    Kind { name: "btrfs", mkfs: &["mkfs.btrfs", "-q", "-f"] },
];

/// ext4 creates an inode for each 16 KiB by default; with a margin.
const IMAGE_BYTES_PER_ENTRY: u64 = 24 << 10;
const IMAGE_BYTES_MIN: u64 = 4 << 30;

/// Mounted file system; unmounted and deleted when dropped.
pub(crate) struct Lab {
    pub(crate) kind: &'static Kind,
    /// `true` if the loop device bypasses the page cache of the image.
    pub(crate) direct_io: bool,
    image: PathBuf,
    point: PathBuf,
    mounted: bool,
}

impl Lab {
    /// Creates and mounts a file system for a directory of `entries` empty files.
    pub(crate) fn make(kind: &'static Kind, folder: &Path, entries: u64) -> Result<Self, String> {
        let (image, point) = (folder.join(format!("{}.img", kind.name)), folder.join(kind.name));
        let mut lab = Self { kind, direct_io: false, image, point, mounted: false };
        let cannot = |error: std::io::Error| format!("cannot create the image for {}: {error}", kind.name);
        std::fs::create_dir(&lab.point).map_err(cannot)?;
        let bytes = IMAGE_BYTES_MIN.max(entries * IMAGE_BYTES_PER_ENTRY);
        File::create_new(&lab.image).and_then(|file| file.set_len(bytes)).map_err(cannot)?;
        let (mkfs, options) = kind.mkfs.split_first().ok_or("no mkfs")?;
        process::output(tool(mkfs)?.args(options).arg(&lab.image))?;
        lab.attach()?;
        Ok(lab)
    }

    /// Root of the file system.
    pub(crate) fn path(&self) -> &Path {
        &self.point
    }

    /// Remounts with dropped caches: nothing of the directory stays in memory.
    pub(crate) fn cool(&mut self) -> Result<(), String> {
        self.detach()?;
        self.attach()?;
        std::fs::write("/proc/sys/vm/drop_caches", "3")
            .map_err(|error| format!("cannot drop caches: {error}"))
    }

    /// The image; write to it only while it is detached.
    pub(super) fn image(&self) -> &Path {
        &self.image
    }

    pub(super) fn attach(&mut self) -> Result<(), String> {
        let mut mount = tool("mount")?;
        process::output(mount.args(["-t", self.kind.name, "-o", "loop"]).arg(&self.image).arg(&self.point))?;
        self.mounted = true;
        self.direct_io = self.set_direct_io().unwrap_or(false);
        Ok(())
    }

    /// Requests direct I/O below the mounted file system; returns `true` if it is on.
    fn set_direct_io(&self) -> Result<bool, String> {
        let mut findmnt = tool("findmnt")?;
        let device = process::output(findmnt.args(["-n", "-o", "SOURCE", "--mountpoint"]).arg(&self.point))?;
        let device = device.trim();
        // If the image's file system does not support it, the device reports that afterwards.
        process::output(tool("losetup")?.arg("--direct-io=on").arg(device)).ok();
        let name = device.rsplit('/').next().unwrap_or_default();
        let state = std::fs::read_to_string(format!("/sys/block/{name}/loop/dio"));
        Ok(state.is_ok_and(|state| state.trim() == "1"))
    }

    pub(super) fn detach(&mut self) -> Result<(), String> {
        // A scan of all block devices by another process may keep this one busy for a moment.
        let mut tried = Ok(String::new());
        for _ in 0..100 {
            tried = process::output(tool("umount")?.arg(&self.point));
            if tried.is_ok() {
                self.mounted = false;
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        tried.map(|_| ())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.mounted
            && let Err(why) = self.detach()
        {
            eprintln!("{why}");
        }
        std::fs::remove_file(&self.image).ok();
        // The path may be reused. Removes only an empty directory.
        std::fs::remove_dir(&self.point).ok();
    }
}

/// Finds a system command.
fn tool(name: &str) -> Result<Command, String> {
    process::find_tool(name).map(Command::new).ok_or_else(|| format!("no {name}"))
}

/// Parses a kind for the command line.
pub(crate) fn kind(name: &str) -> Result<&'static Kind, String> {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let found = KINDS.iter().find(|kind| kind.name == name);
    found.ok_or_else(|| format!("unknown file system: use one of {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn kinds_are_found_by_name() {
        assert_eq!(kind("xfs").map(|kind| kind.name), Ok("xfs"));
        assert!(kind("ntfs").is_err_and(|message| message.contains("ext4, xfs, btrfs")));
    }
}
