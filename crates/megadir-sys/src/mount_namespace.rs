//! Mount namespace of the calling thread and its children; the mounts go with the last member
//! (mount_namespaces(7)).

use std::io;

/// Moves the calling thread to its own mount namespace, working directory and root. Existing mounts propagate
/// changes until they are made private. Fails with `EPERM` without `CAP_SYS_ADMIN`.
pub fn own() -> io::Result<()> {
    // SAFETY: takes no pointer. Unlike with CLONE_FILES, descriptors stay shared with all threads; only the
    // meaning of paths may differ between threads afterwards.
    let status = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
