//! Chooses a directory layout for very many files on this machine.
//!
//! ```text
//! Dir --megadir::limits--> Limits --NewDir::of--> NewDir --+
//! Question -------------------------------------------------+-> RULES, the first row that applies -> Advice
//! candidates -> measurement -> record -> summary -> Measured+
//! ```
//!
//! The rule is a function of numbers alone; `docs/advice.md` explains its reasons. Nothing here prints.
//!
//! | file | subject |
//! |---|---|
//! | `advise.rs`, `rule.rs`, `crossover.rs` | question and answer; the table of rules; the numbers of files at which the answer changes |
//! | `new_dir.rs`, `candidate.rs` | capacity of a new directory; the layouts that compete |
//! | `container.rs` | when a container of the files may be better than any layout |
//! | `measure/`, `measured.rs` | the short measurement, and its verdicts |
//! | `code/` | a layout as code: Python, Rust, Go, shell |
//!
//! Three properties shape the crate. An answer is reproducible: the rule sees numbers, never the file
//! system, so the same figures give the same answer in a test, on another machine and for any other number
//! of files (`crossover.rs` depends on that). Limits come before measurements, because a measurement of 50
//! 000 files cannot show that the ten-millionth is refused. An undecided measurement decides nothing,
//! instead of deciding by its point estimate.

pub mod advise;
pub mod candidate;
pub mod code;
pub mod container;
pub mod crossover;
pub mod measure;
pub mod measured;
pub mod new_dir;
pub mod rule;

pub use crate::advise::{Look, Shortage, look};
pub use advise::{Advice, advise};
pub use candidate::{Candidate, Pattern, Question, candidates};
pub use crossover::Change;
pub use measured::{Contrast, Measured, Phase, Undecided};
pub use new_dir::{Capacity, NewDir};
pub use rule::{RULES, Recommendation, Rule};
