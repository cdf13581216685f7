//! One run of one arm: a fresh process, its wall-clock time, its processor time and its peak memory.
//!
//! Peak memory is the kernel's `ru_maxrss`, which begins with what the starting process had: a floor that [`Floor`]
//! measures, and the reason why this task never holds a listing in memory.

use super::arms::{Arm, DIRECTORY, Sink};
use super::tools::{Program, Tools};
use crate::process;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use wait4::{ResUse, Wait4};

/// What one run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// From before the start to the end (of `wc` too), or to the first byte; seconds.
    pub(crate) wall_s: f64,
    /// User and system time of all threads (and of `wc`), seconds.
    pub(crate) cpu_s: f64,
    /// The largest resident set (not that of `wc`), bytes.
    pub(crate) peak_bytes: u64,
}

/// What stands still while arms run.
pub(crate) struct Bench<'a> {
    /// The programs.
    pub(crate) tools: &'a Tools,
    /// The root of the file system: the working directory of all programs.
    pub(crate) root: &'a Path,
    /// How many files there are.
    pub(crate) entries: u64,
}

impl Bench<'_> {
    /// Returns the command of an arm, its output not yet led anywhere.
    pub(crate) fn command(&self, arm: &Arm) -> Result<Command, String> {
        let mut command = self.program(arm.program)?;
        command.args(arm.options).arg(DIRECTORY).args(arm.expression);
        Ok(command)
    }

    /// Returns a command without options: byte order and no colours for all, no input.
    pub(super) fn program(&self, program: Program) -> Result<Command, String> {
        let tool = self.tools.get(program).ok_or_else(|| format!("no {program:?}"))?;
        let mut command = Command::new(&tool.path);
        command.current_dir(self.root).env("LC_ALL", "C").env_remove("LS_COLORS").stdin(Stdio::null());
        forked(&mut command);
        Ok(command)
    }

    /// Brings a program into memory.
    pub(crate) fn touch(&self, program: Program) -> Result<(), String> {
        process::output(self.program(program)?.arg("--version")).map(|_| ())
    }

    /// Runs an arm once.
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
        // These hold the pipe's ends: wc would never see an end.
        wc.stdin(Stdio::null());
        command.stdout(Stdio::null());
        let mut count = String::new();
        let read = counter.stdout.take().map(|mut pipe| pipe.read_to_string(&mut count));
        let counted = ended(counter, &wc)?;
        let wall_s = started.elapsed().as_secs_f64();
        read.transpose().map_err(|error| process::cannot("measure", command, &error))?;
        let listed = ended(child?, command)?;
        // Some print the directory itself too.
        let plausible = [self.entries, self.entries + 1].map(|lines| lines.to_string());
        if !plausible.iter().any(|lines| lines == count.trim()) {
            let wrong = format!("{} lines instead of {}", count.trim(), self.entries);
            return Err(process::cannot("measure", command, &io::Error::other(wrong)));
        }
        Ok(Sample { wall_s, cpu_s: cpu_s(&listed) + cpu_s(&counted), peak_bytes: listed.rusage.maxrss })
    }
}

/// The peak memory that a process which does nothing is said to have.
pub(crate) struct Floor;

impl Floor {
    /// Returns it, in bytes.
    pub(crate) fn bytes() -> Result<u64, String> {
        let mut command = Command::new("true");
        let child = process::start(forked(&mut command))?;
        Ok(ended(child, &command)?.rusage.maxrss)
    }
}

/// Makes the standard library fork, which it does where the user is to be set.
///
/// Otherwise it lends its memory to the child until that has become the other program, and then the floor is all that
/// this process ever had, mapped files included. A fork costs all contenders the same fraction of a millisecond.
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

/// Runs until the first byte is there; the program then finds its pipe closed, whatever it makes of that.
fn to_first_byte(command: &mut Command) -> Result<Sample, String> {
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = process::start(command)?;
    let mut byte = [0];
    let read = child.stdout.take().map_or(Ok(0), |mut pipe| pipe.read(&mut byte));
    let wall_s = started.elapsed().as_secs_f64();
    let used = child.wait4().map_err(|error| process::cannot("wait for", command, &error))?;
    if read.map_err(|error| process::cannot("measure", command, &error))? == 0 {
        return Err(process::cannot("measure", command, &io::Error::other("it printed nothing")));
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
        // It goes on for as long as anybody reads: who waited for its last byte would wait for ever.
        let endless = "trap '' PIPE; while echo a 2>/dev/null; do sleep 0.01; done";
        assert!(to_first_byte(&mut shell(endless)).unwrap().wall_s > 0.0);
        assert!(to_first_byte(&mut shell("exit 0")).is_err());
    }
}
