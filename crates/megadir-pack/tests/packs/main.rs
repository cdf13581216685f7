//! Packs of trees with everything that a tree may have, by this crate, GNU tar and Python.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed assumption in a test is a failed test, which is wanted")]

mod described;
mod hostile;
mod members;
mod others;
mod removed;
mod resumed;
mod round_trip;

use std::ops::ControlFlow;
use std::path::Path;

use megadir_pack::{
    ExtractOptions, Extracted, PackEvent, PackOptions, Packed, Verified, VerifyOptions, extract, pack, verify,
};

/// Packs with shards of this size, and returns the failures.
fn packed(source: &Path, destination: &Path, shard_bytes: u64) -> (Packed, Vec<String>) {
    let mut failures = Vec::new();
    let options = PackOptions { shard_bytes, threads: 2 };
    let packed = pack(source, destination, &options, &mut |event| {
        if let PackEvent::Failed(error) = event {
            failures.push(error.to_string());
        }
        ControlFlow::Continue(())
    });
    (packed.unwrap().unwrap(), failures)
}

fn verified(pack: &Path, source: Option<&Path>) -> (Verified, Vec<String>) {
    let mut problems = Vec::new();
    let options = VerifyOptions { source, threads: 1 };
    let verified = verify(pack, &options, &mut |problem, _| {
        problems.extend(problem.map(ToString::to_string));
        ControlFlow::Continue(())
    });
    (verified.unwrap().unwrap(), problems)
}

fn extracted(pack: &Path, destination: &Path) -> (Extracted, Vec<String>) {
    let mut failures = Vec::new();
    let options = ExtractOptions { conditions: None };
    let extracted = extract(pack, destination, &options, &mut |failure, _| {
        failures.extend(failure.map(ToString::to_string));
        ControlFlow::Continue(())
    });
    (extracted.unwrap().unwrap(), failures)
}
