//! Systems other than Linux: there is no lab, so nobody ever has one.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use megadir_record::{FsId, LabFileSystem};

use super::{Backing, LabError, Spec, Survey};
use crate::control::RunControl;
use crate::os::Owned;
use crate::workspace::Leftovers;

/// Why.
pub(crate) const LINUX_ONLY: &str = "file systems are made and mounted for a run on Linux only";

/// A lab, which cannot be had.
#[derive(Debug)]
pub enum Lab {}

/// A file system that is mounted, which cannot be had.
#[derive(Debug)]
pub enum Mounted {}

/// What is cached after a file system was mounted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cold {
    /// Pages of its device.
    pub device_pages: u64,
}

fn refused<T>() -> Result<T, LabError> {
    Err(LabError::Elsewhere { reason: LINUX_ONLY })
}

impl Lab {
    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always [`LabError::Elsewhere`].
    pub fn open(_directory: &Path, _signals: RunControl<'_>) -> Result<Self, LabError> {
        refused()
    }

    /// Refuses.
    ///
    /// # Errors
    ///
    /// Always [`LabError::Elsewhere`].
    pub fn check(
        _directory: &Path,
        _all: &[(Spec, Backing)],
        _signals: RunControl<'_>,
    ) -> Result<(), LabError> {
        refused()
    }

    /// Nobody has one to call this on.
    pub fn leftovers(&self) -> &Leftovers {
        match *self {}
    }

    /// Nobody has one to call this on.
    ///
    /// # Errors
    ///
    /// None.
    pub fn make(
        &self,
        _spec: &Spec,
        _ground: &Backing,
        _signals: RunControl<'_>,
    ) -> Result<Mounted, LabError> {
        match *self {}
    }

    /// Nobody has one to call this on.
    ///
    /// # Errors
    ///
    /// None.
    pub fn close(self, _signals: RunControl<'_>) -> Result<(), LabError> {
        match self {}
    }
}

impl Mounted {
    /// Nobody has one to call this on.
    pub fn path(&self) -> &Path {
        match *self {}
    }

    /// Nobody has one to call this on.
    pub fn spec(&self) -> &Spec {
        match *self {}
    }

    /// Nobody has one to call this on.
    pub fn describe(&self, _id: FsId) -> LabFileSystem {
        match *self {}
    }

    /// Nobody has one to call this on.
    ///
    /// # Errors
    ///
    /// None.
    pub fn open(&self) -> io::Result<Owned> {
        match *self {}
    }

    /// Nobody has one to call this on.
    ///
    /// # Errors
    ///
    /// None.
    pub fn remount(&mut self, _signals: RunControl<'_>) -> Result<Cold, LabError> {
        match *self {}
    }

    /// Nobody has one to call this on.
    ///
    /// # Errors
    ///
    /// None.
    pub fn reformat(&mut self, _signals: RunControl<'_>) -> Result<(), LabError> {
        match *self {}
    }

    /// Nobody has one to call this on.
    ///
    /// # Errors
    ///
    /// None.
    pub fn unmount(self, _signals: RunControl<'_>) -> Result<(), LabError> {
        match self {}
    }
}

/// Refuses.
///
/// # Errors
///
/// Always [`LabError::Elsewhere`].
pub fn survey(
    _directory: &Path,
    _specs: &[Spec],
    _stop: &AtomicBool,
    _beat: &AtomicU64,
) -> Result<Survey, LabError> {
    refused()
}
