//! What speaks against believing a run, as a closed set of warnings that each say what to do.
//!
//! Files: `kind` (the set), `words`, `note` (what the run itself noticed), `options` (of the command that made the record), `derive` (what the samples betray), `run` (what speaks
//! against it as a whole), `reference` (what others are measured against and is not known), `grouped` (those of one kind told as one). Modelled on hyperfine's warnings. No warning changes a number.

mod derive;
mod grouped;
mod kind;
mod note;
mod options;
mod reference;
mod run;
mod words;

pub use kind::{Advisory, WARNING_KINDS, Warning};
pub(crate) use note::DISTURBING;
pub(crate) use options::Options;

pub(crate) use derive::{advise, refuse_quantiles};
pub(crate) use grouped::{Told, told};
pub(crate) use reference::{Wide, wide};
