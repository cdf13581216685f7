//! Programs on this machine: where they are, and their versions.
//!
//! Versions are recorded because a comparison of programs holds for versions. The engine searches `PATH` by
//! its own code, so that a missing program is known before the run, and the search is part of no program's
//! time.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::kind::Kind;
use crate::kind::command::CommandLine;
use crate::request::ProgramFact;

pub(super) const MEGADIR: &str = "{megadir}";

/// Finds the programs of a study in the directories of `path` and runs each with `--version`; `megadir` is the
/// version of the measuring program.
///
/// A line that a shell interprets may name the shell's own command, which has no version.
pub fn program_facts(kind: &Kind, path: Option<&OsStr>, megadir: &str) -> Vec<ProgramFact> {
    let Kind::Command(spec) = kind else { return Vec::new() };
    let mut facts: Vec<ProgramFact> = Vec::new();
    for group in &spec.groups {
        for arm in &group.arms {
            let Some(word) = first_word(&arm.run) else { continue };
            if facts.iter().any(|fact| fact.word == word) {
                continue;
            }
            let version = match find(&word, path) {
                _ if word == MEGADIR => Ok(Some(megadir.to_owned())),
                Ok(found) => Ok(version(&found, !word.contains('/'))),
                Err(_) if group.shell => Ok(None),
                Err(reason) => Err(reason),
            };
            facts.push(ProgramFact { word, version });
        }
    }
    facts
}

/// Program of a line, also of a line that only a shell could run.
pub(super) fn first_word(line: &str) -> Option<String> {
    match CommandLine::parse(line, false) {
        Ok(words) => Some(words.program().to_owned()),
        Err(_) => line.split_whitespace().next().map(str::to_owned),
    }
}

pub(super) fn find(word: &str, path: Option<&OsStr>) -> Result<PathBuf, String> {
    if word.contains('/') {
        let file = Path::new(word);
        return match std::path::absolute(file) {
            Ok(file) if runs(&file) => Ok(file),
            _ => Err(format!("'{word}' is not a program")),
        };
    }
    let folders = path.map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    let found = folders.iter().map(|folder| folder.join(word)).find(|file| runs(file));
    found.ok_or_else(|| format!("`{word}` is not on PATH"))
}

#[cfg(unix)]
fn runs(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|status| status.is_file() && status.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn runs(file: &Path) -> bool {
    file.is_file()
}

/// Kills a child and everything that it started, as long as the child has not been waited for: until then
/// no other group can have its number.
#[cfg(target_os = "linux")]
pub(super) fn kill_group(child: &std::process::Child) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
fn version(_program: &Path, _is_installed: bool) -> Option<String> {
    None
}

/// Version of a program, by the first of the usual options that it knows.
///
/// Some programs know none, but print their name and version before they refuse the option (mkfs.erofs 1.5). What is not
/// installed may be a script that does its work whatever the options are, so it is started once only.
#[cfg(target_os = "linux")]
fn version(program: &Path, is_installed: bool) -> Option<String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let of_refused = |line: &String| {
        let rest = line.strip_prefix(&*name).and_then(|rest| rest.strip_prefix(' '));
        rest.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    let options = if is_installed { &["--version", "-version", "-V"][..] } else { &["--version"] };
    for option in options {
        let (is_known, line) = printed_version(program, option)?;
        if let Some(line) = line.filter(|line| is_known || of_refused(line)) {
            return Some(line);
        }
        if is_known {
            return None;
        }
    }
    None
}

/// Success and version line of what the option prints, on standard error if there is none on standard output; `None` for a
/// program that does not start or end.
///
/// Programs write their version to either stream, and some ignore the option and wait for input or run their
/// work. So the input is empty, the outputs are files in memory that cannot block, and a program that is not
/// done in time is killed with its group. The line is for the record: control characters are removed, and its
/// length is bounded.
#[cfg(target_os = "linux")]
fn printed_version(program: &Path, option: &str) -> Option<(bool, Option<String>)> {
    use std::fs::File;
    use std::io::{Read, Seek};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};
    const WITHIN: Duration = Duration::from_secs(2);
    let memory = || rustix::fs::memfd_create("version", rustix::fs::MemfdFlags::CLOEXEC).map(File::from);
    let mut outputs = [memory().ok()?, memory().ok()?];
    let mut command = Command::new(program);
    command.arg(option).stdin(Stdio::null()).process_group(0);
    command.stdout(outputs[0].try_clone().ok()?).stderr(outputs[1].try_clone().ok()?);
    let mut child = command.spawn().ok()?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if started.elapsed() < WITHIN => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) | Err(_) => {
                kill_group(&child);
                let _ = child.wait();
                break None;
            }
        }
    };
    let is_known = status?.success();
    let first = |outputs: &mut File| {
        let mut text = Vec::new();
        outputs.rewind().and_then(|()| outputs.take(4096).read_to_end(&mut text)).ok()?;
        version_line(&String::from_utf8_lossy(&text))
    };
    let [output, errors] = &mut outputs;
    Some((is_known, first(output).or_else(|| first(errors))))
}

/// The first line with a number, else the first: some programs (eza) print what they are before their version.
#[cfg(target_os = "linux")]
fn version_line(text: &str) -> Option<String> {
    const LETTERS_MAX: usize = 120;
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let has_number = |line: &&str| line.contains(|letter: char| letter.is_ascii_digit());
    let line = lines().find(has_number).or_else(|| lines().next())?;
    Some(line.chars().filter(|letter| !letter.is_control()).take(LETTERS_MAX).collect())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_line_with_the_number_is_the_version() {
        let of = |text: &str| version_line(text);
        assert_eq!(
            of("eza - A modern replacement for ls\nv0.23.5 [+git]\n"),
            Some("v0.23.5 [+git]".to_owned())
        );
        assert_eq!(
            of("\nls (GNU coreutils) 9.10\nCopyright (C) 2026\n"),
            Some("ls (GNU coreutils) 9.10".to_owned())
        );
        assert_eq!(of("Version:\t v5.36.1\n"), Some("Version: v5.36.1".to_owned()));
        assert_eq!(of("a program\nof another user\n"), Some("a program".to_owned()));
        assert_eq!(of("\n\n"), None);
    }
}
