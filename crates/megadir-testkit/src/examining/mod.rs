//! The suite that every examiner passes by every strategy and in the walk: a list of cases.
//!
//! The oracle is `std`, and for what `std` does not tell (the mount) a statx of the suite's own. An examiner that
//! refuses a directory must give the reason everywhere and never a row; how often each happened is in the
//! [`Outcome`], so that a suite which only saw refusals is noticed. Adding a case is a function and a line here.

mod broken;
mod changing;
mod extremes;
pub mod fields;
mod fresh;
mod ground;
pub mod hooked;
mod mounts;
pub mod oracle;
mod plain;
mod refused;
mod subsets;
pub mod trees;
mod walk;

pub use extremes::{Kept, kept, of_times};
pub use ground::{Examined, Ground, Outcome, drain, examining, once, ways};

/// One thing that an examiner must do.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it must do.
    pub name: &'static str,
    /// Asserts it.
    pub run: fn(&Ground),
}

/// Every case.
pub static CASES: &[Case] = &[
    Case { name: "tells all of every kind of entry", run: plain::kinds },
    Case { name: "examines entries of every name", run: plain::names },
    Case { name: "examines 0, 1 and many entries, each its own", run: plain::sizes },
    Case { name: "tells times from before 1970 to after 2262", run: extremes::times },
    Case { name: "tells sizes beyond 2^53", run: extremes::sizes },
    Case { name: "tells the same whatever else is wanted, and claims no more", run: subsets::subsets },
    Case { name: "tells what is mounted, not what it hides", run: mounts::mounts },
    Case { name: "sees what has not been written to the disk yet", run: fresh::fresh },
    Case { name: "examines a tree", run: walk::tree },
    Case { name: "respects permissions", run: refused::permissions },
    Case { name: "tells users without privileges the same, or nothing", run: refused::nobody },
    Case { name: "marks entries that vanish, and loses no other", run: changing::vanishing },
    Case { name: "tells old or new of entries that are changed", run: changing::changed },
    Case { name: "tells old or new of entries that are replaced", run: changing::replaced },
    Case { name: "tells the truth of untouched entries beside a writer", run: changing::beside_a_writer },
    Case { name: "gives an error once and nothing after it", run: broken::every_call },
    Case { name: "gives what was read before the reader's error", run: broken::every_read },
    Case { name: "says that it cannot start", run: broken::every_start },
    Case { name: "never makes a short listing of a panic", run: broken::panics },
    Case { name: "leaves nothing open when dropped early", run: broken::dropped_early },
];
