//! Reads directories and inodes ahead of a walk where the device is slow.

#[cfg(target_os = "linux")]
pub(super) use linux::Ahead;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Ahead;

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CString;
    use std::os::fd::AsFd;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use crate::batch::Batch;
    use crate::decode::Records;
    use crate::dir::Dir;
    use crate::file_system::FileSystem;
    use crate::inodes_ahead::{Below, InodesAhead};

    /// Directories that are read ahead together, at most.
    const DIRECTORIES_MAX: usize = 1024;
    /// The first time, where only names are read: the reader waits for them, and may want no more (`list -r | head`).
    const DIRECTORIES_MIN: usize = 16;

    #[derive(Debug)]
    pub(in super::super) struct Ahead {
        inodes: InodesAhead,
        ends: AtomicBool,
        /// Directories whose names are read ahead together next.
        directories: AtomicUsize,
    }

    impl Ahead {
        pub(in super::super) fn new(file_system: FileSystem) -> Self {
            let (ends, directories) = (AtomicBool::new(false), AtomicUsize::new(DIRECTORIES_MIN));
            Self { inodes: InodesAhead::new(file_system), ends, directories }
        }

        /// Stops reading ahead: the walk is over.
        pub(in super::super) fn stop(&self) {
            self.ends.store(true, Ordering::Relaxed);
        }

        pub(in super::super) fn observe<T>(&self, call: impl FnOnce() -> T) -> T {
            self.inodes.observe(call)
        }

        /// The inodes of a batch that is examined next.
        pub(in super::super) fn read_batch(&self, directory: &Dir, batch: Batch<'_>) {
            if self.inodes.is_of_use() {
                let entries = Records::new(batch.bytes()).filter(|record| !record.is_dot());
                let names = entries.map(|record| (record.inode, record.c_name()));
                self.inodes.read_names(directory.as_fd(), names, &|| self.ends.load(Ordering::Relaxed));
            }
        }

        fn grown(&self) -> usize {
            let directories = self.directories.load(Ordering::Relaxed);
            self.directories.store((2 * directories).min(DIRECTORIES_MAX), Ordering::Relaxed);
            directories
        }

        /// Reads the entries of the directories that are entered next, with their inode numbers and names. Returns their number.
        pub(in super::super) fn read_below<'a>(
            &self,
            directory: &Dir,
            below: impl ExactSizeIterator<Item = (u64, &'a [u8])>,
            scope: Below,
        ) -> usize {
            if !self.inodes.is_of_use() {
                return 0;
            }
            let status = rustix::fs::fstat(directory);
            if status.is_ok_and(|status| self.inodes.are_done_below(status.st_ino)) {
                return below.len();
            }
            let few = below.take(if scope.inodes { DIRECTORIES_MAX } else { self.grown() });
            let names = few.filter_map(|(inode, name)| Some((inode, CString::new(name).ok()?))).collect();
            self.inodes.read_below(directory.as_fd(), names, scope, &|| self.ends.load(Ordering::Relaxed))
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use crate::file_system::FileSystem;

    /// Nothing is read ahead.
    #[derive(Debug)]
    pub(in super::super) struct Ahead;

    #[expect(clippy::unused_self, reason = "the other system's functions need it")]
    impl Ahead {
        pub(in super::super) const fn new(_file_system: FileSystem) -> Self {
            Self
        }

        pub(in super::super) const fn stop(&self) {}

        pub(in super::super) fn observe<T>(&self, call: impl FnOnce() -> T) -> T {
            call()
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use crate::inodes_ahead::tests::with_slow_device;
    use crate::{Dir, StatMask, Walk, WalkItem, WalkOptions, stat_backend};

    fn walked(root: &std::path::Path, options: &WalkOptions) -> Vec<String> {
        let root = Dir::open(root).unwrap();
        let mut walk = Walk::new(root, options).unwrap();
        let mut found = Vec::new();
        while let Some(item) = walk.next_item() {
            let WalkItem::Batch { directory, batch, attributes } = item else { panic!("{item:?}") };
            assert!(attributes.iter().all(|row| row.error == 0));
            assert!(attributes.is_empty() || attributes.len() == batch.len());
            let directory: &std::path::Path = directory.as_ref();
            found.extend(
                batch
                    .entries()
                    .map(|entry| format!("{}/{}", directory.display(), String::from_utf8_lossy(entry.name))),
            );
        }
        found
    }

    #[test]
    fn on_a_slow_device_a_walk_returns_each_entry_once() {
        let scratch = tempfile::tempdir().unwrap();
        for (top, below) in (0..300).flat_map(|top| [(top, "a"), (top, "b/c")]) {
            let directory = scratch.path().join(format!("{top}")).join(below);
            fs::create_dir_all(&directory).unwrap();
            (0..3).for_each(|index| fs::write(directory.join(index.to_string()), "").unwrap());
        }
        let plain = WalkOptions::new(1);
        let expected: BTreeSet<String> = walked(scratch.path(), &plain).into_iter().collect();
        assert_eq!(expected.len(), 300 * (1 + 3 + 6));
        let examine = Some((stat_backend("statx").unwrap(), StatMask::SIZE));
        for options in [
            plain.clone(),
            WalkOptions { examine, ..WalkOptions::new(1) },
            WalkOptions { examine, threads_max: 4, queue_directories_max: 5, ..WalkOptions::new(2) },
        ] {
            let found = with_slow_device(|| walked(scratch.path(), &options));
            assert_eq!(found.len(), expected.len());
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
        }
    }
}
