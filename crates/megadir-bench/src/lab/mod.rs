//! The lab: file systems made and mounted for a run, each on its own image, with nothing left behind.
//!
//! Cleanup after `kill -9`:
//!
//! | made | removed because |
//! |---|---|
//! | mount | it is in the run's own mount namespace (`namespace`) |
//! | processes that would hold it | the kernel kills workers and mkfs with the thread that started them, a keeper kills FUSE servers (`server`) |
//! | loop device | detaches itself with its last opener (`disk`) |
//! | image | it has no name (`O_TMPFILE`), or loses its name at once (`image`) |
//! | mount points | they are in a directory with the marker of `workspace`, which the next run removes |
//!
//! A user's device is written to only after `device` has accepted it. The mounts are visible only to the thread
//! that called [`Lab::open`] and its later threads.

#[cfg(target_os = "linux")]
mod availability;
mod backing;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod disk;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod image;
#[cfg(target_os = "linux")]
mod mounted;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod open;
#[cfg(target_os = "linux")]
mod options;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod program;
#[cfg(target_os = "linux")]
mod room;
#[cfg(target_os = "linux")]
mod server;
mod spec;
mod survey;
mod table;

pub use backing::Backing;
#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::LINUX_ONLY;
#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Cold, Lab, Mounted, survey};
pub use error::LabError;
#[cfg(target_os = "linux")]
pub use mounted::{Cold, Mounted};
#[cfg(target_os = "linux")]
pub use open::Lab;
#[cfg(target_os = "linux")]
pub use probe::{facts, probe, survey};
pub use spec::Spec;
pub use survey::{Fact, Survey};
pub use table::{Changes, Entry, FILE_SYSTEMS, LABEL, Takes, Variant};
