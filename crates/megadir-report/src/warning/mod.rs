//! Warnings against trusting a run: a closed set, each with advice.
//!
//! Files: `kind` (the set, and the run's own observations), `words`, `options` (of the command that made
//! the record), `derive` (from the samples), `run` (about the run as a whole, and noisy reference arms),
//! `grouped` (for display). Modelled on the warnings of criterion and hyperfine.

mod derive;
mod grouped;
mod kind;
mod options;
mod run;
mod words;

pub(crate) use kind::{ARM_LEFT_OUT, DISTURBING};
pub use kind::{Advisory, WARNING_KINDS, Warning};
pub(crate) use options::Options;

pub(crate) use derive::advise;
pub(crate) use grouped::{Told, disturbance, told};
pub(crate) use run::{Wide, wide};
