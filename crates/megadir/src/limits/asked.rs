//! Parameters of a question about a directory's limits.

use super::name_lengths::NameLengths;
use crate::dir::Dir;

/// Assumptions about the entries to come, beyond the evidence in the directory.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Name lengths of the entries to come; `None` samples the entries present.
    pub names: Option<&'a NameLengths>,
    /// Sample this directory instead.
    pub like: Option<&'a Dir>,
    /// Content size of each entry to come, bytes; `None` samples the entries present.
    pub contents_bytes: Option<u64>,
    /// Names come and go instead of staying.
    pub churn: bool,
    /// Count the entries instead of estimating them; reads the whole directory.
    pub count: bool,
}

impl Asked<'_> {
    /// More entries like those present.
    pub const MORE_OF_THE_SAME: Self =
        Self { names: None, like: None, contents_bytes: None, churn: false, count: false };
}
