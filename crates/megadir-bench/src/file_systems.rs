//! What can be done on file systems that are asked for, found out before a plan is made over them.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::file_system_facts;
#[cfg(target_os = "linux")]
pub use linux::file_system_facts;

use crate::request::FileSystemFact;

/// What is known before a plan is made over file systems.
#[derive(Debug)]
pub struct LabFacts {
    /// Each file system that was asked for.
    pub file_systems: Vec<FileSystemFact>,
    /// Bytes free for their images.
    pub room_bytes: u64,
}
