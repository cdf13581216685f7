//! Directories in which other file systems are mounted, on directories and on files.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Ground;
use crate::mount::run;

/// What is mounted for one case; unmounted when dropped, the last first.
struct Mounted {
    on: Vec<PathBuf>,
}

impl Mounted {
    fn mount(&mut self, words: &[&str], on: &Path) -> Result<(), String> {
        run(Command::new("mount").args(words).arg(on))?;
        self.on.push(on.to_owned());
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for on in self.on.iter().rev() {
            let _ = run(Command::new("umount").arg(on));
        }
    }
}

pub(super) fn mounts(ground: &Ground) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let path = ground.directory.join(format!("mounts-{}", ground.examiner.name()));
    make(&path);
    let mut mounted = Mounted { on: Vec::new() };
    let made = mounted
        .mount(&["-t", "tmpfs", "none"], &path.join("tmpfs"))
        .and_then(|()| mounted.mount(&["--bind", path.join("other").to_str().unwrap()], &path.join("bound")))
        .and_then(|()| mounted.mount(&["--bind", "/proc/self/status"], &path.join("bound-file")));
    made.unwrap();
    ground.check_path(&path, 4 << 10);
    drop(mounted);
    // What the mounts hid is seen again.
    ground.check_path(&path, 4 << 10);
    std::fs::remove_dir_all(&path).unwrap();
}

fn make(path: &Path) {
    std::fs::create_dir(path).unwrap();
    for directory in ["tmpfs", "bound", "other", "plain"] {
        std::fs::create_dir(path.join(directory)).unwrap();
    }
    for file in ["bound-file", "plain-file", "other/file"] {
        std::fs::write(path.join(file), "hidden").unwrap();
    }
    std::fs::create_dir(path.join("other/directory")).unwrap();
}
