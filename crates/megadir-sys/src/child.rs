//! Programs that end with the thread that started them, and what a program used.
//!
//! References: `PR_SET_PDEATHSIG` in prctl(2), wait4(2).

use std::ffi::{CString, OsStr, OsString};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use crate::usage::{Usage, of_rusage};

/// Makes the kernel kill the command's process when the starting thread ends for any reason, SIGKILL included.
///
/// Programs that gain privileges on exec (set-user-ID, capabilities) are exempt.
pub fn dies_with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: the closure makes two system calls and touches no memory except its own copy of a number.
    unsafe { command.pre_exec(move || ask_to_die_with(parent)) };
}

/// Requests SIGKILL at the end of the parent's thread. Safe between fork and exec: two system calls and no allocation.
fn ask_to_die_with(parent: u32) -> io::Result<()> {
    // SAFETY: takes numbers only; safe between fork and exec, as it is one system call.
    let status = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: takes nothing and cannot fail.
    let now = unsafe { libc::getppid() };
    // The parent may have ended before the signal was requested.
    if u32::try_from(now) == Ok(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
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

/// Program that is about to start, with everything prepared that allocates memory.
#[derive(Debug)]
pub struct ReadyProgram {
    program: CString,
    words: Vec<CString>,
    /// Carries the error number if the program cannot be executed; closed by its execution.
    failure: (io::PipeReader, io::PipeWriter),
}

impl ReadyProgram {
    /// Takes the path of a program and its arguments, the first of which is the name that the program sees.
    ///
    /// # Errors
    ///
    /// An I/O error if a word contains a zero byte or no pipe can be opened.
    pub fn new(program: &OsStr, words: &[OsString]) -> io::Result<Self> {
        let words = words.iter().map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
        Ok(Self { program: CString::new(program.as_bytes())?, words, failure: io::pipe()? })
    }

    /// Starts the program in a process of its own, waits for its end, and returns what it used.
    ///
    /// The program has this process's environment and standard streams, and is killed if the starting thread ends. Unlike
    /// [`Command`], this waits for nothing but the end: a failure to execute is passed through a pipe that is read afterwards.
    ///
    /// # Errors
    ///
    /// An I/O error if the process cannot be created or the program cannot be executed.
    pub fn run(self) -> io::Result<Ended> {
        let mut pointers: Vec<*const libc::c_char> = self.words.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        let parent = std::process::id();
        // SAFETY: takes nothing. The child has a copy of this thread only, and `become_program` makes system calls alone: it
        // takes no lock and allocates nothing.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => return Err(io::Error::last_os_error()),
            0 => self.become_program(&pointers, parent),
            _ => {}
        }
        let ended = wait(pid)?;
        let (mut reader, writer) = self.failure;
        drop(writer);
        let mut number = [0; 4];
        match reader.read(&mut number)? {
            0 => Ok(ended),
            _ => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(number))),
        }
    }

    /// Executes the program in the process that was forked for it; writes the error number if that fails.
    fn become_program(&self, pointers: &[*const libc::c_char], parent: u32) -> ! {
        let number = match ask_to_die_with(parent) {
            Ok(()) => {
                // Rust's runtime ignores this signal, which the program would inherit.
                // SAFETY: takes numbers only, and no handler is involved.
                unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
                // SAFETY: the program's path and every word end with a zero byte, and the list with a null pointer; all live in
                // this process's copy of the memory.
                unsafe { libc::execv(self.program.as_ptr(), pointers.as_ptr()) };
                io::Error::last_os_error().raw_os_error()
            }
            Err(error) => error.raw_os_error(),
        };
        let bytes = number.unwrap_or(libc::EIO).to_ne_bytes();
        // SAFETY: the buffer is an array of this function, of the length given.
        let _ = unsafe { libc::write(self.failure.1.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
        // SAFETY: ends the process without running what the parent registered for its own end.
        unsafe { libc::_exit(127) }
    }
}

/// Waits for the end of a child that nothing else waits for.
fn wait(pid: libc::pid_t) -> io::Result<Ended> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to memory of their types' sizes, which the kernel fills.
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
    use super::{ReadyProgram, dies_with_parent};
    use std::ffi::{OsStr, OsString};
    use std::process::Command;

    fn ready(program: &str, words: &[&str]) -> ReadyProgram {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        ReadyProgram::new(OsStr::new(program), &words).unwrap()
    }

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
        let ended = ready("/bin/sh", &["sh", "-c", spin]).run().unwrap();
        assert_eq!(ended.status.code(), Some(7));
        assert!(ended.usage.user_ns > 1_000_000, "{ended:?}");
        assert!(ended.peak_bytes > 100_000, "{ended:?}");
    }
    #[test]
    fn a_program_that_cannot_be_executed_is_an_error_with_the_reason() {
        let reason =
            |program| ready(program, &["x"]).run().map(|ended| ended.status).map_err(|error| error.kind());
        assert_eq!(reason("/no/such/program"), Err(std::io::ErrorKind::NotFound));
        assert_eq!(reason("/"), Err(std::io::ErrorKind::PermissionDenied));
        assert!(ReadyProgram::new(OsStr::new("/bin/true"), &["a\0b".into()]).is_err());
    }

    #[test]
    fn a_program_can_be_ended_by_a_closed_pipe() {
        // Rust ignores SIGPIPE, and a program would inherit that.
        let closed = "exec 2>/dev/null; ( kill -s PIPE $$; sleep 5 )";
        let ended = ready("/bin/sh", &["sh", "-c", closed]).run().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.status), Some(libc::SIGPIPE));
    }
}
