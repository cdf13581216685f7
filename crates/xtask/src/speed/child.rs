//! One run of one arm in a new process: wall time, processor time and peak memory.
//!
//! Peak memory is the kernel's `ru_maxrss`, which starts with the memory of the parent. [`Floor`] measures this
//! floor, and it is the reason why this task never holds a listing in memory.

use super::arms::{Arm, DIRECTORY, Sink};
use super::tools::{Program, Tools};
use crate::process;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use wait4::{ResUse, Wait4};

/// Cost of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// From before the start to the end (including `wc`), or to the first byte; seconds.
    pub(crate) wall_s: f64,
    /// User and system time of all threads (and of `wc`), seconds.
    pub(crate) cpu_s: f64,
    /// Largest resident set (without `wc`), bytes.
    pub(crate) peak_bytes: u64,
}

/// Constant environment of the arms.
pub(crate) struct Bench<'a> {
    pub(crate) tools: &'a Tools,
    /// Root of the file system: the working directory of all programs.
    pub(crate) root: &'a Path,
    /// Number of files.
    pub(crate) entries: u64,
}

impl Bench<'_> {
    /// Returns the command of an arm with its output still unset.
    pub(crate) fn command(&self, arm: &Arm) -> Result<Command, String> {
        let mut command = self.program(arm.program)?;
        command.args(arm.options).arg(DIRECTORY).args(arm.expression);
        Ok(command)
    }

    /// Returns a command without options: byte order and no colours, no input.
    pub(super) fn program(&self, program: Program) -> Result<Command, String> {
        let tool = self.tools.get(program).ok_or_else(|| format!("no {program:?}"))?;
        let mut command = Command::new(&tool.path);
        command.current_dir(self.root).env("LC_ALL", "C").env_remove("LS_COLORS").stdin(Stdio::null());
        forked(&mut command);
        Ok(command)
    }

    /// Loads a program into memory.
    pub(crate) fn touch(&self, program: Program) -> Result<(), String> {
        process::output(self.program(program)?.arg("--version")).map(|_| ())
    }

    pub(crate) fn measure(&self, arm: &Arm) -> Result<Sample, String> {
        let mut command = self.command(arm)?;
        match arm.sink {
            Sink::Null => to_null(&mut command),
            Sink::Wc => self.count_lines(&mut command),
            Sink::FirstByte => to_first_byte(&mut command),
        }
    }

    fn count_lines(&self, command: &mut Command) -> Result<Sample, String> {
        let mut wc = self.program(Program::Wc)?;
        let (reader, writer) = io::pipe().map_err(|error| process::cannot("measure", command, &error))?;
        wc.arg("-l").stdin(reader).stdout(Stdio::piped());
        command.stdout(writer);
        let started = Instant::now();
        let mut counter = process::start(&mut wc)?;
        let child = process::start(command);
        // These hold the pipe's ends: wc would never see the end.
        wc.stdin(Stdio::null());
        command.stdout(Stdio::null());
        let mut count = String::new();
        let read = counter.stdout.take().map(|mut pipe| pipe.read_to_string(&mut count));
        let counted = ended(counter, &wc)?;
        let wall_s = started.elapsed().as_secs_f64();
        read.transpose().map_err(|error| process::cannot("measure", command, &error))?;
        let listed = ended(child?, command)?;
        // Some programs print the directory itself too.
        let plausible = [self.entries, self.entries + 1].map(|lines| lines.to_string());
        if !plausible.iter().any(|lines| lines == count.trim()) {
            let wrong = format!("{} lines instead of {}", count.trim(), self.entries);
            return Err(process::cannot("measure", command, &io::Error::other(wrong)));
        }
        Ok(Sample { wall_s, cpu_s: cpu_s(&listed) + cpu_s(&counted), peak_bytes: listed.rusage.maxrss })
    }
}

/// Peak memory reported for a process that does nothing.
pub(crate) struct Floor;

impl Floor {
    /// Bytes.
    pub(crate) fn bytes() -> Result<u64, String> {
        let mut command = Command::new("true");
        let child = process::start(forked(&mut command))?;
        Ok(ended(child, &command)?.rusage.maxrss)
    }
}

/// Makes the standard library fork, which it does if a user ID is set.
///
/// Otherwise the child borrows this process's memory until it executes the program, and the floor would be
/// everything this process ever used, including mapped files. A fork costs all contenders the same fraction of
/// a millisecond.
fn forked(command: &mut Command) -> &mut Command {
    command.uid(rustix::process::geteuid().as_raw())
}

pub(super) fn to_null(command: &mut Command) -> Result<Sample, String> {
    command.stdout(Stdio::null());
    let started = Instant::now();
    let used = ended(process::start(command)?, command)?;
    let wall_s = started.elapsed().as_secs_f64();
    Ok(Sample { wall_s, cpu_s: cpu_s(&used), peak_bytes: used.rusage.maxrss })
}

/// Runs until the first byte; the program then finds its pipe closed.
fn to_first_byte(command: &mut Command) -> Result<Sample, String> {
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = process::start(command)?;
    let mut byte = [0];
    let read = child.stdout.take().map_or(Ok(0), |mut pipe| pipe.read(&mut byte));
    let wall_s = started.elapsed().as_secs_f64();
    let used = child.wait4().map_err(|error| process::cannot("wait for", command, &error))?;
    if read.map_err(|error| process::cannot("measure", command, &error))? == 0 {
        return Err(process::cannot("measure", command, &io::Error::other("no output")));
    }
    Ok(Sample { wall_s, cpu_s: cpu_s(&used), peak_bytes: used.rusage.maxrss })
}

/// Waits for a process that must succeed.
fn ended(child: Child, command: &Command) -> Result<ResUse, String> {
    let used = child.wait4().map_err(|error| process::cannot("wait for", command, &error))?;
    process::judge(command, used.status)?;
    Ok(used)
}

fn cpu_s(used: &ResUse) -> f64 {
    (used.rusage.utime + used.rusage.stime).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::shell;

    #[test]
    fn a_run_has_its_times_and_its_memory() {
        let sample = to_null(&mut shell("sleep 0.05; echo a")).unwrap();
        assert!(sample.wall_s >= 0.05 && sample.cpu_s < sample.wall_s, "{sample:?}");
        assert!(sample.peak_bytes > 100_000, "{sample:?}");
        assert!(to_null(&mut shell("exit 3")).is_err_and(|error| error.ends_with("failed: exit status: 3")));
    }

    #[test]
    fn the_first_byte_ends_the_measurement_not_the_last() {
        // The command writes as long as there is a reader: waiting for its end would take forever.
        let endless = "trap '' PIPE; while echo a 2>/dev/null; do sleep 0.01; done";
        assert!(to_first_byte(&mut shell(endless)).unwrap().wall_s > 0.0);
        assert!(to_first_byte(&mut shell("exit 0")).is_err());
    }
}
