//! Fuzz target of `src/layout.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| megadir_fuzz::layout::check(bytes));
