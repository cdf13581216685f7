//! Failures at entries, for JSON: the first ones, each with its path and reason.

use megadir::{Error, names};

use crate::exit;
use crate::ui::escape;

pub(in crate::cmd) const KEPT_MAX: usize = 1000;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(in crate::cmd) struct Failure {
    path: Option<Vec<u8>>,
    reason: String,
}

impl Failure {
    pub(in crate::cmd) fn of(error: &Error) -> Self {
        let path = names::from_os(error.path().as_os_str()).to_vec();
        Self { path: (!path.is_empty()).then_some(path), reason: exit::kind(error) }
    }

    pub(in crate::cmd) fn at(path: &[u8], reason: String) -> Self {
        Self { path: Some(path.to_vec()), reason }
    }

    pub(in crate::cmd) fn of_message(message: &str) -> Self {
        Self { path: None, reason: message.to_owned() }
    }

    pub(in crate::cmd) fn reason(&self) -> &str {
        &self.reason
    }
}

pub(in crate::cmd) fn list(text: &mut Vec<u8>, failures: &[Failure]) {
    for (index, failure) in failures.iter().enumerate() {
        text.extend_from_slice(if index > 0 { b",{" } else { b"{" });
        if let Some(path) = &failure.path {
            escape::json_member(text, "path", path);
            text.push(b',');
        }
        text.extend_from_slice(b"\"reason\":");
        escape::json_string(text, &failure.reason);
        text.push(b'}');
    }
}
