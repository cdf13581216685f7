//! The megadir benchmark engine: study, plan, run, events.
//!
//! ```text
//! study file -> Study -+-> plan() -> Plan -> run() -> Event... -> listeners (progress, table, record)
//!            Request --+                       ^
//!                              next(plan, samples) -> Step
//! ```
//!
//! | subject | where |
//! |---|---|
//! | declared experiments | [`study`] |
//! | what is asked of a study, and what the machine can do: plain data | `request` |
//! | study and request to plan; what it will need | [`mod@plan`] |
//! | what comes next: orders, warm-up, voiding | [`mod@next`] |
//! | rounds split over data sets that are made anew | [`epochs`] |
//! | carrying it out | [`runner`] |
//! | what listeners are told; the record's writer | [`event`] |
//! | names, contents, filled directories | [`dataset`] |
//! | the loop for single operations, and its own cost | [`measure`] |
//! | ways of finding out attributes | [`method`] |
//! | what a run may notice | [`note`] |
//! | the run's own directory; its removal, if need be by the next run | `workspace`, `remove` |
//! | what blocks do | `workload` |
//! | calls relative to an open directory, on every system | `at` |
//! | cancellation, heartbeat, errors of blocks | [`control`] |
//! | file systems that are made and mounted for a run | [`lab`] |
//! | what can be done here: by backends, on file systems that are asked for | `backends`, `file_systems` |
//! | states of the cache: had, verified, given back | `cache` |
//! | what was written reaches the disk before what comes next is measured | `write_back` |
//! | machine and noise | `machine`, `noise` |
//!
//! Invariants: `study`, `plan` and `next` are pure · nothing below [`plan()`] has a default · the engine
//! never prints and never reads the environment · whatever it makes lies in a directory of its own, is
//! reached relative to descriptors, and is removed, if need be by the next run.

mod at;
mod backends;
/// Standard streams that were closed when the process began, for the program, which may not ask the system itself.
#[cfg(target_os = "linux")]
pub use megadir_sys::standard_streams;
/// Ctrl-C of a console, for whoever may not ask the system itself.
#[cfg(windows)]
pub use megadir_sys::windows::console;
mod cache;
pub mod control;
pub mod dataset;
mod date;
pub mod epochs;
pub mod event;
mod file_systems;
pub mod lab;
mod machine;
pub mod measure;
pub mod method;
pub mod next;
mod noise;
pub mod note;
pub mod plan;
mod remove;
mod request;
pub mod runner;
pub mod study;
mod workload;
mod workspace;
mod write_back;

pub use backends::{backend_facts, backend_facts_below};
pub use cache::cache_facts;
pub use control::RunControl;
pub use date::record_file_name;
pub use event::{Durable, Event, Listener, Recorder};
pub use file_systems::{LabFacts, file_system_facts};
pub use machine::Program;
pub use method::{METHODS, Method, MethodFact, method_facts};
pub use next::next;
pub use plan::plan;
pub use runner::{RunEnd, RunError, RunRequest, check, run};
pub use workload::{WorkerCommand, serve};
pub use workspace::{Leftovers, find_leftovers as leftovers, remove_leftovers as clean};
