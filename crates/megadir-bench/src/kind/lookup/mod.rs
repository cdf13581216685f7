//! Name look-ups: one system call per operation, for existing and for absent names.

mod plan;
mod run;

use megadir_record::{Keys, LookupCall, Presence};
use serde::Deserialize;

pub(crate) use plan::lookups;
pub(crate) use run::{ABSENT_NAMES, Lookup, NAMES_MAX, NameSource, SAMPLE_MAX};

/// `[lookup]` of a study: every directory with every presence and every distribution of names. The first arm is
/// the baseline.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookupSpec {
    /// Existing names, absent names, or both.
    pub presence: Vec<Presence>,
    pub keys: Vec<Keys>,
    /// System calls; the system's own if omitted.
    #[serde(default = "system_calls")]
    pub calls: Vec<LookupCall>,
}

/// Returns this system's calls that check whether a name exists; the published study's comes first.
pub(crate) fn system_calls() -> Vec<LookupCall> {
    if cfg!(windows) {
        vec![LookupCall::AttributesByPath, LookupCall::AttributesByHandle]
    } else {
        vec![LookupCall::Fstatat]
    }
}

impl LookupSpec {
    /// Returns the first contradiction of a well-formed specification.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let empty = self.presence.is_empty() || self.keys.is_empty() || self.calls.is_empty();
        empty.then(|| "lookup.presence, lookup.keys and lookup.calls need at least one value each".into())
    }
}
