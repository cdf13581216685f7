//! Warnings against trusting a run: a closed set, each with advice.
//!
//! Files: `kind` (the set), `words`, `note` (the run's own observations), `options` (of the command that made
//! the record), `derive` (from the samples), `run` (about the run as a whole), `reference` (noisy reference
//! arms), `grouped` (for display). Modelled on the warnings of criterion and hyperfine.

mod derive;
mod grouped;
mod kind;
mod note;
mod options;
mod reference;
mod run;
mod words;

pub use kind::{Advisory, WARNING_KINDS, Warning};
pub(crate) use note::{ARM_LEFT_OUT, DISTURBING};
pub(crate) use options::Options;

pub(crate) use derive::advise;
pub(crate) use grouped::{Told, disturbance, told};
pub(crate) use reference::{Wide, wide};
