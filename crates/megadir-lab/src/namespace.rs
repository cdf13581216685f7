//! The run's own mount namespace, entered once in each thread that opens a lab.

use std::cell::Cell;

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{CapabilitySet, capabilities};

use crate::LabError;

thread_local! {
    static ENTERED: Cell<bool> = const { Cell::new(false) };
}

pub fn may_mount() -> bool {
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Later mounts are invisible to other processes and not kept alive by them.
pub fn enter() -> Result<(), LabError> {
    if ENTERED.get() {
        return Ok(());
    }
    if !may_mount() {
        return Err(LabError::Privileges);
    }
    megadir_sys::mount_namespace::own().map_err(LabError::failed("enter a mount namespace"))?;
    // Shared propagation would also mount everything in the parent namespace.
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(LabError::failed("make the mount namespace private"))?;
    ENTERED.set(true);
    Ok(())
}
