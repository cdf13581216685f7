//! File systems made for a run, from end to end: the table of this machine, kills at every moment, devices.
#![cfg(target_os = "linux")]

mod killed;
mod support;
mod table;
