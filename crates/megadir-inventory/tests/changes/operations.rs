//! Random changes of a small tree.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use megadir_testkit::rng::Rng;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

/// A tree that is changed at random; nothing that fails for what happens to be there is an error.
pub(crate) struct Changer<'a> {
    root: &'a Path,
    rng: Rng,
}

/// What is done, and how.
type Named<'a> = (&'static str, fn(&mut Changer<'a>));

impl<'a> Changer<'a> {
    pub(crate) fn new(root: &'a Path, seed: u64) -> Self {
        Self { root, rng: Rng::new(seed) }
    }

    pub(crate) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Makes so many entries.
    pub(crate) fn build(&mut self, entries: u64) {
        for _ in 0..entries {
            match self.rng.within(0, 9) {
                0..=2 => drop(fs::create_dir(self.new_path())),
                3 => drop(symlink("nowhere", self.new_path())),
                4 => self.fifo(),
                _ => self.create(),
            }
        }
    }

    /// Changes something; returns what, for messages.
    pub(crate) fn change(&mut self) -> &'static str {
        let kinds: [Named<'a>; 16] = [
            ("create", Self::create),
            ("create", Self::create),
            ("write", Self::write),
            ("write the same length", Self::rewrite),
            ("write and set the time back", Self::rewrite_and_set_back),
            ("rename", Self::rename),
            ("rename", Self::rename),
            ("remove", Self::remove),
            ("chmod", Self::chmod),
            ("replace", Self::replace),
            ("make a directory", |changer| drop(fs::create_dir(changer.new_path()))),
            ("make a link", |changer| drop(symlink("elsewhere", changer.new_path()))),
            ("make a hard link", Self::hard_link),
            ("change the type", Self::change_type),
            ("swap", Self::swap),
            ("set a time", Self::touch),
        ];
        let (name, change) = self.rng.pick(&kinds);
        change(self);
        name
    }

    /// Returns every path below the root, sorted.
    fn paths(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        let mut waiting = vec![self.root.to_owned()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    waiting.push(entry.path());
                }
                all.push(entry.path());
            }
        }
        // The order of a listing differs by file system.
        all.sort();
        all
    }

    fn any(&mut self) -> Option<PathBuf> {
        let paths = self.paths();
        (!paths.is_empty()).then(|| paths[self.rng.within(0, paths.len() as u64 - 1) as usize].clone())
    }

    fn any_file(&mut self) -> Option<PathBuf> {
        self.any().filter(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_file()))
    }

    /// Returns a path in some directory, one of few names, so that it is often taken.
    fn new_path(&mut self) -> PathBuf {
        let mut directories = self.paths();
        directories.retain(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir()));
        directories.push(self.root.to_owned());
        let directory = &directories[self.rng.within(0, directories.len() as u64 - 1) as usize];
        directory.join(self.rng.pick(&["a", "b", "c", "d", "a-b", "e.f", "0", "\u{fc}"]))
    }

    fn text(&mut self) -> Vec<u8> {
        let length = self.rng.within(0, 5) as usize;
        let letter = b'a' + self.rng.within(0, 25) as u8;
        vec![letter; length]
    }

    fn create(&mut self) {
        let (path, text) = (self.new_path(), self.text());
        if !path.is_symlink() && !path.exists() {
            fs::write(path, text).unwrap();
        }
    }

    fn fifo(&mut self) {
        let path = self.new_path();
        let _ = mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0);
    }

    fn write(&mut self) {
        let text = self.text();
        if let Some(path) = self.any_file() {
            fs::write(path, text).unwrap();
        }
    }

    fn rewrite(&mut self) {
        if let Some(path) = self.any_file() {
            let mut text = fs::read(&path).unwrap();
            text.iter_mut().for_each(|byte| *byte ^= 1);
            fs::write(path, text).unwrap();
        }
    }

    fn rewrite_and_set_back(&mut self) {
        let Some(path) = self.any_file() else { return };
        let before = path.metadata().unwrap().modified().unwrap();
        let mut text = fs::read(&path).unwrap();
        text.iter_mut().for_each(|byte| *byte ^= 1);
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    }

    fn rename(&mut self) {
        let to = self.new_path();
        if let Some(from) = self.any() {
            let _ = fs::rename(from, to);
        }
    }

    fn swap(&mut self) {
        if let (Some(a), Some(b)) = (self.any(), self.any()) {
            let _ = renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
        }
    }

    fn remove(&mut self) {
        let Some(path) = self.any() else { return };
        let is_directory = path.symlink_metadata().unwrap().is_dir();
        if is_directory { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    fn chmod(&mut self) {
        let mode = self.rng.pick(&[0o700, 0o755, 0o750]);
        if let Some(path) = self.any().filter(|path| !path.is_symlink()) {
            fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
    }

    /// As editors write: a new file takes the place of the old one.
    fn replace(&mut self) {
        let text = self.text();
        if let Some(path) = self.any_file() {
            let new = path.with_file_name("new~");
            fs::write(&new, text).unwrap();
            fs::rename(new, path).unwrap();
        }
    }

    fn hard_link(&mut self) {
        let to = self.new_path();
        if let Some(path) = self.any_file() {
            let _ = fs::hard_link(path, to);
        }
    }

    fn change_type(&mut self) {
        let Some(path) = self.any() else { return };
        self.rng.next_u64();
        match path.symlink_metadata().unwrap().is_dir() {
            true => {
                fs::remove_dir_all(&path).unwrap();
                fs::write(path, "x").unwrap();
            }
            false => {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
                fs::write(path.join("x"), "x").unwrap();
            }
        }
    }

    fn touch(&mut self) {
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(self.rng.within(1, 1 << 30));
        if let Some(path) = self.any().filter(|path| !path.is_symlink() && (path.is_dir() || path.is_file()))
        {
            fs::File::open(path).unwrap().set_modified(time).unwrap();
        }
    }
}
