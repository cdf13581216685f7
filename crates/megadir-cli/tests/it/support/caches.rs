//! The machine's caches, which all tests of this process share.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static CACHES: RwLock<()> = RwLock::new(());

/// Allows a test to drop the caches of the whole machine, once no other test needs them.
pub(crate) fn caches_are_dropped() -> RwLockWriteGuard<'static, ()> {
    CACHES.write().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps other tests from dropping the caches, for a test that counts reads from devices.
pub(crate) fn caches_are_kept() -> RwLockReadGuard<'static, ()> {
    CACHES.read().unwrap_or_else(PoisonError::into_inner)
}
