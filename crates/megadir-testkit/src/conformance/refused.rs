//! Refusals: options, paths, directories without permission.

use megadir::{BUFFER_BYTES_MAX, BUFFER_BYTES_MIN, Dir, ErrorKind, ReadOptions, SHARES_MAX, THREADS_MAX};

use super::Ground;
use crate::tree::Flat;

pub(super) fn options(ground: &Ground) {
    let path = Flat::plain(5000).ensure(&ground.directory);
    let directory = Dir::open(&path).unwrap();
    let good = ground.options(128 << 10);
    let mut bad = vec![
        ReadOptions { buffer_bytes: 0, ..good },
        ReadOptions { buffer_bytes: 279, ..good },
        ReadOptions { buffer_bytes: BUFFER_BYTES_MIN - 1, ..good },
        ReadOptions { buffer_bytes: BUFFER_BYTES_MAX + 1, ..good },
        ReadOptions { threads: 0, ..good },
        ReadOptions { threads: THREADS_MAX + 1, ..good },
        ReadOptions { shares: 0, ..good },
        ReadOptions { shares: SHARES_MAX + 1, ..good },
    ];
    if !ground.backend.uses_threads() {
        bad.push(ReadOptions { threads: 2, ..good });
        bad.push(ReadOptions { shares: 2, ..good });
    }
    for options in bad {
        let Err(error) = ground.backend.open(&directory, &options) else { panic!("accepted {options:?}") };
        assert_eq!(error.kind(), ErrorKind::BadOption, "{options:?}: {error}");
        assert_eq!(error.path(), path);
        assert!(error.to_string().contains(ground.backend.name()), "names itself: {error}");
        assert!(!error.to_string().contains('\n'), "one line: {error}");
    }
    let smallest = ReadOptions { buffer_bytes: BUFFER_BYTES_MIN, ..good };
    ground.check(&path, &smallest, "smallest buffer");
}

pub(super) fn paths(ground: &Ground) {
    let missing = ground.directory.join("missing");
    assert_eq!(Dir::open(&missing).unwrap_err().kind(), ErrorKind::NotFound);
    let file = ground.directory.join(format!("file-{}", ground.backend.name()));
    std::fs::write(&file, "").unwrap();
    let error = Dir::open(&file).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::NotADirectory, &*file));
    std::fs::remove_file(&file).unwrap();
    #[cfg(unix)]
    links(ground);
}

/// A symbolic link is followed if the caller named it, never below.
#[cfg(unix)]
fn links(ground: &Ground) {
    let parent = Dir::open(&ground.directory).unwrap();
    let link = ground.directory.join(format!("link-{}", ground.backend.name()));
    std::os::unix::fs::symlink(Flat::plain(1).ensure(&ground.directory), &link).unwrap();
    ground.check(&link, &ground.options(4 << 10), "link");
    let below = parent.open_below(link.file_name().unwrap().as_encoded_bytes());
    assert_eq!(below.unwrap_err().kind(), ErrorKind::NotADirectory);
    std::fs::remove_file(&link).unwrap();
}

#[cfg(target_os = "linux")]
pub(super) fn permissions(ground: &Ground) {
    use crate::seen::{Seen, drain};
    use crate::unprivileged::{NOBODY, may_be_listed, unprivileged};
    use megadir::Result;
    use std::os::unix::fs::{PermissionsExt, chown};
    const ENTRIES: u64 = 3000;
    // The mount's root may be closed to other users; this directory is reached by descriptor.
    let parent_path = ground.directory.join(format!("permissions-{}", ground.backend.name()));
    std::fs::create_dir(&parent_path).unwrap();
    std::fs::set_permissions(&parent_path, PermissionsExt::from_mode(0o755)).unwrap();
    let parent = Dir::open(&parent_path).unwrap();
    let modes: [(&[u8], u32); 4] = [(b"rwx", 0o700), (b"r--", 0o400), (b"--x", 0o100), (b"---", 0)];
    for (name, mode) in modes {
        let path = parent_path.join(std::str::from_utf8(name).unwrap());
        Flat::plain(ENTRIES).build(&path);
        if rustix::process::geteuid().is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let read = |name: &[u8]| -> Result<Vec<Seen>> {
        unprivileged(|| {
            let directory = parent.open_below(name)?;
            let drained = drain(&mut *ground.backend.open(&directory, &ground.options(4 << 10))?);
            drained.error.map_or(Ok(drained.seen), Err)
        })
    };
    let may_be_listed = |name: &[u8]| unprivileged(|| may_be_listed(&parent.open_below(name).unwrap()));
    for name in [&b"--x"[..], b"---"] {
        let refused = read(name).map(|found| found.len());
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
    for name in [&b"rwx"[..], b"r--"] {
        match read(name) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied && !may_be_listed(name) => {}
            Ok(found) => {
                assert_eq!(found.len() as u64, ENTRIES);
                assert!(found.iter().all(|seen| seen.kind == megadir::FileType::File));
            }
            // Threads reopen the directory, which needs search permission.
            Err(error) if ground.backend.uses_threads() => {
                let expected =
                    if name == b"r--" { ErrorKind::PermissionDenied } else { ErrorKind::Unavailable };
                assert!([expected, ErrorKind::Unavailable].contains(&error.kind()), "{error}");
            }
            Err(error) => panic!("{} {name:?}: {error}", ground.backend.name()),
        }
    }
    for (name, _) in modes {
        let path = parent_path.join(std::str::from_utf8(name).unwrap());
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
    }
    std::fs::remove_dir_all(&parent_path).unwrap();
}
