//! Directories that changed between being listed and being examined, so that nothing in an inventory would say what they are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Directories that a walk enters and that have no row, or none that says that they are: they went, or became something else, between
/// being listed and being examined, and came again. What lies in them is left out.
#[derive(Default)]
pub(super) struct Rowless {
    paths: Mutex<Vec<Vec<u8>>>,
    /// Whether there are any, which is rare.
    any: AtomicBool,
}

impl Rowless {
    pub(super) fn add(&self, directory: &[u8], name: &[u8]) {
        let path = entry_path(directory, name);
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        self.any.store(true, Ordering::Release);
    }

    /// Tells whether a directory is one, or below one.
    pub(super) fn has(&self, directory: &[u8]) -> bool {
        self.any.load(Ordering::Acquire)
            && self.paths.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|path| {
                directory
                    .strip_prefix(&path[..])
                    .is_some_and(|rest| rest.first().is_none_or(|&byte| is_separator(byte)))
            })
    }
}

/// Returns the path of an entry as a walk has it.
fn entry_path(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let separator =
        directory.last().is_none_or(|&last| !is_separator(last)).then_some(std::path::MAIN_SEPARATOR as u8);
    directory.iter().copied().chain(separator).chain(name.iter().copied()).collect()
}

fn is_separator(byte: u8) -> bool {
    std::path::is_separator(char::from(byte))
}
