//! Backend `split` returns the same set of entries as a serial listing, every name once, for any shares,
//! threads and buffers, on real ext4, XFS and btrfs. While another thread creates and unlinks other names,
//! every untouched name still comes once.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]
#![expect(clippy::print_stdout, reason = "how many cases a test tried is worth seeing where it fails")]

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use megadir::{Dir, ErrorKind, FileType, ReadAhead, ReadOptions, backend};
use megadir_testkit::mount::{self, Mount};
use megadir_testkit::require;
use megadir_testkit::require::full;
use megadir_testkit::rng::Rng;
use megadir_testkit::seen::{Identity, Seen, assert_same, drain, identities, list};
use megadir_testkit::tree::{Flat, Kinds, Maker, Names};

/// Time that each test searches for a counterexample.
fn budget() -> Duration {
    Duration::from_secs(if full() { 600 } else { 8 })
}

#[test]
fn the_set_is_the_serial_one_on_ext4() {
    quiet(&require!(Mount::make(&mount::EXT4)).path(), 1);
}

#[test]
fn the_set_is_the_serial_one_on_ext4_with_1k_blocks() {
    quiet(&require!(Mount::make(&mount::EXT4_1K)).path(), 2);
}

#[test]
fn the_set_is_the_serial_one_on_xfs() {
    quiet(&require!(Mount::make(&mount::XFS)).path(), 3);
}

#[test]
fn the_set_is_the_serial_one_on_btrfs() {
    quiet(&require!(Mount::make(&mount::BTRFS)).path(), 4);
}

#[test]
fn untouched_names_are_listed_once_during_writes_on_ext4() {
    busy(&require!(Mount::make(&mount::EXT4)).path(), 5);
}

#[test]
fn untouched_names_are_listed_once_during_writes_on_ext4_with_1k_blocks() {
    busy(&require!(Mount::make(&mount::EXT4_1K)).path(), 6);
}

#[test]
fn untouched_names_are_listed_once_during_writes_on_xfs() {
    busy(&require!(Mount::make(&mount::XFS)).path(), 7);
}

#[test]
fn untouched_names_are_listed_once_during_writes_on_btrfs() {
    busy(&require!(Mount::make(&mount::BTRFS)).path(), 8);
}

/// Random directories that do not change.
fn quiet(mount: &Path, seed: u64) {
    let mut rng = Rng::new(seed);
    let deadline = Instant::now() + budget();
    let mut cases = 0;
    while Instant::now() < deadline || cases == 0 {
        let path = random_directory(&mut rng, mount);
        let directory = Dir::open(&path).unwrap();
        let expected = serial(&directory);
        for _ in 0..12 {
            let options = random_options(&mut rng, expected.len() as u64);
            match list(backend("split").unwrap(), &directory, &options) {
                Ok(found) => {
                    let label = format!("seed {seed}, case {cases}, {options:?}");
                    assert_same(&identities(&found), &expected, &label);
                }
                Err(error) => {
                    // Directories of one block have no index.
                    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                    assert!(directory.size_bytes().unwrap() <= 4096, "{error}");
                }
            }
            cases += 1;
        }
        std::fs::remove_dir_all(&path).unwrap();
    }
    println!("{cases} listings compared");
}

/// Creates a directory of random size and names and usually removes some of them.
fn random_directory(rng: &mut Rng, mount: &Path) -> PathBuf {
    let path = mount.join(format!("d{}", rng.next_u64()));
    let names = rng.pick(&[Names::Plain, Names::Varied, Names::Shortest, Names::Longest]);
    let largest = rng.pick(&[20, 200, 3000, 20_000, 60_000]);
    // An index of 1 KiB blocks is full after about 25 000 names of 255 bytes.
    let largest = if matches!(names, Names::Plain | Names::Shortest) { largest } else { largest / 4 };
    let flat = Flat { entries: rng.within(0, largest), names, kinds: Kinds::Files, seed: rng.next_u64() };
    flat.build(&path);
    let maker = Maker::open(&path);
    match rng.within(0, 3) {
        // Scattered holes.
        0 => {
            for index in 0..flat.entries {
                if rng.chance(30) {
                    maker.remove(&flat.name(index));
                }
            }
        }
        // Remove most entries of a stretch, then create others in part of their place.
        1 if flat.entries > 10 => {
            let from = rng.within(0, flat.entries / 2);
            let to = rng.within(from, flat.entries - 1);
            (from..to).for_each(|index| maker.remove(&flat.name(index)));
            for index in 0..rng.within(0, to - from) {
                maker.make(format!("later-{index}").as_bytes(), FileType::File);
            }
        }
        // Remove all but a few entries of a large directory.
        2 => {
            for index in 0..flat.entries {
                if !rng.chance(1) {
                    maker.remove(&flat.name(index));
                }
            }
        }
        _ => {}
    }
    path
}

fn random_options(rng: &mut Rng, entries: u64) -> ReadOptions {
    let shares = match rng.within(0, 9) {
        // Far more shares than entries, so that most are empty.
        0 => (entries * 3).clamp(1, 4000),
        1 => 64,
        _ => rng.within(1, 64),
    };
    let threads = rng.within(1, 4) as usize;
    ReadOptions {
        buffer_bytes: match rng.within(0, 3) {
            0 => 4 << 10,
            1 => rng.within(4 << 10, 64 << 10) as usize,
            _ => rng.pick(&[8 << 10, 32 << 10, 128 << 10, 1 << 20]),
        },
        threads,
        threads_max: threads + rng.within(0, 4) as usize,
        shares: shares as usize,
        resolve_types: rng.chance(20),
        read_ahead: ReadAhead::Never,
    }
}

fn serial(directory: &Dir) -> Vec<Identity> {
    let options = ReadOptions::serial(64 << 10);
    identities(&list(backend("getdents").unwrap(), directory, &options).unwrap())
}

/// Directories where another thread creates, renames and unlinks names other than the checked ones.
fn busy(mount: &Path, seed: u64) {
    let mut rng = Rng::new(seed);
    let deadline = Instant::now() + budget();
    let mut listings = 0;
    while Instant::now() < deadline || listings == 0 {
        let entries = rng.pick(&[300, 1000, 3000, 10_000]);
        let names = rng.pick(&[Names::Plain, Names::Varied]);
        let flat = Flat { entries, names, kinds: Kinds::Files, seed: rng.next_u64() };
        let path = mount.join("busy");
        flat.build(&path);
        let untouched: HashSet<Vec<u8>> = (0..entries).map(|index| flat.name(index)).collect();
        let until = deadline.min(Instant::now() + Duration::from_secs(3));
        listings += beside_a_writer(&path, &untouched, &mut rng, until);
        std::fs::remove_dir_all(&path).unwrap();
    }
    println!("{listings} listings compared");
}

/// Prefix of the names that the writer creates and unlinks; no untouched name has it.
const TOUCHED: &[u8] = b"touched-";

fn beside_a_writer(path: &Path, untouched: &HashSet<Vec<u8>>, rng: &mut Rng, until: Instant) -> u64 {
    let (stop, changes) = (AtomicBool::new(false), AtomicU64::new(0));
    let seed = rng.next_u64();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(path, untouched.len() as u64, seed, &stop, &changes));
        let listings = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            list_until(path, untouched, rng, until, &changes)
        }));
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        listings.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Creates, renames and unlinks names until `stop`.
fn write(path: &Path, names: u64, seed: u64, stop: &AtomicBool, changes: &AtomicU64) {
    let mut rng = Rng::new(seed);
    let maker = Maker::open(path);
    let mut there = vec![false; names as usize * 2];
    let name = |index: usize| [TOUCHED, index.to_string().as_bytes()].concat();
    while !stop.load(Ordering::Relaxed) {
        let index = rng.within(0, there.len() as u64 - 1) as usize;
        let other = rng.within(0, there.len() as u64 - 1) as usize;
        if !there[index] {
            maker.make(&name(index), FileType::File);
        } else if rng.chance(30) && index != other {
            maker.rename(&name(index), &name(other));
            there[other] = true;
        } else {
            maker.remove(&name(index));
        }
        there[index] = !there[index];
        changes.fetch_add(1, Ordering::Relaxed);
    }
}

fn list_until(
    path: &Path,
    untouched: &HashSet<Vec<u8>>,
    rng: &mut Rng,
    until: Instant,
    changes: &AtomicU64,
) -> u64 {
    let directory = Dir::open(path).unwrap();
    let mut listings = 0;
    // Without a single change by the writer, the listings prove nothing.
    while listings == 0 || changes.load(Ordering::Relaxed) == 0 || Instant::now() < until {
        let buffer_bytes = rng.pick(&[4 << 10, 4 << 10, 16 << 10, 64 << 10]);
        // Shares with one entry or none: both neighbours may take an entry, or neither.
        let shares = rng.pick(&[2, 7, 64, untouched.len(), untouched.len() * 3]).min(2000);
        let options = ReadOptions::serial(buffer_bytes).divided(rng.within(1, 3) as usize, shares);
        let drained = drain(&mut *backend("split").unwrap().open(&directory, &options).unwrap());
        assert!(drained.error.is_none(), "{options:?}: {:?}", drained.error);
        let mut found = HashSet::new();
        for Seen { name, .. } in drained.seen {
            let shown = name.escape_ascii().to_string();
            if name.starts_with(TOUCHED) {
                continue;
            }
            assert!(untouched.contains(&name), "{options:?}: {shown} never existed");
            assert!(found.insert(name), "{options:?}: {shown} came twice");
        }
        assert_eq!(found.len(), untouched.len(), "{options:?}: untouched names are missing");
        listings += 1;
    }
    listings
}
