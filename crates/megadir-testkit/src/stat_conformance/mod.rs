//! The suite that every stat backend passes with every strategy and in the walk, against `std` and a statx for the
//! mount ID; to add a case, write a function and a line in [`CASES`].
//!
//! ```text
//! values.rs    unchanging entries with extreme values     fresh.rs     entries changed a moment ago
//! changing.rs  entries that change while they are read    broken.rs    errors, panics, missing permissions
//! walk.rs      whole trees and other mounts               trees.rs     the directories and the oracle
//! ```

mod broken;
mod changing;
mod fresh;
mod ground;
pub mod trees;
mod values;
mod walk;

pub use fresh::Hooked;
pub use ground::{Examined, FIELDS, Ground, Outcome, drain, examining, once, ways, wrong};
pub use values::{Kept, kept, of_times};

use crate::conformance::Case;

pub static CASES: &[Case<Ground>] = &[
    Case { name: "returns all attributes of every kind of entry", run: values::kinds },
    Case { name: "examines entries of every name", run: values::names },
    Case { name: "examines 0, 1 and many entries, each its own", run: values::sizes_plain },
    Case { name: "returns times from before 1970 to after 2262", run: values::times },
    Case { name: "returns sizes beyond 2^53", run: values::sizes_extremes },
    Case { name: "returns the same values for every request, and no others", run: values::subsets },
    Case { name: "reports the mounted root, not the hidden entry", run: values::mounts },
    Case { name: "sees changes that are not on disk yet", run: fresh::fresh },
    Case { name: "examines a tree", run: walk::tree },
    Case { name: "respects permissions", run: broken::permissions },
    Case { name: "returns the same to users without privileges, or nothing", run: broken::nobody },
    Case { name: "marks entries that vanish, and loses no other", run: changing::vanishing },
    Case { name: "returns old or new values of changing entries", run: changing::changed },
    Case { name: "returns old or new values of replaced entries", run: changing::replaced },
    Case { name: "is correct on untouched entries while a writer runs", run: changing::beside_a_writer },
    Case { name: "gives an error once and nothing after it", run: broken::every_call },
    Case { name: "returns entries read before the reader's error", run: broken::every_read },
    Case { name: "says that it cannot start", run: broken::every_start },
    Case { name: "never makes a short listing of a panic", run: broken::panics },
    Case { name: "leaves nothing open when dropped early", run: broken::dropped_early },
];
