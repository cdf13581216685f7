//! The megadir benchmark engine: study, plan, run, events.
//!
//! ```text
//! study file -> Study -+-> plan() -> Plan -> run() -> Event... -> listeners (progress, table, record)
//!            Request --+                       ^
//!                              next(plan, samples) -> Step
//! ```
//!
//! Layers, from the lowest; each uses only those above it in this table:
//!
//! | subject | where |
//! |---|---|
//! | cancellation, heartbeat, errors of blocks | [`control`] |
//! | what a run may notice | [`note`] |
//! | operations on open directories, removal, write-back, one file a system | `os` |
//! | a run's own directory, and the removal of those of killed runs | `workspace` |
//! | machine, noise | `host` |
//! | file systems made and mounted for a run | [`lab`] |
//! | names, sizes, contents and paths of files; filling directories | [`dataset`] |
//! | the loop for single operations, and its own cost | [`measure`] |
//! | methods of finding attributes | [`method`] |
//! | what the user asks of a study, and what the machine can do: plain data | `request` |
//! | kinds of work: specification, arms and blocks, one folder each | `kind` |
//! | states of the cache: reached, verified, undone | `cache` |
//! | declared experiments | [`study`] |
//! | study and request to plan, with axes and estimates | [`mod@plan`] |
//! | the next step: orders, warm-up, voiding, epochs | [`schedule`] |
//! | what observers see; the record's writer | [`event`] |
//! | carrying a plan out | [`mod@run`] |
//! | what backends and file systems can do here | `facts` |
//!
//! Invariants: `study`, `plan` and `schedule` are pure · nothing below [`plan()`] has a default · the engine
//! never prints and never reads the environment · whatever it makes lies in a directory of its own, is
//! reached relative to descriptors, and is removed, if need be by the next run.

/// Standard streams that were closed when the process began, for the program, which may not ask the system itself.
#[cfg(target_os = "linux")]
pub use megadir_sys::standard_streams;
/// Ctrl-C of a console, for crates that may not call the system.
#[cfg(windows)]
pub use megadir_sys::windows::console;
mod cache;
pub mod control;
pub mod dataset;
pub mod event;
mod facts;
mod host;
mod kind;
pub mod lab;
pub mod measure;
pub mod method;
pub mod note;
mod os;
pub mod plan;
mod request;
pub mod run;
pub mod schedule;
pub mod study;
mod workspace;

pub use cache::cache_facts;
pub use control::RunControl;
pub use event::{Durable, Event, Listener, Recorder, record_file_name};
pub use facts::{LabFacts, backend_facts, backend_facts_below, file_system_facts};
pub use host::Program;
pub use kind::{WorkerCommand, serve};
pub use method::{METHODS, Method, MethodFact, method_facts};
pub use plan::plan;
pub use run::{RunEnd, RunError, RunRequest, check, run};
pub use schedule::next;
pub use workspace::{Leftovers, find_leftovers as leftovers, remove_leftovers as clean};
