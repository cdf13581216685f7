//! The launcher: a small process that starts a program, waits for it and times it.
//!
//! ```text
//! run                        launcher                         program
//! starts it, output set ---> finds the program
//! go (1 byte) -------------> drops its pages
//!                            clock, clone, exec ------------> runs
//!                            wait4, clock <------------------ ends
//! reads the output           result (56 bytes)
//! ```
//!
//! The program is started as by vfork(2), which copies nothing. The kernel counts the resident set of the process
//! that starts a program as the program's, so it is the launcher's instead of the run's, and made small before. The
//! launcher and its program are a process group, which is killed as a whole. Both end with the run's thread.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use megadir_sys::child::{ReadyProgram, dies_with_parent};
use megadir_sys::clock::monotonic_ns;
use megadir_sys::process::drop_file_pages;
use megadir_sys::usage::Usage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::program::{find, kill_group};
use crate::control::{Result, RunControl, WorkError};
use crate::kind::WorkerCommand;

const GO: [u8; 1] = [1];
const NUMBERS: usize = 7;
/// Longest wait without a look at the time limit and at the end of the run.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const BUFFER_BYTES: usize = 256 << 10;

/// Result of a program, as the launcher measured it: time from before its start to after wait4(2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) elapsed_ns: u64,
    pub(super) usage: Usage,
    pub(super) peak_bytes: u64,
}

/// Launcher's part: waits for its signal, runs the program, and reports. The command of [`WorkerCommand`]
/// calls it if it has further arguments: the program and its arguments. Fails if no run started this process.
pub fn launch(arguments: &[OsString], path: Option<&OsStr>) -> io::Result<()> {
    let word = arguments.first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut run = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let program = match find(&word.to_string_lossy(), path) {
        Ok(program) => program.into_os_string(),
        Err(_) => word.clone(),
    };
    let program = ReadyProgram::new(&program, arguments)?;
    // The socket that was standard input has been duplicated.
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    run.read_exact(&mut [0; GO.len()])?;
    // Where the kernel cannot do this, peak memory includes some megabytes of this process.
    let _ = drop_file_pages();
    let started_ns = monotonic_ns();
    let ended = program.run();
    let elapsed_ns = monotonic_ns() - started_ns;
    let numbers = match ended {
        Ok(ended) => [
            0,
            ended.status.into_raw() as u64,
            elapsed_ns,
            ended.usage.user_ns,
            ended.usage.system_ns,
            ended.usage.read_bytes.unwrap_or(0),
            ended.peak_bytes,
        ],
        Err(error) => {
            let number = error.raw_os_error().unwrap_or(rustix::io::Errno::IO.raw_os_error());
            [number as u64, 0, 0, 0, 0, 0, 0]
        }
    };
    run.write_all(numbers.map(u64::to_le_bytes).as_flattened())
}

/// The run's side of a launcher. `output` is the read end of a pipe, if the output is not a file.
pub(super) struct Launcher {
    child: Child,
    control: UnixStream,
    output: Option<File>,
}

impl Launcher {
    /// Without `output` the program's output comes through a pipe.
    pub(super) fn start(
        worker: &WorkerCommand,
        words: &[OsString],
        environment: &BTreeMap<String, String>,
        output: Option<OwnedFd>,
        errors: OwnedFd,
    ) -> io::Result<Self> {
        let (own, other) = UnixStream::pair()?;
        let mut command = Command::new(&worker.program);
        command.args(&worker.arguments).arg("--").args(words).envs(environment);
        command.stdin(OwnedFd::from(other)).stderr(errors).process_group(0);
        let output = match output {
            Some(output) => {
                command.stdout(output);
                None
            }
            None => {
                let (reader, writer) = io::pipe()?;
                rustix::io::ioctl_fionbio(&reader, true)?;
                command.stdout(writer);
                Some(File::from(OwnedFd::from(reader)))
            }
        };
        dies_with_parent(&mut command);
        let child = command.spawn()?;
        Ok(Self { child, control: own, output })
    }

    /// The output is read while the program runs, since a full pipe would stop it. The end of the program is
    /// the answer of the launcher, not the end of the output: a process that the program left behind may keep
    /// the pipe open. On any error the value is dropped, which kills the process group.
    pub(super) fn run(
        mut self,
        timeout: Duration,
        control: RunControl<'_>,
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<Ended> {
        let failed = WorkError::at("running a program");
        let (started, mut buffer) = (Instant::now(), vec![0; BUFFER_BYTES]);
        self.control.write_all(&GO).map_err(failed)?;
        loop {
            control.check()?;
            if started.elapsed() > timeout {
                return Err(WorkError::Program(format!(
                    "it ran longer than the time limit of {} s",
                    timeout.as_secs()
                )));
            }
            let mut polled = vec![PollFd::new(&self.control, PollFlags::IN)];
            polled.extend(self.output.as_ref().map(|output| PollFd::new(output, PollFlags::IN)));
            match poll(&mut polled, Some(&LOOK)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
            let ended = !polled[0].revents().is_empty();
            drop(polled);
            // A process that the program left behind may hold the pipe open; its output does not count.
            if !drain(&mut self.output, &mut buffer, ended, read).map_err(failed)? {
                self.output = None;
            }
            if ended {
                break;
            }
        }
        let mut bytes = [[0; 8]; NUMBERS];
        let reply = self.control.read_exact(bytes.as_flattened_mut());
        reply.map_err(|_| WorkError::Program("its launcher was killed".into()))?;
        let [error, status, elapsed_ns, user_ns, system_ns, read_bytes, peak_bytes] =
            bytes.map(u64::from_le_bytes);
        if error != 0 {
            let error = io::Error::from_raw_os_error(error as i32);
            return Err(WorkError::Program(crate::control::words(&error)));
        }
        let usage = Usage { user_ns, system_ns, read_bytes: Some(read_bytes) };
        Ok(Ended { status: ExitStatus::from_raw(status as i32), elapsed_ns, usage, peak_bytes })
    }
}

/// Reads available output; once the program has ended, all of it. `false` at the end of the output.
fn drain(
    output: &mut Option<File>,
    buffer: &mut [u8],
    ended: bool,
    read: &mut dyn FnMut(&[u8]),
) -> io::Result<bool> {
    let Some(output) = output else { return Ok(true) };
    loop {
        match output.read(buffer) {
            Ok(0) => return Ok(false),
            Ok(bytes) => read(&buffer[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if !ended {
            return Ok(true);
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // Processes left running would disturb later blocks. Until `wait` the group's number is not reused.
        kill_group(&self.child);
        let _ = self.child.wait();
    }
}

pub(super) fn describe(status: ExitStatus, errors: &File) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("it exited with code {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    };
    match last_line(errors) {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}

/// Last line of standard error, where programs put their reason; control characters are removed.
fn last_line(file: &File) -> Option<String> {
    use std::os::unix::fs::FileExt;
    const TAIL_BYTES: u64 = 4096;
    let from = file.metadata().ok()?.len().saturating_sub(TAIL_BYTES);
    let mut tail = vec![0; TAIL_BYTES as usize];
    let bytes = file.read_at(&mut tail, from).ok()?;
    let text = String::from_utf8_lossy(&tail[..bytes]).into_owned();
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(line.chars().filter(|letter| !letter.is_control()).take(200).collect())
}

pub(super) fn path_of(directory: &impl AsRawFd) -> io::Result<OsString> {
    let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
    Ok(std::fs::read_link(link)?.into_os_string())
}
