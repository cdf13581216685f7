//! The lab: file systems made and mounted for a run, each on an image of its own, that leave nothing behind.
//!
//! ```text
//! Spec::parse("ext4:block=1k") --> Lab::make(spec, Image{bytes}) --> Mounted --path()--> the runner works below it
//!                                                                      | remount(): cold, verified
//!                                                                      v unmount(), or drop
//! ```
//!
//! What is left after `kill -9`, and why nothing is:
//!
//! | made | goes because |
//! |---|---|
//! | mount | it is in a mount namespace of the run's own (`namespace`), which ends with its last thread or process |
//! | processes that would hold it | workers and mkfs are killed by the kernel with the thread that started them, FUSE servers by a keeper (`server`) |
//! | loop device | clears itself when nobody holds it (`disk`) |
//! | image | it never has a name (`O_TMPFILE`), or loses it at once (`image`) |
//! | mount points | they lie in a directory with the marker of `workspace`, which the next run removes |
//!
//! A device of the user's is written to only after `device` has let it pass. Everything here happens in the thread that
//! called [`Lab::open`] and in those it starts later: only they see the mounts.
//!
//! The lab must never know of studies, plans or arms.

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
