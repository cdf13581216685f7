//! Question: how many files, how many writers, and which operations.

/// The limits hold the names' lengths and the files' sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    pub files: u64,
    pub writers: u32,
    pub churn: bool,
    pub pattern: Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    Read,
    Write,
    Walk,
    Mixed,
}

impl Pattern {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Walk => "walk",
            Self::Mixed => "mixed",
        }
    }

    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Mixed)
    }
}
