//! End-to-end tests of file systems created for a run: the table of this machine, kills at any moment, devices.
#![cfg(target_os = "linux")]

mod device;
mod killed;
mod running;
mod runs;
mod support;
mod table;
