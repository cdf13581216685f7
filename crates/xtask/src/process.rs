//! Starting other programs, and finding them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Runs `command` with this process's output and without input; an error names it and how it ended.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = show(command);
    println!("$ {shown}");
    let status =
        command.stdin(Stdio::null()).status().map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    judge(&shown, status)
}

/// Runs `command` and returns what it printed; an error carries its complaints.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = show(command);
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    judge(&shown, output.status)
        .map_err(|error| format!("{error}\n{}", String::from_utf8_lossy(&output.stderr).trim_end()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Tells whether `command` can be started and ends well; its output is thrown away.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Waits for `child` for at most `limit`, then kills it.
pub(crate) fn wait_at_most(child: &mut Child, shown: &str, limit: Duration) -> Result<ExitStatus, String> {
    let started = Instant::now();
    loop {
        if let Some(status) =
            child.try_wait().map_err(|error| format!("cannot wait for `{shown}`: {error}"))?
        {
            return Ok(status);
        }
        if started.elapsed() > limit {
            let killed = child.kill().and_then(|()| child.wait());
            let after = if killed.is_ok() { "and was killed" } else { "and could not be killed" };
            return Err(format!("`{shown}` still ran after {} s {after}", limit.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs `command` for at most `limit`, without input; returns how it ended and all that it printed.
///
/// Its output goes through a file-like pipe that is read on a thread, so that it can print any amount.
pub(crate) fn run_at_most(command: &mut Command, limit: Duration) -> Result<(ExitStatus, String), String> {
    let shown = show(command);
    let (mut reader, writer) = std::io::pipe().map_err(|error| format!("cannot make a pipe: {error}"))?;
    let twin = writer.try_clone().map_err(|error| format!("cannot copy a pipe: {error}"))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(twin);
    let mut child = command.spawn().map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    // The command holds the pipe's writing ends: without this the reader would never see an end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let printed = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = reader.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let status = wait_at_most(&mut child, &shown, limit)?;
    let text = printed.join().map_err(|_| format!("lost the output of `{shown}`"))?;
    Ok((status, text))
}

/// Returns where `tool` is: an absolute name as it stands, else on `PATH` or in the folders of system tools.
pub(crate) fn find_tool(tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(system);
    folders.find_map(|folder| Some(folder.join(tool)).filter(|candidate| candidate.is_file()))
}

/// Turns a bad end into an error that names the command.
fn judge(shown: &str, status: ExitStatus) -> Result<(), String> {
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed: {status}")) }
}

/// Returns `command` as a person would type it, with the environment it adds.
pub(crate) fn show(command: &Command) -> String {
    let quote = |text: &std::ffi::OsStr| {
        let text = text.to_string_lossy().into_owned();
        if text.contains(' ') { format!("'{text}'") } else { text }
    };
    let set = command.get_envs().filter_map(|(key, value)| Some((key, value?)));
    let mut words: Vec<String> = set.map(|(key, value)| format!("{}={}", quote(key), quote(value))).collect();
    let program = Path::new(command.get_program());
    let program = program.file_name().filter(|name| *name == "cargo").unwrap_or(program.as_os_str());
    words.push(quote(program));
    words.extend(command.get_args().map(quote));
    words.join(" ")
}
