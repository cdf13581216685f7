//! Traces of a run on the machine: mounts, loop devices, processes, files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;

use crate::support::{output_of, program, text};

/// Copies the program to a world-accessible directory, executable by all users.
pub(crate) fn copy_for_all(directory: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let copy = directory.join("megadir");
    megadir_testkit::mount::copy_program(program(), &copy).expect("copied");
    for path in [directory, &copy] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("opened");
    }
    copy
}

/// Returns an error with the reason if file systems cannot be created here.
pub(crate) fn privileged() -> Result<(), String> {
    let output = output_of(".", &["bench", "filesystems", "ext4", "--json", "--dir", "/tmp"]);
    match text(&output.stdout).contains(r#""available":true,"proven":true"#) {
        true => Ok(()),
        false => {
            Err(format!("ext4 on an image is unavailable: {}{}", text(&output.stdout), text(&output.stderr)))
        }
    }
}

/// Processes that see a mount below a directory.
pub(crate) fn mounts_below(directory: &Path) -> Vec<PathBuf> {
    let wanted = directory.canonicalize().expect("there");
    let wanted = wanted.to_str().expect("UTF-8");
    let sees = |table: &Path| std::fs::read_to_string(table).is_ok_and(|mounts| mounts.contains(wanted));
    tasks().into_iter().map(|task| task.join("mountinfo")).filter(|table| sees(table)).collect()
}

/// Loop devices backed by a file in a directory.
pub(crate) fn loops_below(directory: &Path) -> BTreeSet<String> {
    let directory = directory.canonicalize().expect("there");
    let names = std::fs::read_dir("/sys/block").expect("sysfs");
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let shows = |name: &String| {
        let file = std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file"));
        file.is_ok_and(|file| Path::new(file.trim_end()).starts_with(&directory))
    };
    names.filter(shows).collect()
}

/// Open files below a directory, of all processes: images are unlinked, so they are visible only here.
pub(crate) fn open_below(directory: &Path) -> Vec<PathBuf> {
    let directory = directory.canonicalize().expect("there");
    let mut found = Vec::new();
    for task in tasks() {
        let descriptors = std::fs::read_dir(task.join("fd")).into_iter().flatten().flatten();
        let files = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
        found.extend(files.filter(|file| file.starts_with(&directory)));
    }
    found
}

/// Running descendants of a process, by name.
pub(crate) fn descendants(of: u32) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let mut parents = vec![of];
    let all = processes();
    while let Some(of) = parents.pop() {
        for (process, parent, name) in &all {
            if *parent == of {
                parents.push(*process);
                found.push((*process, name.clone()));
            }
        }
    }
    found
}

/// Every running process with its parent and name.
fn processes() -> Vec<(u32, u32, String)> {
    let known = |path: PathBuf| {
        let status = std::fs::read_to_string(path.join("stat")).ok()?;
        let (head, rest) = status.rsplit_once(") ")?;
        let (process, name) = head.split_once(" (")?;
        let mut fields = rest.split(' ');
        let runs = fields.next()? != "Z";
        runs.then_some((process.parse().ok()?, fields.next()?.parse().ok()?, name.to_owned()))
    };
    numbered(Path::new("/proc")).into_iter().filter_map(known).collect()
}

/// Every thread of every process.
fn tasks() -> Vec<PathBuf> {
    numbered(Path::new("/proc")).iter().flat_map(|process| numbered(&process.join("task"))).collect()
}

/// Entries of a directory whose names are numbers.
fn numbered(directory: &Path) -> Vec<PathBuf> {
    let is_number = |path: &Path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<u32>().is_ok())
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| is_number(path)).collect()
}

/// Waits until `holds` is true; panics with `failure` after a while.
pub(crate) fn soon(failure: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{failure}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Asserts that nothing of a run in a directory is mounted, attached, open or running.
pub(crate) fn assert_nothing_left(directory: &Path, when: &str) {
    soon(&format!("{when}: a loop device is left: {:?}", loops_below(directory)), || {
        loops_below(directory).is_empty()
    });
    soon(&format!("{when}: a mount is left: {:?}", mounts_below(directory)), || {
        mounts_below(directory).is_empty()
    });
    soon(&format!("{when}: a file is open: {:?}", open_below(directory)), || {
        open_below(directory).is_empty()
    });
}
