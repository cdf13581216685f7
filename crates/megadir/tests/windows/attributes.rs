//! Attributes from every listing and every stat backend, for directories of all sizes.

use std::fs::{File, FileTimes};
use std::os::windows::fs::FileTimesExt as _;
use std::time::{Duration, UNIX_EPOCH};

use megadir::{AttributeChoice, BACKENDS, Dir, ErrorKind, StatMask, Strategy, Walk, WalkItem, WalkOptions};
use megadir_testkit::require;
use megadir_testkit::tree::Flat;

use super::support::{STANDARD, asking, assert_same, bringing, choice, examined, truth};

/// Sizes of the directories. Outside the full tier, only listings that return all attributes themselves get the
/// largest.
const SIZES: [u64; 5] = [0, 1, 2000, 5000, 100_000];

#[test]
fn every_listing_matches_the_standard_library() {
    let scratch = tempfile::tempdir().unwrap();
    for entries in SIZES {
        let path = Flat::plain(entries).ensure(scratch.path());
        let truth = truth(&path);
        assert_eq!(truth.len() as u64, entries);
        let directory = Dir::open(&path).unwrap();
        let queried = (entries <= 2000 || require::full())
            .then(|| examined(&path, &choice(&directory, BACKENDS[0], "open-each", 64 << 10)).unwrap());
        for backend in bringing(&directory) {
            let buffers: &[usize] = if entries > 5000 { &[64 << 10] } else { &[4 << 10, 64 << 10, 1 << 20] };
            for buffer_bytes in buffers {
                let way = choice(&directory, backend, "listed", *buffer_bytes);
                let rows = examined(&path, &way).unwrap();
                assert!(rows.values().all(|row| row.have == backend.provides()), "{way}");
                assert_same(&rows, &truth, STANDARD, &way.to_string());
                if let Some(queried) = &queried {
                    assert_same(&rows, queried, StatMask::ALL, &way.to_string());
                }
            }
        }
    }
}

#[test]
fn every_stat_backend_matches_the_standard_library() {
    let scratch = tempfile::tempdir().unwrap();
    for entries in SIZES.into_iter().filter(|entries| *entries <= 2000 || require::full()) {
        let path = Flat::plain(entries).ensure(scratch.path());
        let (truth, directory) = (truth(&path), Dir::open(&path).unwrap());
        for stat_backend in asking() {
            for strategy in [
                Strategy::AtOnce,
                Strategy::Chunks { threads: 3 },
                Strategy::Windows { entries: 300, threads: 2 },
            ] {
                let listing = megadir::backend("by-handle").unwrap();
                let way =
                    AttributeChoice { strategy, ..choice(&directory, listing, stat_backend.name(), 4 << 10) };
                assert_same(&examined(&path, &way).unwrap(), &truth, STANDARD, &way.to_string());
            }
        }
    }
}

#[test]
fn times_to_100_ns_and_sizes_beyond_32_bits_are_exact() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path();
    let ages = [
        (0, 100),
        (1, 999_999_900),
        ((1 << 31) - 1, 100),
        (1 << 31, 0),
        (1 << 32, 123_456_700),
        (9_223_372_037, 854_775_800),
    ];
    for (index, (seconds, nanoseconds)) in ages.into_iter().enumerate() {
        let file = File::create(path.join(format!("age-{index}"))).unwrap();
        let time = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        file.set_times(FileTimes::new().set_modified(time).set_created(time)).unwrap();
    }
    for size in [0, 1, (1 << 32) - 1, 1 << 32, (5 << 32) + 77] {
        File::create(path.join(format!("size-{size}"))).unwrap().set_len(size).unwrap();
    }
    std::fs::create_dir(path.join("directory")).unwrap();
    let read_only = path.join("read-only");
    std::fs::write(&read_only, "text").unwrap();
    let mut permissions = std::fs::metadata(&read_only).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&read_only, permissions).unwrap();
    let (truth, directory) = (truth(path), Dir::open(path).unwrap());
    let (row, (seconds, nanoseconds)) = (&truth[&b"age-4"[..]], ages[4]);
    assert_eq!((row.modified.seconds, row.modified.nanoseconds), (seconds as i64, nanoseconds));
    assert_eq!(truth[&b"size-21474836557"[..]].size_bytes, (5 << 32) + 77);
    for backend in bringing(&directory) {
        let way = choice(&directory, backend, "listed", 64 << 10);
        assert_same(&examined(path, &way).unwrap(), &truth, STANDARD, &way.to_string());
    }
    for stat_backend in asking() {
        let way = choice(&directory, BACKENDS[0], stat_backend.name(), 64 << 10);
        assert_same(&examined(path, &way).unwrap(), &truth, STANDARD, &way.to_string());
    }
}

#[test]
fn policy_choice_needs_no_query() {
    let scratch = tempfile::tempdir().unwrap();
    let path = Flat::plain(30).ensure(scratch.path());
    let directory = Dir::open(&path).unwrap();
    for threads in [1, 8] {
        let picked = megadir::attribute_policy::choose(&directory, StatMask::ALL, threads).unwrap();
        assert_eq!((picked.stat_backend.name(), picked.listing.backend.name()), ("listed", "by-handle"));
        let rows = examined(&path, &picked).unwrap();
        assert_same(&rows, &truth(&path), STANDARD, "policy");
        let all = STANDARD | StatMask::CHANGED | StatMask::INODE | StatMask::ALLOCATED | StatMask::ACCESSED;
        assert!(rows.values().all(|row| row.have == all && row.inode != 0), "{rows:?}");
    }
}

#[test]
fn conflicting_file_system_options_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = Dir::open(scratch.path()).unwrap();
    let std = choice(&directory, megadir::backend("std").unwrap(), "listed", 64 << 10);
    let by_handle = choice(&directory, megadir::backend("by-handle").unwrap(), "listed", 64 << 10);
    for (way, words) in [
        (std, "std returns no attributes"),
        (
            AttributeChoice { strategy: Strategy::Chunks { threads: 2 }, ..by_handle },
            "only strategy is at once",
        ),
        (AttributeChoice { strategy: Strategy::Shares, ..by_handle }, "by-handle does not split"),
    ] {
        let error = examined(scratch.path(), &way).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::BadOption, scratch.path()), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn walk_matches_the_standard_library() {
    let scratch = tempfile::tempdir().unwrap();
    for (index, below) in ["", "a", "a/b", "a/c", "d"].into_iter().enumerate() {
        let path = scratch.path().join(below);
        std::fs::create_dir_all(&path).unwrap();
        for file in 0..index * 7 {
            std::fs::write(path.join(format!("{file}")), "x".repeat(index + file)).unwrap();
        }
    }
    for stat_backend in megadir::STAT_BACKENDS {
        for threads in [1, 3] {
            let options = WalkOptions {
                buffer_bytes: 4 << 10,
                threads,
                threads_max: threads,
                read_ahead: megadir::ReadAhead::Auto,
                queue_directories_max: 1,
                cross_mounts: false,
                examine: Some((*stat_backend, StatMask::ALL)),
                report_ends: false,
                looks_again: false,
                conditions: None,
            };
            let mut found = std::collections::BTreeMap::new();
            let mut walk = Walk::new(Dir::open(scratch.path()).unwrap(), &options).unwrap();
            while let Some(item) = walk.next_item() {
                let WalkItem::Batch { directory, batch, attributes } = item else { panic!("{item:?}") };
                assert_eq!(batch.len(), attributes.len());
                let rows: &mut super::support::Rows = found.entry(directory.to_path_buf()).or_default();
                rows.extend(batch.entries().zip(attributes).map(|(entry, row)| (entry.name.to_vec(), *row)));
            }
            assert_eq!(found.len(), 5, "directories that hold something");
            for (directory, rows) in found {
                let label = format!("{} in {}", stat_backend.name(), directory.display());
                assert_same(&rows, &truth(&directory), STANDARD, &label);
            }
        }
    }
}
