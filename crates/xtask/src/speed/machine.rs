//! Description of the machine and its load, for the head of a report.

use crate::process;
use crate::workspace::Workspace;
use std::process::Command;

/// Returns processor, memory, kernel and the measured commit.
pub(crate) fn describe(workspace: &Workspace) -> Vec<String> {
    let cpu_info = read("/proc/cpuinfo");
    let model = cpu_info.lines().find_map(|line| value(line, "model name")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = read("/proc/meminfo").lines().find_map(|line| value(line, "MemTotal")).map_or(0.0, gib);
    let guest = if cpu_info.contains(" hypervisor") { ", virtual" } else { "" };
    vec![
        format!("Machine: {model}, {cores} processors{guest}, {memory:.1} GiB of memory"),
        format!("Kernel: Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        format!("Commit: {}", commit(workspace)),
    ]
}

/// Returns the load averages.
pub(crate) fn load() -> String {
    read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Returns the text after the colon of a line with this key.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (name, value) = line.split_once(':')?;
    (name.trim() == key).then_some(value.trim())
}

fn gib(text: &str) -> f64 {
    let kib: f64 = text.trim_end_matches(" kB").parse().unwrap_or_default();
    kib / f64::from(1 << 20)
}

fn commit(workspace: &Workspace) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "safe.directory=*", "describe", "--always", "--dirty", "--abbrev=12"]);
    let described = process::output(command.current_dir(&workspace.root));
    described.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_are_read() {
        assert_eq!(value("model name\t: A processor", "model name"), Some("A processor"));
        assert_eq!(value("model\t: 7", "model name"), None);
        assert!((gib("2097152 kB") - 2.0).abs() < 1e-9);
    }
}
