//! Descriptor table (`CLONE_FILES`) and mount namespace of one thread: unshare(2).

use std::io;

/// Copies the descriptor table for the calling thread. Opening or closing a file locks the table, which threads
/// of a process share; threads that stand for separate programs must not wait for each other there. Descriptors closed
/// elsewhere stay open in the copy until the thread ends.
///
/// # Safety
///
/// A number then means one file in this thread and perhaps another one elsewhere, but owners of descriptors such as
/// `OwnedFd` may move between threads. Until it ends, the thread must close every descriptor that it opens, pass none
/// to other threads, use none that others open afterwards, and close none that existed before.
pub unsafe fn own_descriptors() -> io::Result<()> {
    // SAFETY: the call has no pointer; it gives this thread another table with the same contents, so every
    // number in use stays valid here and everywhere else. The caller keeps later ones apart.
    crate::succeeded(unsafe { libc::unshare(libc::CLONE_FILES) })
}

/// Moves the calling thread and its later children to its own mount namespace (mount_namespaces(7)), working directory
/// and root; the mounts go with the last member. Existing mounts propagate changes until they are made private. Fails
/// with `EPERM` without `CAP_SYS_ADMIN`.
pub fn own_mounts() -> io::Result<()> {
    // SAFETY: takes no pointer. Unlike with CLONE_FILES, descriptors stay shared with all threads; only the
    // meaning of paths may differ between threads afterwards.
    crate::succeeded(unsafe { libc::unshare(libc::CLONE_NEWNS) })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    #[test]
    fn what_a_thread_opens_then_is_its_own() {
        let shared = std::fs::File::open("/").unwrap();
        let number = shared.as_raw_fd();
        let link = |number: i32| std::fs::read_link(format!("/proc/thread-self/fd/{number}"));
        let own = std::thread::spawn(move || {
            // SAFETY: the thread opens `opened` and closes it, and closes nothing else.
            unsafe { super::own_descriptors() }.unwrap();
            assert_eq!(link(number).unwrap(), std::path::Path::new("/"));
            let opened = std::fs::File::open("/proc/self/cmdline").unwrap();
            assert!(link(opened.as_raw_fd()).is_ok());
            // Kept open until the thread and its table end.
            let number = opened.as_raw_fd();
            (number, std::fs::read_link(format!("/proc/self/fd/{number}")).ok())
        });
        let (_, elsewhere) = own.join().unwrap();
        assert!(elsewhere.is_none_or(|path| !path.ends_with("cmdline")), "others see it");
        drop(shared);
    }
}
