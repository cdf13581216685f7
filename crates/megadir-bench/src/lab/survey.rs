//! Which file systems this machine can make, for lists: proven if the caller may mount.

use megadir_record::LabFileSystem;

use super::Spec;
use crate::workspace::Leftovers;

/// What is known of a file system on this machine.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Which one.
    pub spec: Spec,
    /// Why it cannot be had; `None` if it can, as far as is known.
    pub unavailable: Option<String>,
    /// How it was when it was made and mounted; `None` where that was not tried or failed.
    pub proven: Option<LabFileSystem>,
    /// The program that makes it with its version.
    pub tool: Option<String>,
}

/// What a survey found.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Each that was asked about, in that order.
    pub facts: Vec<Fact>,
    /// `true` if each was really made and mounted; else that is told which can be without privileges.
    pub proven: bool,
    /// What was found of earlier runs that were killed.
    pub leftovers: Leftovers,
}
