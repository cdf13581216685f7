//! Programs that end with the thread that started them, and their usage: `PR_SET_PDEATHSIG` in prctl(2), wait4(2).

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};

use crate::succeeded;
use crate::usage::{Usage, of_rusage};

/// The kernel kills the command's process when the starting thread ends for any reason, SIGKILL included.
/// Programs that gain privileges on exec (set-user-ID, capabilities) are exempt.
pub fn dies_with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: the closure makes two system calls and touches no memory except its own copy of a number.
    unsafe { command.pre_exec(move || set_parent_death_signal(parent)) };
}

/// Safe between fork and exec: two system calls and no allocation.
fn set_parent_death_signal(parent: u32) -> io::Result<()> {
    // SAFETY: takes numbers only; safe between fork and exec, as it is one system call.
    succeeded(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) })?;
    // SAFETY: takes nothing and cannot fail.
    let now = unsafe { libc::getppid() };
    // The parent may have ended before.
    if u32::try_from(now) == Ok(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub status: ExitStatus,
    /// Includes the processes that it waited for.
    pub usage: Usage,
    /// Largest resident set of any of these processes, bytes. The kernel includes the resident set of the process that called
    /// [`ReadyProgram::run`] ([`drop_file_pages`](crate::process::drop_file_pages) makes that small).
    pub peak_bytes: u64,
}

/// For the few calls before the program is executed.
const STACK_BYTES: usize = 64 << 10;

/// Everything that allocates memory is prepared.
#[derive(Debug)]
pub struct ReadyProgram {
    program: CString,
    words: Vec<CString>,
    stack: Vec<u8>,
}

/// Data of the new process while it shares this one's memory.
struct Start {
    program: *const libc::c_char,
    words: *const *const libc::c_char,
    parent: u32,
    /// 0 if the program was executed.
    error_number: i32,
}

impl ReadyProgram {
    /// The first of `words` is the name that the program sees. Errors: a word contains a zero byte.
    pub fn new(program: &OsStr, words: &[OsString]) -> io::Result<Self> {
        let words = words.iter().map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
        Ok(Self { program: CString::new(program.as_bytes())?, words, stack: vec![0; STACK_BYTES] })
    }

    /// Starts the program in a process of its own and waits for its end.
    ///
    /// The program has this process's environment and standard streams, and is killed if the starting thread ends. The new
    /// process shares this one's memory until it executes the program, as after vfork(2): nothing is copied. Errors: the
    /// process cannot be created or the program cannot be executed.
    pub fn run(mut self) -> io::Result<Ended> {
        let mut words: Vec<*const libc::c_char> = self.words.iter().map(|word| word.as_ptr()).collect();
        words.push(std::ptr::null());
        let parent = std::process::id();
        let mut start =
            Start { program: self.program.as_ptr(), words: words.as_ptr(), parent, error_number: 0 };
        let top = self.stack.as_mut_ptr_range().end;
        let top = top.wrapping_sub(top.addr() % 16);
        // SAFETY: the stack is this function's, grows downwards on all supported processors, and its upper end is aligned.
        // `become_program` makes system calls alone, and this thread stops until it has executed the program or ended, so
        // both never run at once.
        let pid = unsafe {
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            libc::clone(become_program, top.cast(), flags, (&raw mut start).cast())
        };
        if pid == -1 {
            return Err(io::Error::last_os_error());
        }
        let ended = wait(pid)?;
        // SAFETY: a valid variable of this function, which the other process may have changed.
        match unsafe { (&raw const start.error_number).read_volatile() } {
            0 => Ok(ended),
            number => Err(io::Error::from_raw_os_error(number)),
        }
    }
}

extern "C" fn become_program(start: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `ReadyProgram::run` passes a `Start` of its own, and waits.
    let start = unsafe { &mut *start.cast::<Start>() };
    let error = match set_parent_death_signal(start.parent) {
        Ok(()) => {
            // Rust's runtime ignores this signal, which the program would inherit.
            // SAFETY: takes numbers only; signal handling is not shared with the parent.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            // SAFETY: the program's path and every word end with a zero byte, and the list with a null pointer; all live in
            // the parent, which waits.
            unsafe { libc::execv(start.program, start.words) };
            io::Error::last_os_error()
        }
        Err(error) => error,
    };
    start.error_number = error.raw_os_error().unwrap_or(libc::EIO);
    // SAFETY: ends the process without running what the parent registered for its own end.
    unsafe { libc::_exit(127) }
}

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
    fn program_usage_excludes_others() {
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
