//! Real kernel errors while a directory is listed with attributes or a tree is walked: damaged blocks, no
//! descriptors left.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use megadir::{
    Dir, Error, ErrorKind, Result, STAT_BACKENDS, StatBackend, StatMask, Walk, WalkItem, WalkOptions,
};
use megadir_testkit::leaks::{descriptors_below, settled};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::stat_conformance::trees::{Truth, oracle};
use megadir_testkit::stat_conformance::{Ground, drain, once, trees};
use megadir_testkit::tree::{Flat, Kinds, Names};

/// About 200 blocks.
const FLAT: Flat = Flat { entries: 2000, names: Names::Longest, kinds: Kinds::Files, seed: 5 };

/// Stat backends that work in a directory.
fn stat_backends(directory: &Path) -> Vec<&'static dyn StatBackend> {
    let directory = Dir::open(directory).unwrap();
    STAT_BACKENDS.iter().copied().filter(|stat_backend| stat_backend.probe(&directory).is_ok()).collect()
}

/// Overwrites a block of a directory in an unmounted ext4 image.
fn damage(image: &Path, directory: &str, block: usize) -> std::result::Result<(), String> {
    let request = format!("blocks {directory}");
    let output = Command::new("/usr/sbin/debugfs").args(["-R", &request]).arg(image).output();
    let blocks = String::from_utf8(output.map_err(|error| error.to_string())?.stdout).unwrap();
    let block: u64 = blocks.split_whitespace().nth(block).unwrap().parse().unwrap();
    let file = std::fs::File::options().write(true).open(image).unwrap();
    file.write_all_at(&[0xa5; 4096], block * 4096).unwrap();
    Ok(())
}

#[test]
fn a_damaged_block_is_one_error_and_no_wrong_attributes() {
    let mut mount = require!(Mount::make(&mount::EXT4));
    let path = mount.path().join("d");
    trees::ensure(&mount.path(), "d", |path| trees::fill_with(path, &FLAT));
    let mut truth = oracle(&path);
    mount.remount(|image| damage(image, "d", 71)).unwrap();
    // Device and mount numbers may change when the image is mounted again.
    let now = Dir::open(&path).unwrap().attributes(StatMask::ALL).unwrap();
    for row in truth.values_mut() {
        (row.device, row.mount) = (now.device, now.mount);
    }
    for stat_backend in stat_backends(&path) {
        let ground = Ground::new(stat_backend, &mount.path());
        let directory = Dir::open(&path).unwrap();
        for way in ground.ways(&directory, StatMask::ALL, 4 << 10) {
            let examined = drain(Dir::open(&path).unwrap(), &way);
            let error = examined.error.unwrap_or_else(|| panic!("{way}: the block was passed over"));
            assert_eq!((error.kind(), error.path()), (ErrorKind::Io, &*path), "{way}: {error}");
            for (name, row) in once(&examined.rows, &way.to_string()) {
                assert_eq!(ground.wrong(row, &truth[name]), None, "{way}");
            }
            assert_eq!(settled(|| descriptors_below(&path) - 1), 0, "{way}");
        }
        drop(directory);
        for threads in [1, 3] {
            let walked = walk(stat_backend, &mount.path(), threads).unwrap();
            assert_eq!(walked.errors.len(), 1, "{:?}", walked.errors);
            assert_eq!((walked.errors[0].kind(), walked.errors[0].path()), (ErrorKind::Io, &*path));
            let below = walked.rows.get(&path).into_iter().flatten();
            for (name, row) in below {
                assert_eq!(ground.wrong(row, &truth[name]), None);
            }
        }
    }
}

/// Result of a walk.
struct Walked {
    /// By directory and name.
    rows: BTreeMap<PathBuf, Truth>,
    errors: Vec<Error>,
}

fn walk(stat_backend: &'static dyn StatBackend, root: &Path, threads: usize) -> Result<Walked> {
    let options = WalkOptions {
        buffer_bytes: 4 << 10,
        threads,
        threads_max: threads,
        read_ahead: megadir::ReadAhead::Auto,
        queue_directories_max: 4,
        cross_mounts: false,
        examine: Some((stat_backend, StatMask::ALL)),
        report_ends: false,
        looks_again: false,
        conditions: None,
    };
    let mut walked = Walked { rows: BTreeMap::new(), errors: Vec::new() };
    let mut walk = Walk::new(Dir::open(root)?, &options)?;
    while let Some(item) = walk.next_item() {
        match item {
            WalkItem::Batch { directory, batch, attributes } => {
                let of_directory = walked.rows.entry(directory.to_path_buf()).or_default();
                for (entry, row) in batch.entries().zip(attributes) {
                    assert!(of_directory.insert(entry.name.to_vec(), *row).is_none(), "twice");
                }
            }
            WalkItem::Error(error) => walked.errors.push(error),
            other => panic!("{other:?}"),
        }
    }
    Ok(walked)
}

/// The only test here that limits descriptors in this process; others use child processes.
#[test]
fn examining_without_free_descriptors_is_reported() {
    const CHILD: &str = "MEGADIR_TESTKIT_DESCRIPTORS";
    if let Some(path) = std::env::var_os(CHILD) {
        return examine_with_few_descriptors(Path::new(&path));
    }
    let mount = require!(Mount::make(&mount::EXT4));
    let root = trees::ensure(&mount.path(), "root", |path| {
        trees::fill_with(path, &Flat { entries: 500, ..FLAT });
        // Nested directories: a walk keeps unfinished directories open.
        let mut deep = path.to_owned();
        for level in 0..12 {
            deep.push(format!("deeper-{level}"));
            std::fs::create_dir(&deep).unwrap();
            trees::fill(&deep, 5);
        }
    });
    let mut outcomes = [0, 0];
    for descriptors in 5..30 {
        let script = format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"");
        let output = Command::new("sh")
            .args(["-c", &script])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "examining_without_free_descriptors_is_reported",
                "--test-threads=1",
                "--nocapture",
            ])
            .env(CHILD, &root)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "with {descriptors} descriptors: {printed}");
        assert!(printed.contains("1 passed"), "{printed}");
        for (outcome, word) in outcomes.iter_mut().zip(["refused\n", "complete\n"]) {
            *outcome += printed.matches(word).count();
        }
    }
    assert!(outcomes.iter().all(|outcome| *outcome > 20), "both were met: {outcomes:?}");
}

#[expect(clippy::print_stdout, reason = "the parent process counts the lines")]
fn examine_with_few_descriptors(root: &Path) {
    // Without descriptors, a stat backend that needs its own may report itself unavailable.
    let refused = |error: &Error| {
        let kinds = [ErrorKind::TooManyOpenFiles, ErrorKind::Unavailable];
        assert!(kinds.contains(&error.kind()), "{error}");
        println!("refused");
    };
    let directory = match Dir::open(root) {
        Ok(directory) => directory,
        Err(error) => return refused(&error),
    };
    for stat_backend in STAT_BACKENDS {
        let ground = Ground::new(*stat_backend, root);
        for way in ground.ways(&directory, StatMask::ALL, 4 << 10) {
            let Ok(again) = directory.again() else { continue };
            let examined = drain(again, &way);
            match examined.error {
                Some(error) => refused(&error),
                None => {
                    assert_eq!(examined.rows.len(), 501, "{way}");
                    println!("complete");
                }
            }
        }
        for threads in [1, 3] {
            match walk(*stat_backend, root, threads) {
                Err(error) => refused(&error),
                Ok(walked) if walked.errors.is_empty() => {
                    let rows = walked.rows.values().map(BTreeMap::len).sum::<usize>();
                    assert_eq!(rows, 500 + 12 * 6, "without an error nothing is missing");
                }
                Ok(walked) => walked.errors.iter().for_each(refused),
            }
        }
    }
}
