//! What is asked of a directory.

use super::name_lengths::NameLengths;
use crate::dir::Dir;

/// What is asked of a directory beyond what it shows itself.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// How long the names of further entries are; `None` takes those present for a sample.
    pub names: Option<&'a NameLengths>,
    /// The directory that further entries are like, instead of this one.
    pub like: Option<&'a Dir>,
    /// The size of each further entry's contents, bytes; `None` takes those present for a sample.
    pub contents_bytes: Option<u64>,
    /// Names come and go instead of staying.
    pub churn: bool,
    /// Count the entries instead of estimating them, which reads the whole directory.
    pub count: bool,
}

impl Asked<'_> {
    /// Asks for more of what the directory holds.
    pub const MORE_OF_THE_SAME: Self =
        Self { names: None, like: None, contents_bytes: None, churn: false, count: false };
}
