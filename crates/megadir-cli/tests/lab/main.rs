//! File systems made for a run, from end to end: the table of this machine, kills at every moment, devices.
#![cfg(target_os = "linux")]

mod device;
mod killed;
mod running;
mod runs;
mod support;
mod table;
