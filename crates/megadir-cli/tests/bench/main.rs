//! `megadir make` and `megadir bench` from end to end: what they print, write, leave and remove.
#![cfg(target_os = "linux")]

mod compare;
mod ended_early;
mod options;
mod runs;
mod support;
