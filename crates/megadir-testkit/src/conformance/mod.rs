//! The suite that every backend passes, against the oracle `std`; to add a case, write a function and a line in
//! [`CASES`]. Refusals need a reason and are counted by [`Outcome`].

mod broken;
mod changing;
mod ground;
mod plain;
#[cfg(target_os = "linux")]
mod raw;
mod refused;

pub use ground::{Ground, Outcome, conformance};

#[derive(Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub run: fn(&Ground),
}

pub static CASES: &[Case] = &[
    Case { name: "lists 0, 1, batch-1, batch, batch+1 entries", run: plain::sizes },
    Case { name: "lists 100 000 entries", run: plain::many },
    Case { name: "gives every name unharmed", run: plain::names },
    Case { name: "reads with every size of buffer", run: plain::buffers },
    Case { name: "returns every type", run: plain::types },
    #[cfg(target_os = "linux")]
    Case { name: "asks the inodes if the directory has no types", run: plain::unknown_types },
    Case { name: "gives each reader a position of its own", run: plain::two_readers },
    #[cfg(target_os = "linux")]
    Case { name: "gives cookies that lead on, and the kernel's record lengths", run: raw::cookies },
    Case { name: "gives untouched entries once while others vanish", run: changing::vanishing },
    Case { name: "ends when the directory is removed", run: changing::removed },
    Case { name: "refuses options that it cannot honour", run: refused::options },
    Case { name: "reports missing paths and non-directories", run: refused::paths },
    #[cfg(target_os = "linux")]
    Case { name: "respects permissions", run: refused::permissions },
    Case { name: "gives an error once and nothing after it", run: broken::every_call },
    Case { name: "leaves nothing open when dropped early", run: broken::dropped_early },
];
