//! The extension `megadir._megadir`: the libraries of megadir for Python, with columns and batches of Arrow.
//!
//! The functions here take all their arguments; `megadir/__init__.py` gives them defaults, types and documentation. Work is
//! done without the interpreter's lock, which is taken every 50 ms for signals and progress.
//!
//! | file | subject |
//! |---|---|
//! | `listing.rs`, `sample.rs`, `scandir.rs`, `stream.rs`, `columns.rs` | listings as Arrow batches, and in the manner of `os.scandir` |
//! | `recorded.rs`, `gathered.rs` | listings of inventories; rows in memory, as objects of Python for the modules that other libraries use |
//! | `usage.rs`, `limits.rs`, `layout.rs`, `remove.rs` | the functions of the same names |
//! | `inventory.rs`, `records.rs`, `tasks.rs` | scan; samples of a benchmark; jobs on many machines |
//! | `pack.rs`, `members.rs` | packs are written and verified; their files are read |
//! | `compare.rs`, `comparing.rs`, `reading.rs` | a tree and its copy; changes; contents that are hashed or verified |
//! | `conditions.rs`, `access.rs`, `units.rs`, `names.rs` | arguments that several functions take |
//! | `attention.rs`, `failure.rs` | signals and progress; exceptions |
//!
//! The package is a workspace of its own, so that no other build needs Python or Arrow. Its `advise` runs the program
//! of the same wheel, because a measurement starts processes of the program.

mod access;
mod attention;
mod columns;
mod compare;
mod comparing;
mod conditions;
mod failure;
mod gathered;
mod inventory;
mod layout;
mod limits;
mod listing;
mod members;
mod names;
mod pack;
mod reading;
mod recorded;
mod records;
mod remove;
mod sample;
mod scandir;
mod stream;
mod tasks;
mod units;
mod usage;

#[pyo3::pymodule]
mod _megadir {
    #[pymodule_export]
    use crate::compare::compare;
    #[pymodule_export]
    use crate::comparing::changes;
    #[pymodule_export]
    use crate::gathered::{Gathered, first_components};
    #[pymodule_export]
    use crate::inventory::scan;
    #[pymodule_export]
    use crate::layout::Layout;
    #[pymodule_export]
    use crate::limits::limits;
    #[pymodule_export]
    use crate::listing::{count, estimate, list};
    #[pymodule_export]
    use crate::members::{MemberPaths, Members, MembersInOrder, PackError};
    #[pymodule_export]
    use crate::pack::{create_pack, verify_pack};
    #[pymodule_export]
    use crate::recorded::{has_all_entries, is_inventory, recorded_tree};
    #[pymodule_export]
    use crate::records::record_samples;
    #[pymodule_export]
    use crate::remove::remove;
    #[pymodule_export]
    use crate::sample::sample;
    #[pymodule_export]
    use crate::scandir::{DirEntry, ScandirIterator, scandir};
    #[pymodule_export]
    use crate::stream::{Batch, Stream};
    #[pymodule_export]
    use crate::tasks::{Schedule, check_folder, run_task};
    #[pymodule_export]
    use crate::units::{duration_s, size_bytes};
    #[pymodule_export]
    use crate::usage::usage;

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
