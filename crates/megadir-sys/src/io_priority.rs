//! I/O priority of a thread: ioprio_set(2).

use std::io;

const IOPRIO_WHO_PROCESS: libc::c_int = 1;
const IOPRIO_CLASS_IDLE: libc::c_int = 3;
const IOPRIO_CLASS_SHIFT: libc::c_int = 13;

/// Also applies to threads that the calling thread starts later.
pub fn make_idle() -> io::Result<()> {
    let priority = IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT;
    // SAFETY: the call takes three numbers and touches no memory of ours; 0 is the calling thread.
    crate::succeeded(unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority) })
}

#[cfg(test)]
mod tests {
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
    fn a_thread_and_those_it_starts_are_idle_and_no_others() {
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
}
