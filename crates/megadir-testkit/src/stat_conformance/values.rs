//! Extreme values, subsets of fields, unchanging directories of every size, and entries that are mounted on.
//!
//! Values at the limits of a type are where decoders are wrong. A file system stores only a part of them;
//! [`kept`] measures which, and the caller knows what to expect.

use std::path::{Path, PathBuf};
use std::process::Command;

use megadir::{Dir, StatMask, Time};

use crate::mount::{run, unmount};
use crate::stat_conformance::Ground;
use crate::stat_conformance::ground::FIELDS;
use crate::stat_conformance::trees::{self, ensure, set_modified};
use crate::tree::{Flat, Kinds, Names};

/// Seconds since 1970: before it; around the limits of 32 bits, of 64-bit nanoseconds (2262), of ext4 (2446)
/// and of XFS (2486); and of the type.
const SECONDS: [i64; 21] = [
    i64::MIN,
    -(1 << 40),
    -(1 << 31) - 1,
    -(1 << 31),
    -(1 << 31) + 1,
    -86_401,
    -1,
    0,
    1,
    (1 << 31) - 1,
    1 << 31,
    1 << 32,
    9_223_372_036,
    9_223_372_037,
    15_032_385_535,
    15_032_385_536,
    16_299_260_424,
    16_299_260_425,
    1 << 40,
    i64::MAX - 1,
    i64::MAX,
];

/// Sizes around the limits of 32 bits, of a double, of ext4 and of Linux, bytes.
const SIZES: [u64; 16] = [
    0,
    1,
    4095,
    4097,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    (1 << 32) + 1,
    (1 << 44) - 4096,
    (1 << 44) + 1,
    (1 << 53) - 1,
    (1 << 53) + 1,
    (1 << 60) + 1,
    (1 << 62) + 12_345,
    (1 << 63) - 4096,
    (1 << 63) - 1,
];

/// Range that a file system stores; it clamps or refuses the rest.
/// Found by writing and reading with `std`, so that a limit of the file system is not taken for an error of
/// a stat backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub seconds: (i64, i64),
    pub size_bytes: u64,
}

/// As `std` reads it back; panics if a time within the range changes.
pub fn kept(directory: &Path) -> Kept {
    let path = of_times(directory);
    let mut seconds = Vec::new();
    for wanted in SECONDS {
        for nanoseconds in [0, 1, 999_999_999] {
            let found = trees::of(&path.join(format!("{wanted}.{nanoseconds}"))).modified;
            if found == (Time { seconds: wanted, nanoseconds }) {
                seconds.push(wanted);
            }
        }
    }
    let size_bytes = SIZES.into_iter().filter(|size| of_sizes(directory).join(size.to_string()).exists());
    Kept {
        seconds: (*seconds.first().unwrap(), *seconds.last().unwrap()),
        size_bytes: size_bytes.max().unwrap(),
    }
}

pub(super) fn times(ground: &Ground) {
    ground.check_path(&of_times(&ground.directory), 4 << 10);
}

pub(super) fn sizes_extremes(ground: &Ground) {
    ground.check_path(&of_sizes(&ground.directory), 4 << 10);
}

pub fn of_times(directory: &Path) -> PathBuf {
    ensure(directory, "times", |path| {
        for seconds in SECONDS {
            for nanoseconds in [0, 1, 999_999_999] {
                let path = path.join(format!("{seconds}.{nanoseconds}"));
                std::fs::write(&path, "").unwrap();
                set_modified(&path, Time { seconds, nanoseconds });
            }
        }
    })
}

/// Sparse, and left out where the file system refuses the size.
fn of_sizes(directory: &Path) -> PathBuf {
    ensure(directory, "sizes", |path| {
        for size in SIZES {
            let path = path.join(size.to_string());
            let file = std::fs::File::create_new(&path).unwrap();
            if file.set_len(size).is_err() {
                std::fs::remove_file(&path).unwrap();
            }
        }
    })
}

/// A request for some attributes may take another path than one for all, e.g. a cheaper call.
pub(super) fn subsets(ground: &Ground) {
    let path = trees::kinds(&ground.directory);
    let directory = Dir::open(&path).unwrap();
    if !ground.accepts(&directory) {
        return;
    }
    let truth = trees::oracle(&path);
    let at_once = |want| ground.ways(&directory, want, 32 << 10)[0];
    // One alone, all but one, and pairs: a stat backend that mixes up fields does so there.
    for (index, one) in FIELDS.into_iter().enumerate() {
        ground.same(&directory, &at_once(one), &truth);
        ground.same(&directory, &at_once(StatMask::ALL.without(one)), &truth);
        for other in &FIELDS[..index] {
            ground.same(&directory, &at_once(one | *other), &truth);
        }
    }
    for want in [StatMask::NOTHING, StatMask::SIZE | StatMask::MODIFIED, StatMask::BORN | StatMask::MOUNT] {
        ground.check(&directory, &truth, want, 32 << 10);
    }
}

pub(super) fn kinds(ground: &Ground) {
    let path = trees::kinds(&ground.directory);
    ground.check_path(&path, 4 << 10);
    ground.check_path(&path, 128 << 10);
}

pub(super) fn names(ground: &Ground) {
    for names in Names::ALL {
        // Small directories are stored differently from large ones.
        for entries in [5, 300] {
            let flat = Flat { entries, names, kinds: Kinds::Mixed, seed: 4 };
            ground.check_path(&flat.ensure(&ground.directory), 4 << 10);
        }
    }
}

pub(super) fn sizes_plain(ground: &Ground) {
    // Around 256, and more than a buffer of 4 KiB holds.
    for entries in [0, 1, 255, 256, 257, 2000] {
        let path = trees::various(&ground.directory, entries);
        ground.check_path(&path, 4 << 10);
        if entries > 1000 {
            ground.check_path(&path, 128 << 10);
        }
    }
    assert_eq!(StatMask::ALL.names().count(), FIELDS.len());
}

/// Mounts, unmounted on drop.
#[derive(Default)]
pub(super) struct Mounted {
    on: Vec<PathBuf>,
}

impl Mounted {
    pub(super) fn mount(&mut self, words: &[&str], on: &Path) -> Result<(), String> {
        run(Command::new("mount").args(words).arg(on))?;
        self.on.push(on.to_owned());
        Ok(())
    }

    pub(super) fn end(mut self) -> Result<(), String> {
        std::mem::take(&mut self.on).iter().rev().try_for_each(|on| unmount(on))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        for on in self.on.iter().rev() {
            let _ = unmount(on);
        }
    }
}

/// A mounted root hides the entry below it. Listings return the hidden entry, a stat by name the root; the
/// row must be the root's.
pub(super) fn mounts(ground: &Ground) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let path = ground.directory.join(format!("mounts-{}", ground.stat_backend.name()));
    make_hidden(&path);
    let mut mounted = Mounted::default();
    let elsewhere = path.join("directory-30").to_str().unwrap().to_owned();
    let made = mounted
        .mount(&["-t", "tmpfs", "none"], &path.join("directory-7"))
        .and_then(|()| mounted.mount(&["--bind", &elsewhere], &path.join("directory-12")))
        .and_then(|()| mounted.mount(&["--bind", "/proc/self/status"], &path.join("file-9")));
    made.unwrap();
    ground.settle(&path);
    ground.check_path(&path, 4 << 10);
    drop(mounted);
    // Unmounting reveals the hidden entries.
    ground.check_path(&path, 4 << 10);
    std::fs::remove_dir_all(&path).unwrap();
}

fn make_hidden(path: &Path) {
    std::fs::create_dir(path).unwrap();
    for number in 0..40 {
        std::fs::create_dir(path.join(format!("directory-{number}"))).unwrap();
        std::fs::write(path.join(format!("file-{number}")), "hidden").unwrap();
    }
    std::fs::create_dir(path.join("directory-30/below")).unwrap();
}
