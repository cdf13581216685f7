//! Mounting with the options of mount(8) in a namespace of its own, and unmounting file systems that others
//! hold for a moment.

use std::cell::RefCell;
use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount_change};
use rustix::thread::{CapabilitySet, capabilities};

use crate::LabError;
use crate::patience::repeat;

/// Options of mount(8) that mount(2) takes as flags. The kernel would refuse them in the data string, which
/// is for the driver's own options; mount(8) separates the two in the same way.
const FLAGS: &[(&str, MountFlags)] = &[
    ("noatime", MountFlags::NOATIME),
    ("nodiratime", MountFlags::NODIRATIME),
    ("relatime", MountFlags::RELATIME),
    ("strictatime", MountFlags::STRICTATIME),
    ("lazytime", MountFlags::LAZYTIME),
    ("sync", MountFlags::SYNCHRONOUS),
    ("dirsync", MountFlags::DIRSYNC),
    ("nodev", MountFlags::NODEV),
    ("nosuid", MountFlags::NOSUID),
    ("noexec", MountFlags::NOEXEC),
];

/// Fails with `ENODEV` if the kernel has no driver.
pub fn mount(source: &Path, point: &Path, kind: &str, options: &[String]) -> Result<(), Errno> {
    let (flags, data) = split(options);
    rustix::mount::mount(source, point, kind, flags, data.as_c_str())
}

/// Repeats for at most `patience` while it is busy: scans of all mounts, and forked children before exec, hold it for a moment.
pub fn unmount(point: &Path, patience: Duration) -> Result<(), Errno> {
    let attempt = || rustix::mount::unmount(point, UnmountFlags::NOFOLLOW);
    repeat(patience, attempt, |ended| *ended != Err(Errno::BUSY))
}

/// Processes that have it open keep it until they close it.
pub fn detach(point: &Path) -> Result<(), Errno> {
    rustix::mount::unmount(point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
}

/// `true` if something is mounted on the entry `name`: its device number differs from the number of its
/// parent. Both are reached by the descriptor, so that a path that was moved meanwhile cannot give the
/// wrong answer.
pub(crate) fn is_mounted(directory: impl AsFd, name: &str) -> bool {
    let of = |path: &str| rustix::fs::statat(directory.as_fd(), path, rustix::fs::AtFlags::NO_AUTOMOUNT);
    match (of(name), of(".")) {
        (Ok(point), Ok(parent)) => point.st_dev != parent.st_dev,
        _ => false,
    }
}

fn split(options: &[String]) -> (MountFlags, CString) {
    let (mut flags, mut others) = (MountFlags::empty(), Vec::new());
    for option in options {
        match FLAGS.iter().find(|(name, _)| name == option) {
            Some((_, flag)) => flags |= *flag,
            None => others.push(option.as_str()),
        }
    }
    (flags, CString::new(others.join(",")).unwrap_or_default())
}

type Job = Box<dyn FnOnce() + Send>;

thread_local! {
    // A mount namespace belongs to a thread, not to the process: unshare(2) changes only the calling thread
    // and the threads that it starts later.
    /// Leads to a thread that stays in the namespace that this thread had before it entered its own. That thread ends with this one,
    /// which owns the sender.
    static OUTSIDE: RefCell<Option<Sender<Job>>> = const { RefCell::new(None) };
}

/// Calls `work` on a thread outside of the run's own mount namespace; here, if this thread has not entered one.
pub(crate) fn outside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let Some(jobs) = OUTSIDE.with_borrow(Clone::clone) else { return Ok(work()) };
    let (sender, result) = channel();
    let ended = || io::Error::other("the thread outside of the mount namespace has ended");
    jobs.send(Box::new(move || drop(sender.send(work())))).map_err(|_| ended())?;
    result.recv().map_err(|_| ended())
}

pub fn may_mount() -> bool {
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Enters the run's own mount namespace, once in each thread that opens a lab. Other processes do not see or hold later mounts.
pub fn enter_namespace() -> Result<(), LabError> {
    if OUTSIDE.with_borrow(Option::is_some) {
        return Ok(());
    }
    if !may_mount() {
        return Err(LabError::Privileges);
    }
    let (sender, jobs) = channel::<Job>();
    let stays = std::thread::Builder::new().name("megadir-outside".into());
    // Started before this thread leaves the namespace, which it keeps.
    stays
        .spawn(move || jobs.into_iter().for_each(|job| job()))
        .map_err(LabError::failed("start a thread"))?;
    megadir_sys::process::own_mounts().map_err(LabError::failed("enter a mount namespace"))?;
    // Shared propagation would also mount everything in the parent namespace.
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(LabError::failed("make the mount namespace private"))?;
    OUTSIDE.set(Some(sender));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MountFlags, split};

    #[test]
    fn flags_are_taken_out() {
        let options = ["noatime", "nodatacow", "dirsync", "compress=zstd"].map(str::to_owned);
        let (flags, data) = split(&options);
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::DIRSYNC);
        assert_eq!(data.to_str(), Ok("nodatacow,compress=zstd"));
    }
}
