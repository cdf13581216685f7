//! Decoder of Windows' directory records, in every layout, on arbitrary bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| megadir::directory_information::fuzz(bytes));
