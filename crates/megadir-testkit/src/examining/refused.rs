//! Missing permissions: rows say so and never contain values.

use std::os::unix::fs::{PermissionsExt, chown};

use megadir::{Dir, ErrorKind, Strategy, Want};

use super::Ground;
use super::ground::{Examined, drain};
use super::oracle::oracle;
use super::trees;
use crate::unprivileged::{NOBODY, may_be_listed, unprivileged};

const EACCES: i32 = 13;

pub(super) fn permissions(ground: &Ground) {
    const ENTRIES: u64 = 700;
    // The mount's root may be closed to other users; this directory is reached by descriptor.
    let parent_path = ground.directory.join(format!("permissions-{}", ground.examiner.name()));
    let path = parent_path.join("r--");
    std::fs::create_dir_all(&path).unwrap();
    trees::fill(&path, ENTRIES);
    let parent = Dir::open(&parent_path).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    std::fs::set_permissions(&parent_path, PermissionsExt::from_mode(0o755)).unwrap();
    // May be listed, but not searched.
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o400)).unwrap();
    unprivileged(|| {
        let directory = || parent.open_below(b"r--").unwrap();
        if let Err(refusal) = ground.examiner.probe(&directory()) {
            assert_eq!(refusal.kind(), ErrorKind::Unavailable, "{refusal}");
            return;
        }
        for way in ground.ways(&directory(), Want::ALL, 4 << 10) {
            let Examined { rows, error, .. } = drain(directory(), &way);
            if !may_be_listed(&directory()) {
                assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::PermissionDenied), "{way}");
                continue;
            }
            if way.strategy == Strategy::Shares {
                // Threads reopen the directory, which needs search permission.
                let kind = error.map(|error| error.kind());
                assert_eq!((kind, rows.len()), (Some(ErrorKind::PermissionDenied), 0), "{way}");
                continue;
            }
            assert!(error.is_none(), "{way}: {error:?}");
            assert_eq!(rows.len() as u64, ENTRIES, "{way}");
            for (name, row) in rows {
                let told = (row.error, row.have);
                assert_eq!(told, (EACCES, Want::NOTHING), "{way}: {}", name.escape_ascii());
            }
        }
    });
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::remove_dir_all(&parent_path).unwrap();
}

pub(super) fn nobody(ground: &Ground) {
    for path in [trees::kinds(&ground.directory), trees::various(&ground.directory, 2000)] {
        let directory = Dir::open(&path).unwrap();
        // Attributes do not depend on the reader, so root's oracle serves for all users.
        let truth = oracle(&path);
        unprivileged(|| ground.check(&directory, &truth, Want::ALL, 32 << 10));
    }
}
