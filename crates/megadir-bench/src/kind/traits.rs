//! Properties of a piece of work that the plan and the run need before its workload exists. Each kind's file
//! states its own, so that plan and run know no kind.

/// Rough durations on one machine (2 virtual cores, ext4, warm), nanoseconds.
pub(crate) mod cost {
    /// Creating a small file.
    pub(crate) const MAKE_NS: u64 = 20_000;
    pub(crate) const REMOVE_NS: u64 = 6_000;
    /// Opening a directory and starting a block.
    pub(crate) const BLOCK_NS: u64 = 1_000_000;
    pub(crate) const ASK_NS: u64 = 1_200;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits {
    /// Duration of a block in a warm cache, nanoseconds: an order of magnitude.
    pub(crate) block_ns: u64,
    /// Operations of a block after a drop of caches, because a repeated one would be warm; `None` if the work
    /// has a fixed number.
    pub(crate) cold_operations: Option<u64>,
    /// Number of names that the work draws from the directory; `None` if it needs no names.
    pub(crate) names: Option<usize>,
}
