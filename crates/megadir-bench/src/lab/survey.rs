//! File systems that this machine can make, for listings: verified if the caller may mount.

use megadir_record::LabFileSystem;

use crate::workspace::Leftovers;
use megadir_lab::Spec;

#[derive(Clone, Debug)]
pub struct Fact {
    pub spec: Spec,
    /// Reason if it is unavailable; `None` if it is available as far as known.
    pub unavailable: Option<String>,
    /// Description while it was mounted; `None` if it was not tried or failed.
    pub proven: Option<LabFileSystem>,
    pub tool: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Survey {
    /// One for each requested file system, in that order.
    pub facts: Vec<Fact>,
    /// `true` if each was actually made and mounted; `false` if only drivers and programs were checked.
    pub proven: bool,
    /// Leftovers of killed runs that were found.
    pub leftovers: Leftovers,
}
