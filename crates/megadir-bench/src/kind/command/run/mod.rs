//! One arm's program, run once in each block.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod unsupported;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Program, printed_otherwise};
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{Program, printed_otherwise};
