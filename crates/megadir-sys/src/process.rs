//! The calling process and its threads: I/O priority (ioprio_set(2)), descriptor table and mount namespace (unshare(2)), dispositions of
//! signals, resident set (smaps and clear_refs in proc(5), madvise(2)).

use std::fs::File;
use std::io::{self, Write};
use std::mem::MaybeUninit;

const IOPRIO_WHO_PROCESS: libc::c_int = 1;
const IOPRIO_CLASS_IDLE: libc::c_int = 3;
const IOPRIO_CLASS_SHIFT: libc::c_int = 13;
const RESET_PEAK: &[u8] = b"5";

/// Also applies to threads that the calling thread starts later.
pub fn make_idle() -> io::Result<()> {
    let priority = IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT;
    // SAFETY: the call takes three numbers and touches no memory of ours; 0 is the calling thread.
    crate::succeeded(unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority) })
}

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

/// `nohup` starts programs with SIGHUP ignored.
#[must_use]
pub fn is_ignored(signal: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call only writes the present one.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) };
    // SAFETY: a call that succeeded has written it.
    result == 0 && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Drops the resident pages of the program and its libraries that are as in their files, and resets the largest resident set.
/// The kernel maps such a page again when it is used. Errors: the process has several threads, or the kernel lacks these files
/// in /proc (`CONFIG_PROC_PAGE_MONITOR`).
pub fn drop_file_pages() -> io::Result<()> {
    if std::fs::read_dir("/proc/self/task")?.nth(1).is_some() {
        return Err(io::Error::other("another thread could change a page meanwhile"));
    }
    let mappings = std::fs::read_to_string("/proc/self/smaps")?;
    let mut reset_peak = File::options().write(true).open("/proc/self/clear_refs")?;
    let (mut mapping, mut unchanged) = (None, Vec::new());
    for line in mappings.lines() {
        if let Some(found) = file_mapping(line) {
            mapping = found;
        } else if line.strip_prefix("Anonymous:").is_some_and(|size| size.trim() == "0 kB") {
            unchanged.extend(mapping.take());
        }
    }
    // Code called from here on is resident again.
    for (start, end) in unchanged {
        // SAFETY: the mapping is of a file, and no page of it differs from the file. There is no other thread that could
        // write to it since, so all pages have the same content when they are mapped again.
        unsafe {
            libc::madvise(std::ptr::with_exposed_provenance_mut(start), end - start, libc::MADV_DONTNEED)
        };
    }
    reset_peak.write_all(RESET_PEAK)
}

/// Addresses of the mapping that a line of smaps begins, `Some(None)` unless it is of a file and not writable; `None` for other lines.
fn file_mapping(line: &str) -> Option<Option<(usize, usize)>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    let is_of_file =
        words.next()?.starts_with("r-") && words.nth(3).is_some_and(|path| path.starts_with('/'));
    Some(is_of_file.then_some((start, end)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    /// `true` if the calling thread is in the idle class.
    fn is_idle() -> io::Result<bool> {
        // SAFETY: the call takes two numbers and touches no memory of ours; 0 is the calling thread.
        match unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) } {
            -1 => Err(io::Error::last_os_error()),
            priority => Ok(priority >> IOPRIO_CLASS_SHIFT == libc::c_long::from(IOPRIO_CLASS_IDLE)),
        }
    }

    #[test]
    fn idle_priority_covers_a_thread_and_its_children_only() {
        std::thread::spawn(|| {
            assert!(!is_idle().unwrap());
            make_idle().unwrap();
            assert!(is_idle().unwrap());
            assert!(std::thread::spawn(|| is_idle().unwrap()).join().unwrap());
        })
        .join()
        .unwrap();
        assert!(!is_idle().unwrap());
    }

    #[test]
    fn descriptors_opened_later_belong_to_the_thread() {
        let shared = File::open("/").unwrap();
        let number = shared.as_raw_fd();
        let link = |number: i32| std::fs::read_link(format!("/proc/thread-self/fd/{number}"));
        let own = std::thread::spawn(move || {
            // SAFETY: the thread opens `opened` and closes it, and closes nothing else.
            unsafe { own_descriptors() }.unwrap();
            assert_eq!(link(number).unwrap(), std::path::Path::new("/"));
            let opened = File::open("/proc/self/cmdline").unwrap();
            assert!(link(opened.as_raw_fd()).is_ok());
            // Kept open until the thread and its table end.
            let number = opened.as_raw_fd();
            (number, std::fs::read_link(format!("/proc/self/fd/{number}")).ok())
        });
        let (_, elsewhere) = own.join().unwrap();
        assert!(elsewhere.is_none_or(|path| !path.ends_with("cmdline")), "others see it");
        drop(shared);
    }

    #[test]
    fn ignored_phrases_are_listed() {
        assert!(is_ignored(libc::SIGPIPE) && !is_ignored(libc::SIGUSR2) && !is_ignored(1000));
    }

    #[test]
    fn mappings_of_files_are_found() {
        let text = "7f00-8f00 r-xp 00028000 fe:00 1234   /usr/lib/libc.so.6";
        assert_eq!(file_mapping(text), Some(Some((0x7f00, 0x8f00))));
        assert_eq!(file_mapping("7f00-8f00 rw-p 00028000 fe:00 1234   /usr/lib/libc.so.6"), Some(None));
        assert_eq!(file_mapping("7f00-8f00 r-xp 00000000 00:00 0   [vdso]"), Some(None));
        assert_eq!(file_mapping("7f00-8f00 rw-p 00000000 00:00 0"), Some(None));
        assert_eq!(file_mapping("Rss:   4 kB"), None);
    }

    #[test]
    fn a_process_with_threads_is_refused() {
        // The test runner is the other thread.
        assert!(drop_file_pages().is_err());
    }
}
