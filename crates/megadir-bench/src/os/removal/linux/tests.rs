//! Removal never enters mount points, including bind mounts of the same file system.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicU64;

use megadir_testkit::require;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::workspace::Workspace;

use super::remove_content;
use crate::os::{open_and_compare, open_same_mount};

/// A bind mount; unmounted on drop.
struct Bound(PathBuf);

impl Bound {
    fn make(from: &Path, at: &Path) -> Result<Self, String> {
        megadir_testkit::mount::run(Command::new("mount").arg("--bind").args([from, at]))?;
        Ok(Self(at.to_owned()))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let _ = megadir_testkit::mount::run(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

#[test]
fn mounts_on_a_data_set_are_not_emptied() {
    let scratch = tempfile::tempdir().unwrap();
    let outside = scratch.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("victim"), "precious").unwrap();
    let own = Workspace::create(scratch.path()).unwrap();
    drop(own.data_directory("data0").unwrap());
    let data = own.path().join("data0");
    let heartbeat = AtomicU64::new(0);
    let bound = require!(Bound::make(&outside, &data));
    let error = own.renew_data_directory("data0", &heartbeat).unwrap_err();
    assert_eq!(error.to_string(), "something else is mounted in it");
    assert!(own.set_aside_data_directory("data0", "used1").is_err());
    assert_eq!(std::fs::read(outside.join("victim")).unwrap(), b"precious");
    drop(bound);
    std::fs::write(data.join("made"), "").unwrap();
    drop(own.renew_data_directory("data0", &heartbeat).unwrap());
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0);
    own.remove(&heartbeat).unwrap();
}

#[test]
fn a_directory_of_the_same_file_system_that_is_mounted_in_it_is_not_entered() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    for name in ["outside", "own", "own/data0", "own/data0/bound"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    std::fs::write(at("outside/victim"), "precious").unwrap();
    let bound = require!(Bound::make(&at("outside"), &at("own/data0/bound")));
    let open = |name: &str| rustix::fs::open(at(name), FLAGS, Mode::empty()).unwrap();
    let (own, data) = (open("own"), open("own/data0"));
    for opened in [
        open_same_mount(data.as_fd(), "bound"),
        // The fallback for kernels without openat2.
        open_and_compare(data.as_fd(), "bound", FLAGS),
    ] {
        assert_eq!(opened.unwrap_err(), Errno::XDEV);
    }
    let error = remove_content(own.as_fd(), b"", &AtomicU64::new(0)).unwrap_err();
    assert_eq!(error.to_string(), "something else is mounted in it");
    assert_eq!(std::fs::read(at("outside/victim")).unwrap(), b"precious");
    drop(bound);
    assert!(open_and_compare(data.as_fd(), "bound", FLAGS).is_ok());
    remove_content(own.as_fd(), b"", &AtomicU64::new(0)).unwrap();
    assert!(!at("own/data0").exists());
    assert_eq!(std::fs::read(at("outside/victim")).unwrap(), b"precious");
}
