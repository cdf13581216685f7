//! A mount that does not answer: whoever asks for anything on it waits, until a signal ends it.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

/// A FUSE mount whose server never answers; unmounted when dropped.
#[derive(Debug)]
pub struct Hanging {
    /// Closing it ends the connection and wakes whoever waits.
    connection: Option<File>,
    path: PathBuf,
    _scratch: TempDir,
}

impl Hanging {
    /// Mounts it in a directory of its own.
    ///
    /// # Errors
    ///
    /// Why there is none here, e.g. without privileges.
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

    /// Returns where it is mounted: `hanging` in a directory that holds nothing else.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        // It goes for others at once; whoever waits is woken when the connection ends.
        let _ = unmount(&self.path, UnmountFlags::DETACH);
        self.connection = None;
    }
}
