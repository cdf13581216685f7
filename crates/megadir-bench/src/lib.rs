//! The megadir benchmark engine: study, plan, run, events.
//!
//! ```text
//! study file -> Study -+-> plan() -> Plan -> run() -> Event... -> listeners (progress, table, record)
//!            Request --+                       ^
//!                              next(plan, samples) -> Step
//! ```
//!
//! Layers from the lowest; each uses only rows above it:
//!
//! | subject | where |
//! |---|---|
//! | cancellation, heartbeat, errors of blocks | [`control`] |
//! | notes that a run may record | [`note`] |
//! | operations on open directories, removal, write-back, one file per system | `os` |
//! | a run's own directory; removal of those left by killed runs | `workspace` |
//! | machine, noise | `host` |
//! | file systems created and mounted for a run | [`lab`] |
//! | names, sizes, contents and paths of files; filling directories | [`dataset`] |
//! | loop for single operations, and its overhead | [`measure`] |
//! | methods of reading attributes | [`method`] |
//! | the user's request and the machine's capabilities: plain data | `request` |
//! | kinds of work: specification, arms and blocks, one folder each | `kind` |
//! | cache states: reached, verified, undone | `cache` |
//! | declared experiments | [`study`] |
//! | study and request to plan, with axes and estimates | [`mod@plan`] |
//! | the next step: orders, warm-up, voiding, epochs | [`schedule`] |
//! | events for observers; the record's writer | [`event`] |
//! | execution of a plan | [`mod@run`] |
//! | capabilities of backends and file systems here | `facts` |
//!
//! Invariants: `study`, `plan` and `schedule` are pure · nothing below [`plan()`] has a default · the engine
//! never prints and never reads the environment · everything that it creates is in a directory of its own, is
//! accessed relative to descriptors, and is removed, if necessary by the next run.

/// Standard streams that were closed at process start, for the program, which makes no system calls itself.
#[cfg(target_os = "linux")]
pub use megadir_sys::standard_streams;
/// Console Ctrl-C handling, for crates that make no system calls themselves.
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
