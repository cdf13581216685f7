//! Stubs for systems other than Linux: no lab can be opened, so the methods are unreachable.
//!
//! `Lab` and `Mounted` have no values, which the compiler knows: `match *self {}` needs no body that could
//! be wrong. The signatures repeat the ones of `open.rs` and of `megadir_lab`, so that the engine has no
//! conditions for systems.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use megadir_record::{DiskCounts, FsId, LabFileSystem};

use super::{Backing, LabError, Spec, Survey};
use crate::control::RunControl;
use crate::os::Owned;
use crate::workspace::Leftovers;

pub(crate) const LINUX_ONLY: &str = "file systems can be created for a run on Linux only";

#[derive(Debug)]
pub enum Lab {}

#[derive(Debug)]
pub enum Mounted {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cold {
    pub device_pages: u64,
}

impl Cold {
    pub fn is_cold(&self) -> bool {
        self.device_pages == 0
    }
}

fn refused<T>() -> Result<T, LabError> {
    Err(LabError::Elsewhere { reason: LINUX_ONLY })
}

impl Lab {
    pub fn open(_: &Path, _: RunControl<'_>) -> Result<Self, LabError> {
        refused()
    }

    pub fn check(_: &Path, _: &[(Spec, Backing)], _: RunControl<'_>) -> Result<(), LabError> {
        refused()
    }

    pub fn set_server(&mut self, _: Option<(PathBuf, Vec<OsString>)>) {
        match *self {}
    }

    pub fn leftovers(&self) -> &Leftovers {
        match *self {}
    }

    pub fn make(&self, _: &Spec, _: &Backing, _: RunControl<'_>) -> Result<Mounted, LabError> {
        match *self {}
    }

    pub fn close(self, _: RunControl<'_>) -> Result<(), LabError> {
        match self {}
    }
}

impl Mounted {
    pub fn path(&self) -> &Path {
        match *self {}
    }

    pub fn spec(&self) -> &Spec {
        match *self {}
    }

    pub fn describe(&self, _: FsId) -> LabFileSystem {
        match *self {}
    }

    pub fn memory_used_max(&self) -> Option<u64> {
        match *self {}
    }

    pub fn has_lost_disk(&self) -> bool {
        match *self {}
    }

    pub fn disk_counts(&self) -> Option<DiskCounts> {
        match *self {}
    }

    pub fn exceeded_memory(&self) -> Option<u64> {
        match *self {}
    }

    pub fn open(&self) -> io::Result<Owned> {
        match *self {}
    }

    pub fn remount(&mut self, _: RunControl<'_>) -> Result<Cold, LabError> {
        match *self {}
    }

    pub fn reformat(&mut self, _: RunControl<'_>) -> Result<(), LabError> {
        match *self {}
    }

    pub fn unmount(self, _: RunControl<'_>) -> Result<(), LabError> {
        match self {}
    }
}

pub fn survey(_: &Path, _: &[Spec], _: RunControl<'_>) -> Result<Survey, LabError> {
    refused()
}
