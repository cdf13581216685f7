//! A mount that never answers: every call on it blocks until a signal ends it.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

#[derive(Debug)]
pub struct Hanging {
    /// Closing it ends the connection and wakes all blocked callers.
    connection: Option<File>,
    path: PathBuf,
    _scratch: TempDir,
}

impl Hanging {
    pub fn make() -> Result<Self, String> {
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let path = scratch.path().join("hanging");
        std::fs::create_dir(&path).map_err(|error| error.to_string())?;
        let connection = File::options().read(true).write(true).open("/dev/fuse");
        let connection = connection.map_err(|error| format!("/dev/fuse: {error}"))?;
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", connection.as_raw_fd());
        let options = CString::new(options).map_err(|error| error.to_string())?;
        mount("megadir-test", &path, "fuse", MountFlags::NODEV | MountFlags::NOSUID, options.as_c_str())
            .map_err(|error| format!("mount: {error}"))?;
        Ok(Self { connection: Some(connection), path, _scratch: scratch })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        // Blocked callers wake when the connection ends.
        let _ = unmount(&self.path, UnmountFlags::DETACH);
        self.connection = None;
    }
}
