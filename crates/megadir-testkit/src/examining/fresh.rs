//! Entries changed a moment ago: the disk has old values, statx has the true ones.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use megadir::{Dir, FileSystem, Time};

use super::Ground;
use super::oracle::oracle;
use super::trees::{self, set_modified};

const ENTRIES: u64 = 300;

pub(super) fn fresh(ground: &Ground) {
    let path = ground.directory.join(format!("fresh-{}", ground.examiner.name()));
    std::fs::create_dir(&path).unwrap();
    trees::fill(&path, ENTRIES);
    // Flush everything, so that later changes differ from the disk.
    rustix::fs::syncfs(File::open(&path).unwrap()).unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    change(&paths);
    trees::differ(&path.join("new"), 12_345);
    // One file is open and growing during the examination, another is unlinked but open.
    let mut growing = File::create_new(path.join("growing")).unwrap();
    growing.write_all(&[1; 5000]).unwrap();
    let unlinked = File::create_new(path.join("unlinked")).unwrap();
    std::fs::remove_file(path.join("unlinked")).unwrap();
    still(&path);
    ground.check_path(&path, 4 << 10);
    growing.write_all(&[2; 5000]).unwrap();
    still(&path);
    ground.check_path(&path, 32 << 10);
    change(&paths);
    ground.settle(&path);
    still(&path);
    ground.check_path(&path, 32 << 10);
    drop((growing, unlinked));
    std::fs::remove_dir_all(&path).unwrap();
}

/// Waits until a network server has finished, because the server sets the change time.
fn still(path: &Path) {
    if Dir::open(path).unwrap().file_system() != FileSystem::Fuse {
        return;
    }
    let mut truth = oracle(path);
    loop {
        // Some servers report whole seconds only.
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let before = std::mem::replace(&mut truth, oracle(path));
        if before == truth {
            return;
        }
    }
}

fn change(paths: &[PathBuf]) {
    for (index, entry) in paths.iter().enumerate() {
        match index % 8 {
            0 => File::options().append(true).open(entry).unwrap().write_all(&[7; 70_000]).unwrap(),
            1 => File::options().write(true).open(entry).unwrap().set_len(index as u64).unwrap(),
            2 => std::fs::set_permissions(entry, PermissionsExt::from_mode(0o7000 + index as u32)).unwrap(),
            3 => set_modified(entry, Time { seconds: -(index as i64), nanoseconds: index as u32 }),
            4 => {
                let _ = std::fs::remove_file(entry.with_extension("link"));
                std::fs::hard_link(entry, entry.with_extension("link")).unwrap();
            }
            5 => {
                trees::differ(&entry.with_extension("other"), index as u64);
                std::fs::rename(entry.with_extension("other"), entry).unwrap();
            }
            6 if rustix::process::geteuid().is_root() => chown(entry, Some(index as u32), Some(77)).unwrap(),
            _ if entry.is_file() => {
                std::fs::remove_file(entry).unwrap();
                std::fs::create_dir(entry).unwrap();
            }
            _ => {
                let below = std::fs::read_dir(entry).unwrap().count();
                std::fs::create_dir(entry.join(below.to_string())).unwrap();
            }
        }
    }
}
