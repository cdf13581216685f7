//! Operations on Linux.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use super::{Changer, Named};

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
    ("rename a directory, take its name again", Changer::take_name_again),
    ("rename a directory, take its name again", Changer::take_name_again),
    ("remove a directory, give its name to another", Changer::give_name),
    ("rename in a circle", Changer::rotate),
];

impl Changer {
    /// Creates a symbolic link.
    pub(super) fn special(&mut self) {
        drop(symlink("nowhere", self.new_path()));
    }

    /// Creates a FIFO.
    pub(super) fn other_special(&mut self) {
        let path = self.new_path();
        let _ = mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0);
    }

    fn swap(&mut self) {
        if let (Some(a), Some(b)) = (self.any(), self.any()) {
            let _ = renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
        }
    }

    fn any_directory(&mut self) -> Option<PathBuf> {
        self.any().filter(|path| !path.is_symlink() && path.is_dir())
    }

    /// Moves some entries to another directory, with or without renaming them.
    fn move_some(&mut self, from: &Path, to: &Path) {
        let mut names: Vec<_> = fs::read_dir(from).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        for name in names {
            if self.rng.chance(50) {
                let new = if self.rng.chance(80) { name.clone() } else { "other".into() };
                let _ = fs::rename(from.join(name), to.join(new));
            }
        }
    }

    fn take_name_again(&mut self) {
        let to = self.new_path();
        let Some(from) = self.any_directory() else { return };
        if to.symlink_metadata().is_err() && fs::rename(&from, &to).is_ok() {
            fs::create_dir(&from).unwrap();
            self.move_some(&to, &from);
        }
    }

    fn give_name(&mut self) {
        let (Some(removed), Some(other)) = (self.any_directory(), self.any_directory()) else { return };
        if !removed.starts_with(&other) && !other.starts_with(&removed) {
            self.move_some(&removed, &other);
            fs::remove_dir_all(&removed).unwrap();
            let _ = fs::rename(other, removed);
        }
    }

    fn rotate(&mut self) {
        if let (Some(a), Some(b), Some(c)) = (self.any(), self.any(), self.any()) {
            let _ = renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE);
            let _ = renameat_with(CWD, &b, CWD, &c, RenameFlags::EXCHANGE);
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
