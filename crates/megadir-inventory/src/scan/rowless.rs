//! Directories that changed between listing and examination.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::path::TreePath;

/// Their row is missing or outdated: they vanished or were replaced and came back. Their entries are left
/// out.
#[derive(Default)]
pub(super) struct Rowless {
    paths: Mutex<Vec<Vec<u8>>>,
    any: AtomicBool,
}

impl Rowless {
    pub(super) fn add(&self, directory: &TreePath, name: &[u8]) {
        let path = directory.join(name).to_vec();
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        self.any.store(true, Ordering::Release);
    }

    pub(super) fn has(&self, directory: &TreePath) -> bool {
        if !self.any.load(Ordering::Acquire) {
            return false;
        }
        let directory = directory.to_vec();
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|path| {
            directory
                .strip_prefix(&path[..])
                .is_some_and(|rest| rest.first().is_none_or(|&byte| byte == b'/'))
        })
    }
}
