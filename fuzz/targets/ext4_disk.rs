//! Decoder of ext4's superblock, group descriptors and inodes on arbitrary bytes: it never panics, and what it
//! accepts is consistent.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| megadir::ext4_disk::fuzz(bytes));
