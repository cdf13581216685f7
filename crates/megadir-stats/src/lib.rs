//! Intervals, paired tests and fits for benchmarks: pure mathematics, each with its reference.
