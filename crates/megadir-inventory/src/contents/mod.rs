//! Contents of files and targets of links: read relative to descriptors, and hashed.
//!
//! ```text
//! rows in key order -> window (bounded) -> order of inodes -> threads: open, read in chunks, hash -> results in key order
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `opened.rs` | a file opened without following links, which is compared with its row before and after it is read |
//! | `hasher.rs` | the functions of [`ContentHash`] |
//! | `window.rs` | many files in the order of their inodes, by several threads, within a rate |
//! | `journal.rs` | hashes that a killed scan has made already |

pub(crate) mod hasher;
pub(crate) mod journal;
pub(crate) mod opened;
pub(crate) mod window;
