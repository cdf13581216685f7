//! The suite that every backend passes, against the oracle `std`; to add a case, write a function and a line
//! in [`CASES`]. Refusals need a reason and are counted.
//!
//! ```text
//! backend, directory -> Ground -> CASES in order -> Outcome {listed, refused}
//!                         |-- options: two threads and 13 shares, or one of each
//!                         |-- accepts: probe and open agree; a refusal has a reason and is counted
//!                         `-- check: list, compare with `std` by name, inode and type
//! ```
//!
//! The callers compare the numbers of an outcome with what they expect of a file system. So a backend that
//! refuses everything cannot pass.

mod broken;
mod plain;
#[cfg(target_os = "linux")]
mod raw;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use megadir::{Backend, Dir, ErrorKind, ReadOptions};

use crate::seen;
use crate::seen::{Seen, assert_same};

/// A case of a suite. The name completes a sentence that begins with the backend's, and is printed before
/// it runs.
pub struct Case<G> {
    pub name: &'static str,
    pub run: fn(&G),
}

/// Prints a case before it panics.
#[expect(clippy::print_stdout, reason = "shown by the harness when a case fails")]
pub(crate) fn run_cases<G>(of: &str, cases: &[Case<G>], ground: &G) {
    for case in cases {
        let started = std::time::Instant::now();
        println!("{of} {}", case.name);
        (case.run)(ground);
        println!("    {:.2} s", started.elapsed().as_secs_f64());
    }
}

pub static CASES: &[Case<Ground>] = &[
    Case { name: "lists 0, 1, batch-1, batch, batch+1 entries", run: plain::sizes },
    Case { name: "lists 100 000 entries", run: plain::many },
    Case { name: "gives every name unharmed", run: plain::names },
    Case { name: "reads with every size of buffer", run: plain::buffers },
    Case { name: "returns every type", run: plain::types },
    #[cfg(target_os = "linux")]
    Case { name: "asks the inodes if the directory has no types", run: plain::unknown_types },
    Case { name: "gives each reader a position of its own", run: plain::two_readers },
    #[cfg(target_os = "linux")]
    Case { name: "gives cookies that lead on, and the kernel's record lengths", run: raw::cookies },
    Case { name: "gives untouched entries once while others vanish", run: broken::vanishing },
    Case { name: "ends when the directory is removed", run: broken::removed },
    Case { name: "refuses options that it cannot honour", run: broken::options },
    Case { name: "reports missing paths and non-directories", run: broken::paths },
    #[cfg(target_os = "linux")]
    Case { name: "respects permissions", run: broken::permissions },
    Case { name: "gives an error once and nothing after it", run: broken::every_call },
    Case { name: "leaves nothing open when dropped early", run: broken::dropped_early },
];

/// Backend and directory of a run of the suite; counts directories that were listed and refused.
pub struct Ground {
    pub backend: &'static dyn Backend,
    /// Shared by backends whose trees have equal content.
    pub directory: PathBuf,
    listed: AtomicU64,
    refused: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub listed: u64,
    pub refused: u64,
}

pub fn conformance(backend: &'static dyn Backend, directory: &Path) -> Outcome {
    let ground = Ground {
        backend,
        directory: directory.to_owned(),
        listed: AtomicU64::new(0),
        refused: AtomicU64::new(0),
    };
    run_cases(backend.name(), CASES, &ground);
    Outcome { listed: ground.listed.into_inner(), refused: ground.refused.into_inner() }
}

impl Ground {
    /// Backends with threads are divided so that a share is smaller than the directories of most cases.
    pub fn options(&self, buffer_bytes: usize) -> ReadOptions {
        let (threads, shares) = if self.backend.uses_threads() { (2, 13) } else { (1, 1) };
        ReadOptions { resolve_types: true, ..ReadOptions::serial(buffer_bytes) }.divided(threads, shares)
    }

    /// `probe` and `open` must refuse with the same reason.
    pub fn accepts(&self, directory: &Dir) -> bool {
        let Err(refusal) = self.backend.probe(directory) else {
            self.listed.fetch_add(1, Ordering::Relaxed);
            return true;
        };
        assert_eq!(refusal.kind(), ErrorKind::Unavailable, "{refusal}");
        assert!(refusal.reason().len() > 20, "a refusal says why: {refusal}");
        assert_eq!(refusal.path(), directory.path());
        let opened = self.backend.open(directory, &self.options(128 << 10)).map(drop);
        assert_eq!(opened.unwrap_err().reason(), refusal.reason(), "probe and open agree");
        self.refused.fetch_add(1, Ordering::Relaxed);
        false
    }

    pub fn list(&self, directory: &Dir, options: &ReadOptions) -> Option<Vec<Seen>> {
        self.accepts(directory).then(|| seen::list(self.backend, directory, options).unwrap())
    }

    /// Same names, inodes and types, each name once.
    pub fn check(&self, path: &Path, options: &ReadOptions, what: &str) {
        let directory = Dir::open(path).unwrap();
        let Some(found) = self.list(&directory, options) else { return };
        let what = format!("{} {what} {options:?}", self.backend.name());
        assert_same(&seen::identities(&found), &seen::oracle(&directory), &what);
    }
}
