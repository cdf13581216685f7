//! Programs that end with the thread that started them. Reference: `PR_SET_PDEATHSIG` in prctl(2).

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

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

#[cfg(test)]
mod tests {
    use super::dies_with_parent;
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
}
