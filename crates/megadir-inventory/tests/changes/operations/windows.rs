//! What is done on Windows: modes, pipes and an exchange of names in one call are not there, and symbolic links take a
//! privilege (Wine makes none).

use std::fs;
use std::time::{Duration, SystemTime};

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
    ("replace", Changer::replace),
    ("make a directory", Changer::make_directory),
    ("make a hard link", Changer::hard_link),
    ("change the type", Changer::change_type),
    ("swap", Changer::swap),
    ("set a time", Changer::touch),
];

impl Changer {
    /// Makes a directory with something in it.
    pub(super) fn special(&mut self) {
        let path = self.new_path();
        if fs::create_dir(&path).is_ok() {
            fs::write(path.join("x"), "").unwrap();
        }
    }

    /// Makes a file of two names.
    pub(super) fn other_special(&mut self) {
        self.hard_link();
    }

    /// Exchanges two names by a third.
    fn swap(&mut self) {
        if let (Some(a), Some(b)) = (self.any(), self.any()) {
            let aside = self.root.join("aside~");
            // One may lie in the other.
            if !a.starts_with(&b) && !b.starts_with(&a) && fs::rename(&a, &aside).is_ok() {
                fs::rename(&b, &a).unwrap();
                fs::rename(&aside, &b).unwrap();
            }
        }
    }

    fn touch(&mut self) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(self.rng.within(1, 1 << 30));
        if let Some(path) = self.any_file() {
            fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }
    }
}
