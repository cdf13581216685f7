//! Decoder of directory records on arbitrary bytes: it never panics, and accepts only complete records.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| megadir::decode::fuzz(bytes));
