//! What speaks against believing a run, as a closed set of warnings that each say what to do.
//!
//! Files: `kind` (the set, with its words), `note` (what the run itself noticed), `derive` (what the samples
//! betray). Modelled on hyperfine's warnings. No warning changes a number.

mod derive;
mod kind;
mod note;

pub use kind::{Advisory, Warning};

pub(crate) use derive::{advise, refuse_quantiles};
