//! The megadir benchmark engine: study, plan, run, events.
//!
//! ```text
//! study file -> Study -+-> plan() -> Plan -> run() -> Event... -> listeners (progress, table, record)
//!            Request --+                       ^
//!                              next(plan, samples) -> Step
//! ```
//!
//! Layers from the lowest; each uses only the ones before: [`control`], [`note`], `os`, `workspace`, `host`,
//! [`lab`], [`dataset`], [`measure`], [`method`], `request`, `kind`, `cache`, [`study`], [`mod@plan`],
//! [`schedule`], [`event`], [`mod@run`], `facts`.
//!
//! Invariants: `study`, `plan` and `schedule` are pure; nothing below [`plan()`] has a default; the engine
//! never prints and never reads the environment; everything that it creates is in a directory of its own, is
//! accessed relative to descriptors, and is removed, if necessary by the next run.
//!
//! | module | subject |
//! |---|---|
//! | [`control`] | cancellation and heartbeat, which every long operation takes, and the reason why a block gave no result |
//! | [`note`] | kinds of notes in a record |
//! | `os`, `workspace` | operations on open directories, one file per system; the run's own directory |
//! | `host` | machine and noise |
//! | [`lab`] | file systems made and mounted for a run |
//! | [`dataset`] | the n-th file: name, size, content, path; filling directories |
//! | [`measure`], [`method`] | cycle counter, stopwatch, cost of the measured loop; ways to read attributes |
//! | `request`, `facts` | what the user requests and what the machine can do, as plain data |
//! | `kind` | one folder per kind of work |
//! | `cache` | states of the cache: established, verified |
//! | [`study`], [`mod@plan`], [`schedule`] | the declared experiment, the plan made from it, the next step |
//! | [`event`], [`mod@run`] (`run/`) | carries a plan out, and its observers |
//!
//! A parameter travels one way. `bench run --buffer 1MiB` passes six files:
//!
//! ```text
//! cmd/bench/options.rs (program)  parsed, typed
//! request.rs                      Request::buffers_bytes; the only check of its range in the engine
//! kind/list/plan.rs               crossed with backends and threads into Work::List
//! plan/work.rs (record)           recorded verbatim, shown in the report
//! kind/list/run.rs                ReadOptions, passed to the backend
//! backend/linux_getdents.rs       the buffer of getdents64
//! ```
//!
//! The engine runs on Linux and Windows. Differences are in siblings that are chosen once (`os/`, `cache/`, `host/`,
//! `kind/files/transport/`), so that plan and rules hold no conditions, except that the plan refuses programs where
//! they cannot be measured. The lab and the measuring of programs are Linux's alone.
//!
//! Words, from the largest to the smallest (METHODOLOGY.md has their reasons):
//!
//! ```text
//!  run       one plan, one record
//!   epoch     fresh data sets under other names
//!    round     every arm once, in an order of its own
//!     block     one arm: operations between two reads of the clock -> one sample
//!      operation one system call, listing or process
//! ```
//!
//! A life of files is the part of a round from their creation to their removal, for arms that work on the
//! files of other arms: create, read, stat, unlink.

#[cfg(target_os = "linux")]
pub use megadir_sys::process::is_ignored as is_signal_ignored;
#[cfg(windows)]
pub use megadir_sys::windows::console;
#[cfg(target_os = "linux")]
pub use megadir_sys::{kernel_calls, standard_streams};
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
pub use facts::{LabFacts, backend_facts, backend_facts_below, file_system_facts, volume_facts};
pub use host::{Program, machine};
#[cfg(target_os = "linux")]
pub use kind::launch;
pub use kind::{
    RankWorkers, SharedDirectory, WorkerCommand, has_shares, program_facts, prove_shared, serve, serve_rank,
};
pub use lab::{clean, leftovers};
pub use method::{METHODS, Method, MethodFact, method_facts};
pub use plan::plan;
pub use request::ProgramFact;
pub use run::{RunEnd, RunError, RunRequest, check, run};
pub use schedule::next;
pub use workspace::Leftovers;
