//! The system calls, clocks and counters that megadir needs: the only crate with unsafe code.
