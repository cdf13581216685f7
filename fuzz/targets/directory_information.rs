//! Arbitrary bytes through the decoder of Windows' records, in every layout.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| megadir::directory_information::fuzz(bytes));
