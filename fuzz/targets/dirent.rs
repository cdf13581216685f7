//! The decoder of directory records, over arbitrary bytes: it never panics, and what it accepts is whole.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| megadir::decode::fuzz(bytes));
