//! Reads inodes ahead of a removal where the device is slow, so that the removal itself finds all in memory.

use super::window::Window;
use super::worker::Worker;

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::AsFd;

    use super::{Window, Worker};
    use crate::conditions::Conditions;
    use crate::inodes_ahead::Below;

    /// Directories that are read ahead together, at most.
    const DIRECTORIES_MAX: usize = 1024;
    /// Some hundred entries.
    const LARGE_BYTES: usize = 32 << 10;

    impl Worker<'_, '_, '_> {
        /// The inodes of the entries that are removed next.
        pub(in super::super) fn read_window_ahead(&self, window: &Window) {
            let ahead = &self.shared.ahead;
            let Some(descriptor) = self.stack.last().and_then(|frame| frame.descriptor.as_ref()) else {
                return;
            };
            if window.bytes() >= LARGE_BYTES {
                ahead.look(descriptor.as_fd(), window.listed());
            }
            if ahead.is_of_use() {
                let entries = window.listed().filter(|record| !record.is_dot());
                let names = entries.map(|record| (record.inode, record.c_name()));
                ahead.read_names(descriptor.as_fd(), names, &|| self.shared.progress.is_cancelled());
            }
        }

        /// The directories that are entered next, and what is in them.
        pub(in super::super) fn read_below_ahead(&mut self) {
            let ahead = &self.shared.ahead;
            let Some(frame) = self.stack.last_mut() else { return };
            if frame.ahead > 0 || !ahead.is_of_use() {
                frame.ahead = frame.ahead.saturating_sub(1);
                return;
            }
            let Some(descriptor) = &frame.descriptor else { return };
            let is_done =
                rustix::fs::fstat(descriptor).is_ok_and(|status| ahead.are_done_below(status.st_ino));
            let names: Vec<_> =
                frame.below.listed().take(DIRECTORIES_MAX).map(|name| (0, name.to_owned())).collect();
            let all = names.len();
            let limits_sight = self.shared.options.conditions.is_some_and(Conditions::limits_sight);
            let below = Below { inodes: true, all_levels: !limits_sight };
            frame.ahead = match is_done {
                true => all,
                false => ahead
                    .read_below(descriptor.as_fd(), names, below, &|| self.shared.progress.is_cancelled()),
            };
            frame.ahead = frame.ahead.saturating_sub(1);
        }
    }
}

#[cfg(windows)]
impl Worker<'_, '_, '_> {
    #[expect(clippy::unused_self, reason = "the other system's function needs it")]
    pub(super) const fn read_window_ahead(&self, _window: &Window) {}

    #[expect(clippy::unused_self, reason = "the other system's function needs it")]
    pub(super) const fn read_below_ahead(&mut self) {}
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::path::Path;

    use crate::conditions::Conditions;
    use crate::inodes_ahead::tests::with_slow_device;
    use crate::remove::{Counts, Progress, RemoveOptions, remove_contents, remove_tree};
    use crate::{Dir, names};

    const LARGE: usize = 500;

    /// A large directory and two levels of small ones; returns the number of files and links, and of directories.
    fn filled(tree: &Path) -> (u64, u64) {
        let file = |path: &Path| fs::write(path, "").unwrap();
        fs::create_dir_all(tree.join("large")).unwrap();
        (0..LARGE).for_each(|index| file(&tree.join("large").join(index.to_string())));
        for (top, below) in (0..40).flat_map(|top| [(top, 0), (top, 1)]) {
            let directory = tree.join(format!("{top}/{below}"));
            fs::create_dir_all(&directory).unwrap();
            (0..3).for_each(|index| file(&directory.join(index.to_string())));
            std::os::unix::fs::symlink(tree.parent().unwrap().join("outside"), directory.join("link"))
                .unwrap();
        }
        (LARGE as u64 + 80 * 4, 2 + 40 + 80)
    }

    #[test]
    fn on_a_slow_device_all_is_removed_and_nothing_outside() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("outside")).unwrap();
        fs::write(scratch.path().join("outside/file"), "").unwrap();
        for workers in [None, Some(1), Some(3)] {
            let tree = scratch.path().join("tree");
            let (entries, directories) = filled(&tree);
            let options = RemoveOptions::new(workers, &|failure| panic!("{failure}"));
            let parent = Dir::open(scratch.path()).unwrap();
            let name = names::from_os(tree.file_name().unwrap());
            let removed =
                with_slow_device(|| remove_tree(&parent, name, &options, &Progress::new())).unwrap();
            assert!(removed.complete && !tree.exists(), "{workers:?}");
            let expected = Counts { entries, directories, ..Counts::default() };
            assert_eq!(removed.counts, expected, "{workers:?}");
            assert!(scratch.path().join("outside/file").exists());
        }
    }

    #[test]
    fn on_a_slow_device_excluded_entries_stay() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("outside")).unwrap();
        let tree = scratch.path().join("tree");
        let (entries, directories) = filled(&tree);
        let exclude = crate::Globs::of_names(&["large"]).unwrap();
        let conditions = Conditions { exclude, ..Conditions::default() };
        let options = RemoveOptions {
            conditions: Some(&conditions),
            ..RemoveOptions::new(None, &|failure| panic!("{failure}"))
        };
        let directory = Dir::open(&tree).unwrap();
        let removed = with_slow_device(|| remove_contents(&directory, &options, &Progress::new())).unwrap();
        assert_eq!(removed.counts.entries, entries - LARGE as u64);
        assert_eq!(removed.counts.directories, directories - 2);
        assert_eq!(fs::read_dir(tree.join("large")).unwrap().count(), LARGE);
    }
}
