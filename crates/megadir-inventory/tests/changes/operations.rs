//! Random changes of a small tree. Operations of one system only are in a module for each.

use std::fs;
use std::path::{Path, PathBuf};

use megadir_testkit::rng::Rng;

#[cfg(target_os = "linux")]
#[path = "operations/linux.rs"]
mod system;
#[cfg(windows)]
#[path = "operations/windows.rs"]
mod system;

/// Tree that is changed at random. An operation that does not apply to the current tree is not an error.
pub(crate) struct Changer {
    root: PathBuf,
    rng: Rng,
    /// Create hard links to files.
    hard_links: bool,
}

/// Name and function of an operation.
type Named = (&'static str, fn(&mut Changer));

impl Changer {
    pub(crate) fn new(root: &Path, seed: u64, hard_links: bool) -> Self {
        Self { root: root.to_owned(), rng: Rng::new(seed), hard_links }
    }

    pub(crate) fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    /// Creates `entries` entries.
    pub(crate) fn build(&mut self, entries: u64) {
        for _ in 0..entries {
            match self.rng.within(0, 9) {
                0..=2 => drop(fs::create_dir(self.new_path())),
                3 => self.special(),
                4 => self.other_special(),
                _ => self.create(),
            }
        }
    }

    /// Makes one random change; returns its name, for messages.
    pub(crate) fn change(&mut self) -> &'static str {
        let (name, change) = self.rng.pick(system::CHANGES);
        change(self);
        name
    }

    /// All paths below the root, sorted.
    fn paths(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        let mut waiting = vec![self.root.clone()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    waiting.push(entry.path());
                }
                all.push(entry.path());
            }
        }
        // The order of a listing depends on the file system.
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

    /// A random path from a small set of names, so that it often exists already.
    fn new_path(&mut self) -> PathBuf {
        let mut directories = self.paths();
        directories.retain(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_dir()));
        directories.push(self.root.clone());
        let directory = &directories[self.rng.within(0, directories.len() as u64 - 1) as usize];
        directory.join(self.rng.pick(&["a", "b", "c", "d", "a-b", "e.f", "0", "\u{fc}"]))
    }

    fn text(&mut self) -> Vec<u8> {
        let length = self.rng.within(0, 5) as usize;
        let letter = b'a' + self.rng.within(0, 25) as u8;
        vec![letter; length]
    }

    fn make_directory(&mut self) {
        drop(fs::create_dir(self.new_path()));
    }

    fn create(&mut self) {
        let (path, text) = (self.new_path(), self.text());
        if !path.is_symlink() && !path.exists() {
            fs::write(path, text).unwrap();
        }
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

    fn remove(&mut self) {
        let Some(path) = self.any() else { return };
        let is_directory = path.symlink_metadata().unwrap().is_dir();
        if is_directory { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }

    /// Saves like an editor: a new file replaces the old one.
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
        if let Some(path) = self.any_file().filter(|_| self.hard_links) {
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
}
