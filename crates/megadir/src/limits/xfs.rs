//! XFS: the data segment of a directory ends at 32 GiB: 704 M names of 32 characters or 117 M of 255, at the
//! packing measured in filled directories (`xfs_dir2_data_entsize`).

use super::basis::{Basis, Fact, Span};
use super::facts::{Details, Facts};
use super::model::{Ceiling, Gauge, Judgement, Limit, Model};
use crate::file_system::FileSystem;

/// `XFS_DIR2_SPACE_SIZE`.
const DATA_BYTES_MAX: u64 = 32 << 30;
/// `struct xfs_dir3_data_hdr`.
const HEADER_BYTES: f64 = 64.0;
/// Default of mkfs.xfs.
const INODE_BYTES: f64 = 512.0;
/// Hash and address.
const LEAF_BYTES: f64 = 8.0;

pub(super) static XFS: Model = Model {
    file_system: FileSystem::Xfs,
    about: "32 GiB of entries in a directory; their density was measured, the limit was not reached",
    judge: |facts, _churn| judge(facts),
};

pub(super) fn entry_bytes(name_bytes: u16) -> f64 {
    f64::from((name_bytes + 12).next_multiple_of(8))
}

fn judge(facts: &Facts) -> Judgement {
    let Details::Xfs(block) = &facts.details else { return Judgement::default() };
    let names = &facts.names.value;
    let block_bytes = block.value.max(512) as f64;
    let fitting = names.fitting(block_bytes - HEADER_BYTES, entry_bytes).max(1.0);
    let entries = fitting * DATA_BYTES_MAX as f64 / block_bytes;
    let basis = |how| Basis::of(&[&block.basis, &facts.names.basis], how);
    let packed = basis("32 GiB of entries, packed as measured");
    let all = Span::rounded(entries, 0.95 * entries, 1.05 * entries);
    let gauge = Gauge {
        bytes: facts.directory_bytes,
        full_bytes: DATA_BYTES_MAX,
        basis: basis("32 GiB, from the format"),
    };
    let now =
        facts.entries.as_ref().map_or(Span::exact((entries * gauge.used()) as u64), |now| now.value);
    let ceiling = Ceiling {
        limit: Limit::DirectorySize,
        more: all.less(now),
        used: gauge.used(),
        basis: packed.clone(),
    };
    Judgement {
        ceilings: vec![ceiling],
        capacity: Some(Fact { value: all, basis: packed }),
        gauge: Some(gauge),
        entry_bytes: names.mean_of(entry_bytes) + LEAF_BYTES * 1.5 + INODE_BYTES,
        ..Judgement::default()
    }
}
