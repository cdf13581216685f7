//! The lab of a run: a directory with its images and mount points, which the next run removes after a kill.
//!
//! Cleanup after `kill -9`:
//!
//! | made | removed because |
//! |---|---|
//! | mount | it is in the run's own mount namespace (`megadir_lab::mount`) |
//! | processes that would hold it | the kernel kills workers and mkfs with the thread that started them, a keeper kills FUSE servers (`server` of `megadir_lab`) |
//! | loop device | detaches itself with its last opener (`megadir_lab::Disk`) |
//! | server of a modelled disk | it ends with its last open file, which the loop device holds (`megadir_lab::rotating`) |
//! | device in memory | a keeper removes it; if that is killed too, the next run does (`megadir_lab::memory`) |
//! | image | it has no name (`O_TMPFILE`), or loses its name at once (`megadir_lab::make_image`) |
//! | mount points | they are in a directory with the marker of `workspace`, which the next run removes |
//!
//! A user's device is written to only after `megadir_lab::device` has accepted it. The mounts are visible only to
//! the thread that called [`Lab::open`] and its later threads.
//!
//! A FUSE server has a keeper process, so that it is never the last one in the namespace, where it would wait for its
//! own answer forever.

#[cfg(target_os = "linux")]
mod open;
#[cfg(not(target_os = "linux"))]
mod unsupported;

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use megadir_record::LabFileSystem;

use crate::workspace::{Leftovers, find_leftovers, remove_leftovers};

#[cfg(target_os = "linux")]
pub(crate) use megadir_lab::memory::no_zram_for;
pub use megadir_lab::{
    Backing, Changes, DISKS, DiskSpec, Entry, FILE_SYSTEMS, LABEL, LabError, Spec, Takes, Variant,
    disks_in_words,
};
#[cfg(target_os = "linux")]
pub use megadir_lab::{Cold, Mounted};
#[cfg(target_os = "linux")]
pub use open::{Lab, probe, survey};
#[cfg(target_os = "linux")]
pub(crate) use open::{SPARE_BYTES, memory_for_disks};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::LINUX_ONLY;
#[cfg(not(target_os = "linux"))]
pub use unsupported::{Cold, Lab, Mounted, survey};

/// Word after those of a worker's command: the process serves a modelled disk.
pub const SERVES_DISK: &str = "disk";

/// Serves a modelled disk until its last file is closed: standard input is a pipe of the run, standard output the connection to the kernel.
/// Errors: unusable words or image, a refused connection.
#[cfg(target_os = "linux")]
pub fn serve_disk(words: &[std::ffi::OsString]) -> io::Result<()> {
    use std::os::fd::AsFd;
    let connection = std::fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
    megadir_lab::rotating::serve(words, connection, io::stdin())
}

/// Availability of a file system of the table. `proven` describes one that was made and mounted;
/// without the privileges for that, only the presence of drivers and programs was checked.
#[derive(Clone, Debug)]
pub struct Fact {
    pub spec: Spec,
    pub unavailable: Option<String>,
    pub proven: Option<LabFileSystem>,
    pub tool: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Survey {
    pub facts: Vec<Fact>,
    /// `false` if only drivers and programs were checked.
    pub proven: bool,
    pub leftovers: Leftovers,
}

/// Removes what killed runs left below `parent`, and their disks in memory. Fails only if `parent` cannot be read.
pub fn clean(parent: &Path, heartbeat: &AtomicU64) -> io::Result<Leftovers> {
    Ok(with_disks(remove_leftovers(parent, heartbeat)?, true))
}

/// Leftovers that [`clean`] would remove.
pub fn leftovers(parent: &Path) -> io::Result<Leftovers> {
    Ok(with_disks(find_leftovers(parent)?, false))
}

#[cfg(target_os = "linux")]
fn with_disks(mut found: Leftovers, remove: bool) -> Leftovers {
    let (removed, left) = megadir_lab::memory::leftovers(remove);
    found.removed.extend(removed);
    found.left.extend(left);
    found
}

#[cfg(not(target_os = "linux"))]
fn with_disks(found: Leftovers, _remove: bool) -> Leftovers {
    found
}
