//! Connection between a run and its worker processes: messages, handed-over descriptors, and a guarantee that no worker outlives its run.
//!
//! | | Linux | Windows |
//! |---|---|---|
//! | said to a worker | over a socket, its standard input | over a pipe, its standard input |
//! | said by a worker | over the same socket | over a pipe that is handed over |
//! | handed over | `SCM_RIGHTS` | `DuplicateHandle`; the numbers are said in a line, and closed by the run when the worker has answered |
//! | the barrier | a pipe in which nothing is ever written: when its only writing end is closed, all who read it go on | an event |
//! | ends with the run | a signal at the parent's death | a job object that kills with its last handle |
//! | alone with Ctrl-C is the run | process group | process group |

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Barrier, Guest, Host, Link};
#[cfg(windows)]
pub(crate) use windows::{Barrier, Guest, Host, Link};
