//! Mount namespace of the calling thread; its mounts go when its last member ends. Threads and processes that
//! the thread starts later are members too. Reference: mount_namespaces(7), unshare(2).

use std::io;

/// Moves the calling thread to its own mount namespace, working directory and root. Existing mounts stay and
/// may still propagate changes until they are made private. Errors: `EPERM` without `CAP_SYS_ADMIN`.
pub fn own() -> io::Result<()> {
    // SAFETY: takes no pointer. Unlike with CLONE_FILES, descriptors stay shared with all threads; only the
    // meaning of paths may differ between threads afterwards.
    let status = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
