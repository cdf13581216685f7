//! Directories and users that the bulk stat backends refuse.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use megadir::{Dir, ErrorKind, StatMask, stat_backend};
use megadir_testkit::mount::{Mount, TMPFS};
use megadir_testkit::require;

use crate::support::{PLACES, places};

#[test]
fn other_file_systems_are_refused_in_one_line() {
    let mount = require!(Mount::make(&TMPFS));
    for (name, _) in PLACES {
        for path in [mount.path(), PathBuf::from("/proc")] {
            let error = stat_backend(name).unwrap().probe(&Dir::open(&path).unwrap()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            let message = error.to_string();
            assert!(
                message.contains(&format!(": {name} is for ")) && message.lines().count() == 1,
                "{message}"
            );
        }
    }
}

#[test]
fn users_without_privileges_are_refused_in_one_line() {
    for (stat_backend, mount) in require!(places()) {
        fs::set_permissions(mount.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let directory = Dir::open(mount.path()).unwrap();
        stat_backend.probe(&directory).unwrap();
        let error = std::thread::scope(|scope| {
            let unprivileged = scope.spawn(|| {
                let nobody = rustix::process::Uid::from_raw(65534);
                // The system call changes this thread only; the C library's function would change all.
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
                assert!(stat_backend.start(&directory, StatMask::SIZE).is_err());
                stat_backend.probe(&directory).unwrap_err()
            });
            unprivileged.join().unwrap()
        });
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.reason().ends_with(" needs root or CAP_SYS_ADMIN"), "{error}");
    }
}
