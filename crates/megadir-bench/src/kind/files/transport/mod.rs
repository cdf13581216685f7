//! Connection between a run and its worker processes: messages, passed descriptors, and a guarantee that no
//! worker outlives its run.
//!
//! | | Linux | Windows |
//! |---|---|---|
//! | messages to a worker | a socket, its standard input | a pipe, its standard input |
//! | messages from a worker | the same socket | a second pipe, passed as a handle |
//! | passed descriptors | `SCM_RIGHTS` | `DuplicateHandle`; a message has the numbers, and the run closes them once the worker has answered |
//! | barrier | a pipe without data, which ends when the run closes the only write end | an event |
//! | end with the run | a parent death signal | a job object with kill on close |
//! | Ctrl-C reaches the run only | process group | process group |

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Barrier, Guest, Host, Link};
#[cfg(windows)]
pub(crate) use windows::{Barrier, Guest, Host, Link};
