//! Fuzz target of `src/record.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| megadir_fuzz::record::check(bytes));
