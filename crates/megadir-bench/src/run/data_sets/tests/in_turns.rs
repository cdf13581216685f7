//! Thousands of files, checked through change times and block counts.

use std::os::unix::fs::MetadataExt;

use megadir_record::{ContentKind, MakeDirectories, SizeLaw, Used};

use super::*;

/// Counts like `tree_usage`, with the standard library.
fn counted(path: &Path) -> Used {
    let status = path.metadata().unwrap();
    let bytes = status.blocks() * 512;
    let mut used = Used { files: 0, directories: 1, inodes: 1, content_bytes: 0, bytes };
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let status = entry.metadata().unwrap();
        if status.is_dir() {
            let below = counted(&entry.path());
            used.files += below.files;
            used.directories += below.directories;
            used.inodes += below.inodes;
            used.content_bytes += below.content_bytes;
            used.bytes += below.bytes;
        } else {
            used.files += 1;
            used.inodes += 1;
            used.content_bytes += status.len();
            used.bytes += status.blocks() * 512;
        }
    }
    used
}

#[test]
fn data_sets_are_created_alternately_and_their_space_is_counted() {
    let parent = tempfile::tempdir().unwrap();
    let before = MadeSource {
        directories: MakeDirectories::Before,
        sizes: SizeLaw::LogNormal { sigma: 1.0 },
        size_bytes: 3000,
        content: ContentKind::Json,
        ..layout("prefix:1/1")
    };
    let sets =
        vec![(MadeSource::flat(NameScheme::Md5, 32), 5000), (before, 2500), (layout("prefix:1/1"), 2500)];
    let plan = plan_of(sets);
    let mut events = Vec::new();
    let (volumes, made) = build_in(parent.path(), &plan, &mut events);
    assert!(events.is_sorted_by_key(|progress| progress.done), "progress goes on over all data sets");
    assert!(events.iter().all(|progress| progress.of == 10_000) && events.last().unwrap().done == 10_000);
    for (set, directory) in made.built.sets.iter().zip(&made.directories) {
        assert_eq!(set.used, counted(directory.path()), "{:?}", set.data);
        assert!(set.files_ns > 0);
    }
    let directories = made
        .built
        .sets
        .iter()
        .map(|set| (set.used.files, set.used.directories, set.directories_ns.is_some()));
    let all: Vec<(u64, u64, bool)> = directories.collect();
    // For all but about one seed in 70, 2500 names use all 256 leaves.
    assert_eq!(all, [(5000, 1, false), (2500, 273, true), (2500, 273, false)]);
    assert_eq!(made.built.sets[0].used.content_bytes, 5000 * 32);
    // All sets are half complete before any is complete.
    let inode = |set: usize, index: u64| {
        let (_, files) = &trees(&plan, &plan.data[set]).unwrap()[0];
        let mut buffer = PlaceBuffer::new();
        let path = files.place(index, &mut buffer).unwrap().path().to_vec();
        let path = made.directories[set].path().join(String::from_utf8(path).unwrap());
        path.metadata().unwrap().ctime_nsec() as u64 + path.metadata().unwrap().ctime() as u64 * 1_000_000_000
    };
    let (last_of_halves, first_of_ends) = (
        inode(0, 2500).max(inode(1, 1250)).max(inode(2, 1250)),
        inode(0, 4999).min(inode(1, 2499)).min(inode(2, 2499)),
    );
    assert!(last_of_halves <= first_of_ends);
    volumes.remove(RunControl { stop: &AtomicBool::new(false), heartbeat: &AtomicU64::new(0) }).unwrap();
}
