//! What is done on Linux.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use super::{Changer, Named};

/// Every change.
pub(super) const CHANGES: &[Named] = &[
    ("create", Changer::create),
    ("create", Changer::create),
    ("write", Changer::write),
    ("write the same length", Changer::rewrite),
    ("write and set the time back", Changer::rewrite_and_set_back),
    ("rename", Changer::rename),
    ("rename", Changer::rename),
    ("remove", Changer::remove),
    ("chmod", Changer::chmod),
    ("replace", Changer::replace),
    ("make a directory", Changer::make_directory),
    ("make a link", |changer| drop(symlink("elsewhere", changer.new_path()))),
    ("make a hard link", Changer::hard_link),
    ("change the type", Changer::change_type),
    ("swap", Changer::swap),
    ("set a time", Changer::touch),
];

impl Changer {
    /// Makes a link.
    pub(super) fn special(&mut self) {
        drop(symlink("nowhere", self.new_path()));
    }

    /// Makes a pipe.
    pub(super) fn other_special(&mut self) {
        let path = self.new_path();
        let _ = mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0);
    }

    fn swap(&mut self) {
        if let (Some(a), Some(b)) = (self.any(), self.any()) {
            let _ = renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
        }
    }

    fn chmod(&mut self) {
        let mode = self.rng.pick(&[0o700, 0o755, 0o750]);
        if let Some(path) = self.any().filter(|path| !path.is_symlink()) {
            fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
    }

    fn touch(&mut self) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(self.rng.within(1, 1 << 30));
        if let Some(path) = self.any().filter(|path| !path.is_symlink() && (path.is_dir() || path.is_file()))
        {
            fs::File::open(path).unwrap().set_modified(time).unwrap();
        }
    }
}
