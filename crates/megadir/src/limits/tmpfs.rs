//! tmpfs: a directory has up to 2^31 entries (`simple_offset_add`, Linux 6.6 and later); `nr_inodes` or memory
//! runs out first.

use super::basis::{Basis, Fact, Known, Span};
use super::facts::Facts;
use super::limit::{Ceiling, Limit};
use super::model::{Judgement, Model};
use crate::file_system::FileSystem;

const OFFSETS: u64 = 1 << 31;

pub(super) struct Tmpfs;

impl Model for Tmpfs {
    fn file_system(&self) -> FileSystem {
        FileSystem::Tmpfs
    }

    fn about(&self) -> &'static str {
        "2^31 numbers for entries of a directory; nr_inodes (half of the memory's pages by default) ends first"
    }

    fn judge(&self, facts: &Facts, _churn: bool) -> Judgement {
        let basis = Basis::new(Known::Assumed, "2^31 numbers for entries (Linux 6.6 and later)");
        let all = Span::exact(OFFSETS);
        let now = facts.entries.as_ref().map_or(Span::exact(0), |now| now.value);
        let used = now.likely as f64 / OFFSETS as f64;
        let more = all.less(now);
        Judgement {
            ceilings: vec![Ceiling { limit: Limit::Numbers, more, used, basis: basis.clone() }],
            capacity: Some(Fact { value: all, basis }),
            ..Judgement::default()
        }
    }
}
