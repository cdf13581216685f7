//! Processes on several hosts that an MPI launcher started: which launcher, which library, which rank, and messages of
//! bytes between them.
//!
//! ```text
//! environment -> Launcher -> names of libraries -> World { rank, size, hosts } -> agree, send_to_all, gather, meet, barrier
//!                                                                            send, receive
//! ```
//!
//! The library is opened at run time, so no program needs MPI to start. Calls are collective, each rank makes the same calls in
//! the same order, except `send` and `receive`, which are between two ranks. Limits: Linux; one world per process; no rank may be lost.
//!
//! All waits are nonblocking calls of MPI with a test and a pause, so that ranks that wait leave the processor to others.
//!
//! | file | subject |
//! |---|---|
//! | `launcher.rs` | recognises the launcher by the environment, from one table |
//! | `world.rs` | opens the library, compares the ranks, and passes messages; the constants of the three binary interfaces are in `megadir_sys::mpi` |
//! | `attendance.rs` | finds the ranks that a meeting waits for |

mod attendance;
mod launcher;
mod world;

use std::io;
use std::time::Duration;

pub use launcher::Launcher;
pub use world::{Proof, World};

pub const LIBRARY_VARIABLE: &str = "MEGADIR_MPI";

/// Sleeps that become longer, up to 2 ms: a waiting rank leaves the processor to others.
#[derive(Debug, Default)]
pub struct Pause(Duration);

impl Pause {
    pub fn longer(&mut self) -> Duration {
        self.0 = (self.0 * 2).clamp(Duration::from_micros(20), Duration::from_millis(2));
        self.0
    }
}

/// Reason why the processes do not become one world, or no longer are one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "no MPI library was found (tried {}); install Open MPI or MPICH, or set {LIBRARY_VARIABLE} to the library's path",
        .tried.join(", ")
    )]
    NoLibrary { tried: Vec<String> },
    #[error("cannot open the MPI library '{path}' of {LIBRARY_VARIABLE}: {source}")]
    Library { path: String, source: io::Error },
    #[error("no MPI launcher started this process")]
    NoLauncher,
    #[error(
        "{launcher} started {started} processes, but the MPI library '{library}' ({version}) sees {seen}: it belongs to \
         another launcher; use that library's own launcher, or set {LIBRARY_VARIABLE} to a library of {launcher}"
    )]
    OtherLauncher { launcher: &'static str, started: u32, seen: u32, library: String, version: String },
    /// One rank's reason, the same at all ranks.
    #[error("{0}")]
    Disagreement(String),
    #[error("MPI: {0}")]
    Call(#[from] io::Error),
    #[error("MPI is unavailable on this system: it needs Linux")]
    Unsupported,
}
