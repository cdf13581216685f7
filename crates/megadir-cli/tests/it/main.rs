//! End-to-end tests of the program, one module for each promise. They share one binary, because each binary takes
//! a link and its tests run after those before it.
//!
//! Tests run in parallel threads of one process. None changes the process's environment, working directory or
//! limits; tests that drop the machine's caches or count its reads take `caches_are_dropped` or `caches_are_kept`.

mod pages;
mod plain_errors;
mod support;

#[cfg(target_os = "linux")]
mod advise;
#[cfg(target_os = "linux")]
mod aged;
#[cfg(target_os = "linux")]
mod attack;
#[cfg(target_os = "linux")]
mod attributes;
#[cfg(target_os = "linux")]
mod backup;
#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod changes;
#[cfg(target_os = "linux")]
mod clean;
#[cfg(target_os = "linux")]
mod cold;
#[cfg(target_os = "linux")]
mod commands;
#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod conditions;
#[cfg(target_os = "linux")]
mod containers;
#[cfg(target_os = "linux")]
mod deep;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod epochs;
#[cfg(target_os = "linux")]
mod examples;
#[cfg(target_os = "linux")]
mod file_systems;
#[cfg(target_os = "linux")]
mod first_screen;
#[cfg(target_os = "linux")]
mod first_words;
#[cfg(target_os = "linux")]
mod fuzz_seeds;
#[cfg(target_os = "linux")]
mod generate;
#[cfg(target_os = "linux")]
mod ground;
#[cfg(target_os = "linux")]
mod harness;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod inventories;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod list;
#[cfg(target_os = "linux")]
mod make;
#[cfg(target_os = "linux")]
mod metrics;
#[cfg(target_os = "linux")]
mod million;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod mpi;
#[cfg(target_os = "linux")]
mod pack;
#[cfg(target_os = "linux")]
mod parallel;
#[cfg(target_os = "linux")]
mod parts;
#[cfg(target_os = "linux")]
mod peers;
#[cfg(target_os = "linux")]
mod progress;
#[cfg(target_os = "linux")]
mod released_formats;
#[cfg(target_os = "linux")]
mod remove;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
mod reshard;
#[cfg(target_os = "linux")]
mod resume;
#[cfg(target_os = "linux")]
mod rotten;
#[cfg(target_os = "linux")]
mod scan;
#[cfg(target_os = "linux")]
mod share;
#[cfg(target_os = "linux")]
mod streams;
#[cfg(target_os = "linux")]
mod swapped;
#[cfg(target_os = "linux")]
mod threads_refused;
#[cfg(target_os = "linux")]
mod timing;
#[cfg(target_os = "linux")]
mod unseen;
#[cfg(target_os = "linux")]
mod update;
#[cfg(target_os = "linux")]
mod usage;
#[cfg(target_os = "linux")]
mod volumes;
