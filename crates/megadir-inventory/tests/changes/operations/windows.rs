//! Operations on Windows, without modes, FIFOs, atomic exchange of names, and symbolic links, which take a
//! privilege (Wine cannot create them).

use std::fs;
use std::time::{Duration, SystemTime};

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
    ("replace", Changer::replace),
    ("make a directory", Changer::make_directory),
    ("make a hard link", Changer::hard_link),
    ("change the type", Changer::change_type),
    ("swap", Changer::swap),
    ("set a time", Changer::touch),
];

impl Changer {
    /// Creates a non-empty directory.
    pub(super) fn special(&mut self) {
        let path = self.new_path();
        if fs::create_dir(&path).is_ok() {
            fs::write(path.join("x"), "").unwrap();
        }
    }

    /// Creates a file with two names.
    pub(super) fn other_special(&mut self) {
        self.hard_link();
    }

    /// Exchanges two names through a temporary one.
    fn swap(&mut self) {
        if let (Some(a), Some(b)) = (self.any(), self.any()) {
            let aside = self.root.join("aside~");
            // One path may be inside the other.
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
