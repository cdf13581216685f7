//! The suite that every backend passes, against the oracle `std`: a list of cases.
//!
//! Adding a case is a function and a line here. A backend that refuses a directory must give the reason; how
//! often each happened is in the [`Outcome`], so that a suite which only saw refusals is noticed.

mod broken;
mod changing;
mod ground;
mod plain;
#[cfg(target_os = "linux")]
mod raw;
mod refused;

pub use ground::{Ground, Outcome, conformance};

/// One thing that a backend must do.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it must do.
    pub name: &'static str,
    /// Asserts it.
    pub run: fn(&Ground),
}

/// Every case.
pub static CASES: &[Case] = &[
    Case { name: "lists 0, 1, batch-1, batch, batch+1 entries", run: plain::sizes },
    Case { name: "lists 100 000 entries", run: plain::many },
    Case { name: "gives every name unharmed", run: plain::names },
    Case { name: "reads with every size of buffer", run: plain::buffers },
    Case { name: "tells every type", run: plain::types },
    #[cfg(target_os = "linux")]
    Case { name: "asks the inodes where the directory tells no types", run: plain::unknown_types },
    Case { name: "gives each reader a position of its own", run: plain::two_readers },
    #[cfg(target_os = "linux")]
    Case { name: "gives cookies that lead on, and the kernel's record lengths", run: raw::cookies },
    Case { name: "gives untouched entries once while others vanish", run: changing::vanishing },
    Case { name: "ends when the directory is removed", run: changing::removed },
    Case { name: "refuses options that it cannot honour", run: refused::options },
    Case { name: "says what is missing or no directory", run: refused::paths },
    #[cfg(target_os = "linux")]
    Case { name: "respects permissions", run: refused::permissions },
    Case { name: "gives an error once and nothing after it", run: broken::every_call },
    Case { name: "leaves nothing open when dropped early", run: broken::dropped_early },
];
