//! Names, types, sizes, modes and modification times of a data set as one number, to notice that a program changed it.
//!
//! It misses a change that keeps all of these, such as a write that restores the time. Contents are not
//! read: that would take long, and warm them.

use crate::control::{Result, RunControl, WorkError};
use crate::dataset::LEVELS_MAX;
use crate::kind::{KEY, OTHER, fold, name_hash};
use crate::os::{At, Borrowed, each_entry_of_run, open_on_this_mount};
use megadir::FileType;

/// `entries` and `paths` decide the message; `attributes` includes both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) entries: u64,
    pub(crate) paths: u64,
    pub(crate) attributes: u64,
}

pub(crate) fn fingerprint(top: Borrowed<'_>, control: RunControl<'_>) -> Result<Fingerprint> {
    let mut found = Fingerprint { entries: 0, paths: 0, attributes: 0 };
    below(top, 0, 0, control, &mut found)?;
    Ok(found)
}

/// Sums are commutative, so the order of the listing does not matter, and no list of the tree is kept: only
/// the directories of the open level. The path is a hash that extends the hash of its parent. A data set that
/// is missing altogether has the fingerprint of an empty one, which is a change like any other.
fn below(
    directory: Borrowed<'_>,
    above: u64,
    depth: usize,
    control: RunControl<'_>,
    found: &mut Fingerprint,
) -> Result<()> {
    let stage = "checking the data set";
    let failed = WorkError::at(stage);
    if depth > LEVELS_MAX {
        return Err(failed(std::io::Error::other("a program created directories that are nested too deep")));
    }
    let mut directories = Vec::new();
    let listed = each_entry_of_run(directory, (stage, control), &mut |name, kind| {
        let path = mix(above, name_hash(name));
        // The size of a directory depends on what it once held.
        let is_directory = kind == FileType::Directory;
        let [size, others @ ..] = attributes(directory, name).map_err(failed)?;
        let values = [if is_directory { 0 } else { size }].into_iter().chain(others);
        found.entries += 1;
        found.paths = found.paths.wrapping_add(path);
        found.attributes = found.attributes.wrapping_add(values.fold(path, mix));
        if is_directory {
            directories.push((name.to_vec(), path));
        }
        Ok(())
    });
    match listed {
        Err(WorkError::Stage { source, .. })
            if depth == 0 && source.kind() == std::io::ErrorKind::NotFound =>
        {
            return Ok(());
        }
        listed => listed?,
    }
    for (name, path) in directories {
        let inside = open_on_this_mount(directory, name.as_slice()).map_err(failed)?;
        below(inside.at(), path, depth + 1, control, found)?;
    }
    Ok(())
}

/// Attributes that only a change of the entry changes.
#[cfg(target_os = "linux")]
fn attributes(directory: Borrowed<'_>, name: &[u8]) -> std::io::Result<[u64; 4]> {
    let status = rustix::fs::statat(directory, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    Ok([status.st_size as u64, status.st_mode.into(), status.st_mtime as u64, status.st_mtime_nsec as u64])
}

#[cfg(windows)]
fn attributes(directory: Borrowed<'_>, name: &[u8]) -> std::io::Result<[u64; 4]> {
    Ok([crate::os::status(directory, name)?.size_bytes, 0, 0, 0])
}

fn mix(state: u64, value: u64) -> u64 {
    fold(state ^ KEY, value ^ OTHER)
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use super::*;

    #[test]
    fn every_change_shows_and_a_look_does_not() {
        let (stop, heartbeat) = (AtomicBool::new(false), AtomicU64::new(0));
        let control = RunControl { stop: &stop, heartbeat: &heartbeat };
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| top.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/b/1"), "x").unwrap();
        std::fs::write(at("2"), "y").unwrap();
        let see = || fingerprint(crate::os::open_directory(top.path()).unwrap().at(), control).unwrap();
        let first = see();
        assert_eq!((first.entries, see()), (4, first));
        let _ = std::fs::read(at("2")).unwrap();
        assert_eq!(see(), first);
        let mut others = vec![first];
        let mut changed = |change: &dyn Fn()| {
            change();
            let now = see();
            assert!(!others.contains(&now), "{others:?}");
            others.push(now);
        };
        changed(&|| std::fs::write(at("2"), "yy").unwrap());
        changed(&|| std::fs::rename(at("2"), at("a/2")).unwrap());
        changed(&|| std::fs::remove_file(at("a/2")).unwrap());
        changed(&|| std::fs::write(at("a/b/3"), "").unwrap());
        let mtime = std::time::SystemTime::UNIX_EPOCH;
        changed(&|| std::fs::File::open(at("a/b/1")).unwrap().set_modified(mtime).unwrap());
        changed(&|| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(at("a/b/1"), std::fs::Permissions::from_mode(0o700)).unwrap();
        });
    }
}
