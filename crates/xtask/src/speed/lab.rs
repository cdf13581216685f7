//! Private file systems on loop devices over sparse images, as mkfs makes them by default.
//!
//! The loop device is attached by mount(8) and goes by itself with the unmounting, which happens on drop.

use crate::process;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A kind of file system and how it is made.
pub(crate) struct Kind {
    /// Its word for `--fs` and for mount(8).
    pub(crate) name: &'static str,
    pub(crate) mkfs: &'static [&'static str],
}

/// What can be measured. The inode tables of ext4 are written at once, as they would otherwise be while measuring.
pub(crate) static KINDS: &[Kind] = &[
    Kind { name: "ext4", mkfs: &["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"] },
    Kind { name: "xfs", mkfs: &["mkfs.xfs", "-q", "-f"] },
    Kind { name: "btrfs", mkfs: &["mkfs.btrfs", "-q", "-f"] },
];

/// By default ext4 makes an inode for each 16 KiB; with room to spare.
const IMAGE_BYTES_PER_ENTRY: u64 = 24 << 10;
const IMAGE_BYTES_MIN: u64 = 4 << 30;

/// A mounted file system; unmounted and deleted when dropped.
pub(crate) struct Lab {
    /// Its kind.
    pub(crate) kind: &'static Kind,
    /// Whether the loop device reads its image past the page cache.
    pub(crate) direct_io: bool,
    image: PathBuf,
    point: PathBuf,
    mounted: bool,
}

impl Lab {
    /// Makes a file system for a directory of `entries` empty files, and mounts it.
    pub(crate) fn make(kind: &'static Kind, folder: &Path, entries: u64) -> Result<Self, String> {
        let (image, point) = (folder.join(format!("{}.img", kind.name)), folder.join(kind.name));
        let mut lab = Self { kind, direct_io: false, image, point, mounted: false };
        let cannot = |error: std::io::Error| format!("cannot make the image for {}: {error}", kind.name);
        std::fs::create_dir(&lab.point).map_err(cannot)?;
        let bytes = IMAGE_BYTES_MIN.max(entries * IMAGE_BYTES_PER_ENTRY);
        File::create_new(&lab.image).and_then(|file| file.set_len(bytes)).map_err(cannot)?;
        let (mkfs, options) = kind.mkfs.split_first().ok_or("no mkfs")?;
        process::output(tool(mkfs)?.args(options).arg(&lab.image))?;
        lab.attach()?;
        Ok(lab)
    }

    /// Returns the root of the file system.
    pub(crate) fn path(&self) -> &Path {
        &self.point
    }

    /// Unmounts, drops the kernel's caches and mounts again: nothing of the directory is left in memory.
    pub(crate) fn cool(&mut self) -> Result<(), String> {
        self.detach()?;
        self.attach()?;
        std::fs::write("/proc/sys/vm/drop_caches", "3")
            .map_err(|error| format!("cannot drop caches: {error}"))
    }

    /// Returns the image, which is to be touched while it is detached only.
    pub(super) fn image(&self) -> &Path {
        &self.image
    }

    /// Mounts it.
    pub(super) fn attach(&mut self) -> Result<(), String> {
        let mut mount = tool("mount")?;
        process::output(mount.args(["-t", self.kind.name, "-o", "loop"]).arg(&self.image).arg(&self.point))?;
        self.mounted = true;
        self.direct_io = self.set_direct_io().unwrap_or(false);
        Ok(())
    }

    /// Asks for direct I/O below the mounted file system; returns whether it is on.
    fn set_direct_io(&self) -> Result<bool, String> {
        let mut findmnt = tool("findmnt")?;
        let device = process::output(findmnt.args(["-n", "-o", "SOURCE", "--mountpoint"]).arg(&self.point))?;
        let device = device.trim();
        // Where the image's own file system cannot, the device says so afterwards.
        process::output(tool("losetup")?.arg("--direct-io=on").arg(device)).ok();
        let name = device.rsplit('/').next().unwrap_or_default();
        let state = std::fs::read_to_string(format!("/sys/block/{name}/loop/dio"));
        Ok(state.is_ok_and(|state| state.trim() == "1"))
    }

    /// Unmounts it.
    pub(super) fn detach(&mut self) -> Result<(), String> {
        // Whoever looks at all block devices may keep this one busy for a moment.
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
        // Another may be made there. Never more than the empty directory.
        std::fs::remove_dir(&self.point).ok();
    }
}

/// Returns a command of the system, wherever it is.
fn tool(name: &str) -> Result<Command, String> {
    process::find_tool(name).map(Command::new).ok_or_else(|| format!("no {name}"))
}

/// Finds a kind by its name, for the command line.
pub(crate) fn kind(name: &str) -> Result<&'static Kind, String> {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let found = KINDS.iter().find(|kind| kind.name == name);
    found.ok_or_else(|| format!("the file systems are {}", names.join(", ")))
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
