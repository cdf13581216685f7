//! Programs that end with the thread that started them, and what a program used.
//!
//! References: `PR_SET_PDEATHSIG` in prctl(2), wait4(2).

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use crate::usage::{Usage, of_rusage};

/// Makes the kernel kill the command's process when the starting thread ends for any reason, SIGKILL included.
///
/// Programs that gain privileges on exec (set-user-ID, capabilities) are exempt.
pub fn dies_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let ask = move || {
        // SAFETY: takes numbers only; safe between fork and exec, as it is one system call.
        let status = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: takes nothing and cannot fail.
        let now = unsafe { libc::getppid() };
        // The parent may have ended before the signal was requested.
        if u32::try_from(now) == Ok(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: the closure makes two system calls and touches no memory except its own copy of a number.
    unsafe { command.pre_exec(ask) };
}

/// A program that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// Processor time and reads of the process and of those it waited for.
    pub usage: Usage,
    /// Largest resident set of any of these processes, bytes.
    ///
    /// The kernel includes the memory that the process had before it executed the program: a copy of the parent's
    /// after fork(2), and all of the parent's after vfork(2).
    pub peak_bytes: u64,
}

/// Waits for a child's end and returns what it used.
pub fn wait(child: Child) -> io::Result<Ended> {
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    // Closes its pipes, as `Child::wait` does. Once it has been waited for, its number may be another's.
    drop(child);
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to memory of their types' sizes, which the kernel fills. The process is a child of
        // this one that nothing else waits for, since its `Child` was owned here.
        let ended = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
        if ended == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: all bytes are zero or written by the kernel, and every pattern is a valid rusage.
    let usage = unsafe { usage.assume_init() };
    Ok(Ended {
        status: ExitStatus::from_raw(status),
        usage: of_rusage(usage),
        peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) << 10,
    })
}

#[cfg(test)]
mod tests {
    use super::{dies_with_parent, wait};
    use std::process::Command;

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let child = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            dies_with_parent(command.arg("60"));
            command.spawn()
        });
        let ended = child.join().map(|child| child.and_then(|mut child| child.wait()));
        let status = ended
            .ok()
            .and_then(Result::ok)
            .map(|status| std::os::unix::process::ExitStatusExt::signal(&status));
        assert_eq!(status, Some(Some(libc::SIGKILL)));
    }

    #[test]
    fn what_a_program_used_is_its_own() {
        let spin = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 7";
        let child = Command::new("sh").args(["-c", spin]).spawn().unwrap();
        let ended = wait(child).unwrap();
        assert_eq!(ended.status.code(), Some(7));
        assert!(ended.usage.user_ns > 1_000_000, "{ended:?}");
        assert!(ended.peak_bytes > 100_000, "{ended:?}");
    }
}
