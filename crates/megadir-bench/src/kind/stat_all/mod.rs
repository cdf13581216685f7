//! Reading name, size and time of every file of a directory, by each of this system's methods.

mod plan;
mod run;

use serde::Deserialize;

use crate::method::method_named;

pub(crate) use plan::{ascending, attributes, baseline, work_of};
pub(crate) use run::{Expected, FileAttributes};

/// `[attributes]` of a study: every method on every directory, compared with the first method.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatAllSpec {
    /// Names of methods; all of them if empty.
    #[serde(default)]
    pub methods: Vec<String>,
    pub threads: Vec<u32>,
}

impl StatAllSpec {
    /// Returns the first contradiction of a well-formed specification.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.threads.is_empty() || self.threads.contains(&0) {
            return Some("attributes.threads needs at least one number, each at least 1".into());
        }
        self.methods.iter().find_map(|name| method_named(name).err())
    }
}
