//! Reading the attributes of some of a directory's files by name, compared with listing all of them.

mod plan;
mod run;

use serde::Deserialize;

use crate::method::method_named;

pub(crate) use plan::asks;
pub(crate) use run::{Ask, FILES_MAX};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatSomeSpec {
    pub title: String,
    /// Methods that list.
    pub list: Vec<String>,
    /// Fractions of the files to stat, ascending, at most 1.
    pub shares: Vec<f64>,
}

impl StatSomeSpec {
    /// Returns the first contradiction of a well-formed specification.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if self.list.is_empty() {
            return Some("ask.list needs at least one method".into());
        }
        let shares = &self.shares;
        let bounds = shares.first().is_some_and(|first| *first > 0.0)
            && shares.last().is_some_and(|last| *last <= 1.0);
        if !(bounds && shares.is_sorted_by(|a, b| a < b)) {
            return Some("ask.shares must ascend from above 0 to at most 1".into());
        }
        self.list.iter().find_map(|name| method_named(name).err())
    }
}
