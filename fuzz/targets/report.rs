//! Fuzz target of `src/report.rs`, with its own changes of inputs.
#![no_main]

use megadir_fuzz::report::{changed, check};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| check(bytes));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match changed(&data[..size], seed) {
        Some(text) if text.len() <= max_size && !seed.is_multiple_of(16) => {
            data[..text.len()].copy_from_slice(&text);
            text.len()
        }
        _ => libfuzzer_sys::fuzzer_mutate(data, size, max_size),
    }
});
