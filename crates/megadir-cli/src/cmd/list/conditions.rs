//! Conditions on attributes: age, size, owner.

use megadir::{Attributes, Want};

use super::times::now_s;
use crate::exit::CliError;

#[derive(Clone, Copy, Debug)]
pub(in crate::cmd) struct Asked<'a> {
    /// Inclusive, seconds.
    pub(in crate::cmd) older_than: Option<u64>,
    /// Inclusive, seconds.
    pub(in crate::cmd) newer_than: Option<u64>,
    /// Exclusive, bytes.
    pub(in crate::cmd) larger_than: Option<u64>,
    /// Exclusive, bytes.
    pub(in crate::cmd) smaller_than: Option<u64>,
    pub(in crate::cmd) owner: Option<&'a str>,
}

/// If empty, all entries match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cmd) struct Conditions {
    /// Exclusive, seconds since the epoch.
    before_s: Option<i64>,
    /// Exclusive, seconds since the epoch.
    after_s: Option<i64>,
    larger_than: Option<u64>,
    smaller_than: Option<u64>,
    user: Option<u32>,
}

impl Conditions {
    pub(in crate::cmd) fn new(asked: &Asked<'_>) -> Result<Self, CliError> {
        let now_s = now_s();
        let ago = |age_s: u64| now_s.saturating_sub(i64::try_from(age_s).unwrap_or(i64::MAX));
        let user = asked.owner.map(user_number).transpose()?;
        Ok(Self {
            before_s: asked.older_than.map(ago),
            after_s: asked.newer_than.map(ago),
            larger_than: asked.larger_than,
            smaller_than: asked.smaller_than,
            user,
        })
    }

    pub(in crate::cmd) fn want(&self) -> Want {
        let needed = |is: bool, want| if is { want } else { Want::NOTHING };
        needed(self.before_s.is_some() || self.after_s.is_some(), Want::MODIFIED)
            | needed(self.larger_than.is_some() || self.smaller_than.is_some(), Want::SIZE)
            | needed(self.user.is_some(), Want::OWNER)
    }

    /// An unknown attribute does not match.
    pub(in crate::cmd) fn accept(&self, row: &Attributes) -> bool {
        row.have.contains(self.want())
            && self.before_s.is_none_or(|before| row.modified.seconds < before)
            && self.after_s.is_none_or(|after| row.modified.seconds >= after)
            && self.larger_than.is_none_or(|size| row.size_bytes > size)
            && self.smaller_than.is_none_or(|size| row.size_bytes < size)
            && self.user.is_none_or(|user| row.user == user)
    }
}

fn user_number(text: &str) -> Result<u32, CliError> {
    if cfg!(windows) {
        return Err(CliError::usage("--owner: unavailable on Windows"));
    }
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    super::owners::user_named(text).ok_or_else(|| {
        let reason = match text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            true => format!("too large for a user ID (at most {})", u32::MAX),
            false => "no user has this name; user IDs always work".to_owned(),
        };
        CliError::usage(format!("--owner '{text}': {reason}"))
    })
}
