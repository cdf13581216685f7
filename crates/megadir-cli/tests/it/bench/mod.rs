//! End-to-end tests of `megadir make` and `megadir bench`: output, files written, left and removed.

mod all;
mod compare;
mod ended_early;
mod options;
mod runs;
mod support;
