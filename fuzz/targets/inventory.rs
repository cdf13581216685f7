//! Reader of inventories on arbitrary bytes: it never panics, its rows ascend and match its blocks, and errors
//! are one line.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| megadir_inventory::fuzz(bytes));
