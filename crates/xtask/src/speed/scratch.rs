//! Folder of a run, and removal of the folders of killed runs.
//!
//! A run holds a lock on a file in its folder. The kernel releases the lock when the process ends, however it
//! ends, so a folder with a free lock is stale.

use std::fs::File;
use std::path::Path;
use tempfile::TempDir;

const PREFIX: &str = "megadir-speed-";
const LOCK: &str = "lock";

/// Folder that is removed when dropped.
pub(crate) struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Removes leftovers of earlier runs in `base`, and creates a folder there.
    pub(crate) fn make(base: &Path) -> Result<Self, String> {
        let cannot = |error: std::io::Error| format!("cannot create a folder in {}: {error}", base.display());
        std::fs::create_dir_all(base).map_err(cannot)?;
        // Absolute: programs get paths below it and run in other folders.
        let base = &std::fs::canonicalize(base).map_err(cannot)?;
        sweep(base).map_err(cannot)?;
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(base).map_err(cannot)?;
        // Locked before it gets its name, so that no other run sees it unlocked.
        let unnamed = folder.path().join("locking");
        let lock = File::create_new(&unnamed).map_err(cannot)?;
        lock.lock().map_err(cannot)?;
        std::fs::rename(&unnamed, folder.path().join(LOCK)).map_err(cannot)?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of dead runs.
fn sweep(base: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(base)? {
        let entry = entry?;
        let path = entry.path();
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        if File::open(path.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok()) {
            println!("removing leftovers of a killed run: {}", path.display());
            std::fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_removed_unless_its_run_still_lives() {
        let base = tempfile::tempdir().unwrap();
        let alive = Scratch::make(base.path()).unwrap();
        let dead = base.path().join(format!("{PREFIX}dead"));
        std::fs::create_dir(&dead).unwrap();
        std::fs::write(dead.join(LOCK), "").unwrap();
        std::fs::write(dead.join("image"), "x").unwrap();
        let foreign = base.path().join("foreign");
        std::fs::create_dir(&foreign).unwrap();

        let second = Scratch::make(base.path()).unwrap();
        assert!(alive.path().is_dir() && second.path().is_dir() && foreign.is_dir());
        assert!(!dead.exists());
        let path = second.path().to_owned();
        drop(second);
        assert!(!path.exists());
    }
}
