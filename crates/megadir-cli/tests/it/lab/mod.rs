//! End-to-end tests of file systems created for a run: the table of this machine, kills at any moment, devices.

mod device;
mod killed;
mod memory_disk;
mod rotating;
mod running;
mod runs;
mod support;
mod table;
