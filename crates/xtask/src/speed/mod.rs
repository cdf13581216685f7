//! `cargo xtask speed`: every figure of speed and memory that README and docs/speed.md quote, measured anew.
//!
//! Private file systems on loop devices, one directory of many files in each; programs that list it, each run a
//! fresh process, in random order in each round, paired by rounds. Linux, as root.
//!
//! To add a contender: a line in [`arms::ARMS`], and in [`tools::Program`] if its program is new. To add a target:
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
