//! Directories that changed between listing and examination.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Directories whose row is missing or says otherwise, because they vanished or were replaced and came back.
/// Their entries are left out.
#[derive(Default)]
pub(super) struct Rowless {
    paths: Mutex<Vec<Vec<u8>>>,
    any: AtomicBool,
}

impl Rowless {
    pub(super) fn add(&self, directory: &[u8], name: &[u8]) {
        let path = entry_path(directory, name);
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        self.any.store(true, Ordering::Release);
    }

    /// These directories and all below.
    pub(super) fn has(&self, directory: &[u8]) -> bool {
        self.any.load(Ordering::Acquire)
            && self.paths.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|path| {
                directory
                    .strip_prefix(&path[..])
                    .is_some_and(|rest| rest.first().is_none_or(|&byte| is_separator(byte)))
            })
    }
}

fn entry_path(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let separator =
        directory.last().is_none_or(|&last| !is_separator(last)).then_some(std::path::MAIN_SEPARATOR as u8);
    directory.iter().copied().chain(separator).chain(name.iter().copied()).collect()
}

fn is_separator(byte: u8) -> bool {
    std::path::is_separator(char::from(byte))
}
