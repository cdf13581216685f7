//! Which layout to use for very many files, on the machine at hand.
//!
//! | subject | where |
//! |---|---|
//! | a layout's rule as code in other languages | [`code`] |
//!
//! Nothing here prints.

pub mod code;
