//! What is asked: how many files, who writes them, and what is done with them.

/// The files that a layout is sought for; how long their names are and what they hold is in the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Files that there will be in all.
    pub files: u64,
    /// How many threads or processes make files at the same time.
    pub writers: u32,
    /// Names come and go instead of staying.
    pub churn: bool,
    /// What is mostly done.
    pub pattern: Pattern,
}

/// What is mostly done with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Files are opened and read by names known beforehand.
    Read,
    /// Files are made.
    Write,
    /// All files are gone through, as backups do.
    Walk,
    /// Files are made and read.
    Mixed,
}

impl Pattern {
    /// Returns its word on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Walk => "walk",
            Self::Mixed => "mixed",
        }
    }

    /// Tells whether it matters that several write.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Mixed)
    }
}
