//! Trees of files in layouts.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use megadir_testkit::PATIENCE;

use crate::support::{Ran, megadir, run};

/// Name and inode of each file, and its path below the directory.
pub(crate) type Files = BTreeMap<u64, (String, String)>;

/// Creates `t` with files, by the program.
#[track_caller]
pub(crate) fn make(at: &Path, files: u32, layout: &str) {
    let files = files.to_string();
    run(at, &["make", "t", "--quiet", "--size", "0", "--entries", &files, "--layout", layout]).quiet();
}

pub(crate) fn files(top: &Path) -> Files {
    let (mut found, mut folders) = (Files::new(), vec![top.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let status = path.symlink_metadata().unwrap();
            if status.is_dir() {
                folders.push(path);
                continue;
            }
            let text = |path: &Path| path.to_str().unwrap().to_owned();
            let relative = path.strip_prefix(top).unwrap();
            let name = text(Path::new(path.file_name().unwrap()));
            assert!(found.insert(status.ino(), (name, text(relative))).is_none(), "{} twice", path.display());
        }
    }
    found
}

/// Directories below a directory.
pub(crate) fn directories(top: &Path) -> usize {
    let below = std::fs::read_dir(top).unwrap().map(|entry| entry.unwrap().path());
    below.filter(|path| path.is_dir() && !path.is_symlink()).map(|path| 1 + directories(&path)).sum()
}

/// Starts the program, waits until `is_due`, and interrupts it.
#[track_caller]
pub(crate) fn interrupted(at: &Path, words: &[&str], is_due: impl Fn() -> bool) -> Ran {
    let mut child = megadir(at, words).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !is_due() && started.elapsed() < PATIENCE {
        assert!(child.try_wait().unwrap().is_none(), "ended early");
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    Ran { code: output.status.code(), signal: None, out: output.stdout, err }
}

/// Number of files at the top, while the program runs.
pub(crate) fn at_top(at: &Path) -> usize {
    let entries = std::fs::read_dir(at.join("t")).unwrap();
    entries.filter(|entry| entry.as_ref().is_ok_and(|entry| !entry.path().is_dir())).count()
}
