//! Real kernel errors in the middle of a directory: damaged blocks, no descriptors left.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use megadir::{BACKENDS, Dir, ErrorKind, ReadOptions, backend};
use megadir_testkit::leaks::{descriptors_below, settled};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::seen::{Drained, drain, identities, oracle};
use megadir_testkit::tree::{Flat, Kinds, Names};

const FLAT: Flat = Flat { entries: 3000, names: Names::Longest, kinds: Kinds::Files, seed: 5 };

/// Block numbers of a directory in an unmounted ext4 image.
fn blocks(image: &Path, directory: &str) -> Vec<u64> {
    let output = Command::new("/usr/sbin/debugfs")
        .args(["-R", &format!("blocks {directory}")])
        .arg(image)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

#[test]
fn a_damaged_block_is_one_error_wherever_it_lies() {
    let mut mount = require!(Mount::make(&mount::EXT4));
    let path = FLAT.ensure(&mount.path());
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let all = oracle(&Dir::open(&path).unwrap());
    let step = if require::full() { 1 } else { 11 };
    let mut damaged = 1;
    loop {
        let mut kept = Vec::new();
        // Block 0 is the root of the index; the others hold entries.
        let damage = |image: &Path| {
            let blocks = blocks(image, &name);
            assert!(blocks.len() > 200, "{} blocks", blocks.len());
            let Some(block) = blocks.get(damaged) else { return Err("past the last".to_owned()) };
            let file = std::fs::File::options().read(true).write(true).open(image).unwrap();
            kept = vec![0; 4096];
            file.read_exact_at(&mut kept, block * 4096).unwrap();
            file.write_all_at(&[0xa5; 4096], block * 4096).unwrap();
            kept.extend(block.to_le_bytes());
            Ok(())
        };
        if mount.remount(damage).is_err() {
            break;
        }
        fails_once(&path, &all);
        let repair = |image: &Path| {
            let (content, block) = kept.split_at(4096);
            let file = std::fs::File::options().write(true).open(image).unwrap();
            let block = u64::from_le_bytes(block.try_into().unwrap());
            file.write_all_at(content, block * 4096).unwrap();
            Ok(())
        };
        mount.remount(repair).unwrap();
        damaged += step;
    }
    assert!(damaged > 200);
}

/// Reads a directory with a damaged block with every backend.
fn fails_once(path: &Path, all: &[megadir_testkit::seen::Identity]) {
    let directory = Dir::open(path).unwrap();
    for backend in BACKENDS {
        let many = [(1, 1), (2, 16), (3, 200)];
        for (threads, shares) in if backend.uses_threads() { &many[..] } else { &many[..1] } {
            let options = ReadOptions { resolve_types: true, ..ReadOptions::serial(4096) };
            let options = options.divided(*threads, *shares);
            let Drained { seen, error, .. } = drain(&mut *backend.open(&directory, &options).unwrap());
            let error =
                error.unwrap_or_else(|| panic!("{}: a damaged block was passed over", backend.name()));
            assert_eq!((error.kind(), error.path()), (ErrorKind::Io, path), "{error}");
            assert!(
                identities(&seen).iter().all(|identity| all.binary_search(identity).is_ok()),
                "before it: a subset"
            );
        }
    }
    drop(directory);
    assert_eq!(settled(|| descriptors_below(path)), 0);
}

/// The only test here that limits descriptors in this process; others use child processes.
#[test]
fn opening_or_reading_without_free_descriptors_is_reported() {
    const CHILD: &str = "MEGADIR_TESTKIT_DESCRIPTORS";
    if let Some(path) = std::env::var_os(CHILD) {
        return read_with_few_descriptors(Path::new(&path));
    }
    let mount = require!(Mount::make(&mount::EXT4));
    let path = FLAT.ensure(&mount.path());
    let mut outcomes = [0, 0];
    for descriptors in 6..40 {
        let script = format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"");
        let status = Command::new("sh")
            .args(["-c", &script])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "opening_or_reading_without_free_descriptors_is_reported", "--test-threads=1"])
            .env(CHILD, &path)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&status.stdout);
        assert!(status.status.success(), "with {descriptors} descriptors: {printed}");
        outcomes[usize::from(printed.contains("1 passed"))] += 1;
    }
    assert_eq!(outcomes, [0, 34]);
}

fn read_with_few_descriptors(path: &Path) {
    let refused = |error: megadir::Error| assert_eq!(error.kind(), ErrorKind::TooManyOpenFiles, "{error}");
    let directory = match Dir::open(path) {
        Ok(directory) => directory,
        Err(error) => return refused(error),
    };
    for resolve_types in [false, true] {
        let options = ReadOptions { resolve_types, ..ReadOptions::serial(4096) }.divided(16, 64);
        match backend("split").unwrap().open(&directory, &options) {
            Err(error) => refused(error),
            Ok(mut reader) => {
                let drained = drain(&mut *reader);
                match drained.error {
                    Some(error) => refused(error),
                    None => assert_eq!(drained.seen.len() as u64, FLAT.entries),
                }
            }
        }
    }
}
