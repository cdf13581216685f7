//! The mount namespace of the run's own, entered once in each thread that opens a lab.

use std::cell::Cell;

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{CapabilitySet, capabilities};

use super::LabError;

thread_local! {
    static ENTERED: Cell<bool> = const { Cell::new(false) };
}

/// `true` if this thread may enter a namespace and mount.
pub(super) fn may_mount() -> bool {
    capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Enters a namespace in which nothing that is mounted from now on is seen, or kept, by anybody else.
pub(super) fn enter() -> Result<(), LabError> {
    if ENTERED.get() {
        return Ok(());
    }
    if !may_mount() {
        return Err(LabError::Privileges);
    }
    megadir_sys::mount_namespace::own().map_err(LabError::failed("enter a mount namespace"))?;
    // Else what is mounted here would be mounted in the namespace that this one was copied from too.
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(LabError::failed("make the mount namespace private"))?;
    ENTERED.set(true);
    Ok(())
}
