//! `cargo xtask speed`: measures every figure of speed and memory in README and docs/speed.md.
//!
//! Private file systems on loop devices, each with one directory of many files. Programs list it, each run in a
//! new process, in random order within rounds, paired by rounds. Linux, as root.
//!
//! To add a contender: a line in [`arms::ARMS`], and in [`tools::Program`] for a new program. To add a target:
//! a line in [`targets::TARGETS`].

mod arms;
mod child;
mod drive;
mod fill;
mod interrupt;
mod inventory;
pub(crate) mod lab;
mod machine;
mod namespace;
mod remove;
mod report;
mod rounds;
mod scratch;
mod table;
mod targets;
mod tools;
mod verify;

pub(crate) use drive::{Args, run};
