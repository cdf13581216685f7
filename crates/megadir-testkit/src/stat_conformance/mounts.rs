//! Directories with other file systems mounted on their directories and files.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Ground;
use crate::mount::{run, unmount};

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
            let _ = unmount(on);
        }
    }
}

pub(super) fn mounts(ground: &Ground) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let path = ground.directory.join(format!("mounts-{}", ground.stat_backend.name()));
    make(&path);
    let mut mounted = Mounted { on: Vec::new() };
    let elsewhere = path.join("directory-30").to_str().unwrap().to_owned();
    let made = mounted
        .mount(&["-t", "tmpfs", "none"], &path.join("directory-7"))
        .and_then(|()| mounted.mount(&["--bind", &elsewhere], &path.join("directory-12")))
        .and_then(|()| mounted.mount(&["--bind", "/proc/self/status"], &path.join("file-9")));
    made.unwrap();
    ground.settle(&path);
    ground.check_path(&path, 4 << 10);
    drop(mounted);
    // Unmounting reveals the hidden entries.
    ground.check_path(&path, 4 << 10);
    std::fs::remove_dir_all(&path).unwrap();
}

fn make(path: &Path) {
    std::fs::create_dir(path).unwrap();
    for number in 0..40 {
        std::fs::create_dir(path.join(format!("directory-{number}"))).unwrap();
        std::fs::write(path.join(format!("file-{number}")), "hidden").unwrap();
    }
    std::fs::create_dir(path.join("directory-30/below")).unwrap();
}
