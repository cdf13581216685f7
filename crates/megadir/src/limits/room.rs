//! What a file system as a whole has left: inodes, blocks, quotas. The same for every model.

use super::basis::{Basis, Fact, Known, Span};
use super::cure;
use super::facts::{Facts, Quota};
use super::limit::{Ceiling, Limit};
use super::trap::Trap;
use crate::file_system::FileSystem;

/// How room is known.
const ROOM: &str = if cfg!(windows) { "room of the volume" } else { "statfs" };
/// From this part of inodes, blocks or a quota on, it is time to do something.
const NEARLY_OUT: f64 = 0.9;

/// Returns how far away inodes, blocks and quotas are when an entry takes `entry_bytes` beside its contents.
pub(super) fn ceilings(facts: &Facts, entry_bytes: f64) -> Vec<Ceiling> {
    let cost = Cost::of(facts, entry_bytes);
    let mut ceilings = Vec::new();
    ceilings.extend(inodes(facts));
    ceilings.extend(blocks(facts, &cost));
    ceilings.extend(facts.quotas.iter().flat_map(|quota| of_quota(quota, &cost)));
    ceilings
}

/// The bytes that an entry takes in all, with bounds.
struct Cost {
    likely: f64,
    low: f64,
    high: f64,
    basis: Basis,
}

impl Cost {
    fn of(facts: &Facts, entry_bytes: f64) -> Self {
        let Fact { value: contents, basis } = &facts.contents;
        let bytes = |contents: f64, part: f64| contents.max(0.0) + part * entry_bytes;
        let how = format!("{ROOM}; {:.0} bytes an entry ({})", bytes(contents.mean_bytes, 1.0), basis.how);
        Self {
            likely: bytes(contents.mean_bytes, 1.0),
            // What an entry takes beside its contents is known within a factor.
            low: bytes(contents.mean_bytes - contents.error_bytes, 0.7),
            high: bytes(contents.mean_bytes + contents.error_bytes, 1.4),
            basis: Basis::of(&[basis, &facts.names.basis], how),
        }
    }

    /// Returns how many entries so many bytes are enough for; `None` if they cost nothing.
    fn entries(&self, bytes: u64) -> Option<Span> {
        let bytes = bytes as f64;
        (self.likely > 0.0).then(|| Span::rounded(bytes / self.likely, bytes / self.high, bytes / self.low))
    }
}

fn inodes(facts: &Facts) -> Option<Ceiling> {
    let space = &facts.space;
    if space.inodes == 0 {
        return None;
    }
    let used = space.inodes.saturating_sub(space.inodes_free) as f64 / space.inodes as f64;
    let basis = Basis::new(Known::Read, "statfs; an inode an entry");
    Some(Ceiling { limit: Limit::Inodes, more: Span::exact(space.inodes_free), used, basis })
}

fn blocks(facts: &Facts, cost: &Cost) -> Option<Ceiling> {
    let space = &facts.space;
    if space.blocks == 0 {
        return None;
    }
    let more = cost.entries(space.blocks_available.saturating_mul(space.unit_bytes))?;
    let used = space.blocks.saturating_sub(space.blocks_free);
    // As df has it: of what is not kept for root.
    let used = used as f64 / (used + space.blocks_available).max(1) as f64;
    Some(Ceiling { limit: Limit::Blocks, more, used, basis: cost.basis.clone() })
}

fn of_quota(quota: &Quota, cost: &Cost) -> Vec<Ceiling> {
    let limit = Limit::Quota(quota.of);
    let used = |(used, allowed): (u64, u64)| used as f64 / allowed.max(1) as f64;
    let inodes = quota.inodes.map(|inodes| Ceiling {
        limit,
        more: Span::exact(inodes.1.saturating_sub(inodes.0)),
        used: used(inodes),
        basis: Basis::new(Known::Read, "quota; an inode an entry"),
    });
    let bytes = quota.bytes.and_then(|bytes| {
        let more = cost.entries(bytes.1.saturating_sub(bytes.0))?;
        let basis = Basis::of(&[&cost.basis], cost.basis.how.replace("statfs", "quota"));
        Some(Ceiling { limit, more, used: used(bytes), basis })
    });
    inodes.into_iter().chain(bytes).collect()
}

/// Returns what applies to the file system as a whole.
pub(super) fn traps(facts: &Facts) -> Vec<Trap> {
    let mut traps = Vec::new();
    let space = &facts.space;
    let used = space.inodes.saturating_sub(space.inodes_free) as f64 / space.inodes.max(1) as f64;
    if space.inodes > 0 && used >= NEARLY_OUT {
        let cures = match facts.file_system {
            FileSystem::Tmpfs => vec![cure::tmpfs_inodes(facts)],
            FileSystem::Xfs => vec![cure::fixed_inodes(), cure::xfs_inodes(facts)],
            _ => vec![cure::fixed_inodes()],
        };
        let text = format!("{:.0} % of the file system's inodes are used.", 100.0 * used);
        traps.push(Trap { name: "inodes", text, cures });
    }
    traps.extend(facts.quotas.iter().filter_map(|quota| nearly_out_quota(facts, quota)));
    traps.extend(nearly_out_blocks(facts));
    traps.extend(long_names(facts));
    if facts.is_upper_layer {
        let text = "It is a directory of overlayfs: what is said here is of the upper layer, and a listing of merged \
                    layers is held in the kernel's memory."
            .into();
        traps.push(Trap { name: "overlay", text, cures: Vec::new() });
    }
    traps
}

fn nearly_out_quota(facts: &Facts, quota: &Quota) -> Option<Trap> {
    let used = |(used, allowed): (u64, u64)| used as f64 / allowed.max(1) as f64;
    let used = quota.bytes.map_or(0.0, used).max(quota.inodes.map_or(0.0, used));
    if used < NEARLY_OUT {
        return None;
    }
    let text = format!(
        "{:.0} % of the quota of {} is used; the error will be \"Disk quota exceeded\".",
        100.0 * used,
        quota.of
    );
    Some(Trap { name: "quota", text, cures: vec![cure::quota(quota.of, facts)] })
}

fn nearly_out_blocks(facts: &Facts) -> Option<Trap> {
    let space = &facts.space;
    let used = space.blocks.saturating_sub(space.blocks_free);
    let used = used as f64 / (used + space.blocks_available).max(1) as f64;
    if space.blocks == 0 || used < NEARLY_OUT {
        return None;
    }
    let text = format!("{:.0} % of the file system's space is used.", 100.0 * used);
    Some(Trap { name: "blocks", text, cures: vec![cure::blocks()] })
}

/// The longest name that eCryptfs takes, bytes: what is encrypted and encoded is longer.
const ECRYPTFS_BYTES_MAX: u16 = 143;

/// Names that other file systems would refuse.
fn long_names(facts: &Facts) -> Option<Trap> {
    let longest = facts.names.value.longest();
    let here = facts.space.name_bytes_max;
    if here > 0 && u64::from(longest) > here {
        let text =
            format!("Names of {longest} bytes are longer than the {here} that this file system takes.");
        return Some(Trap { name: "long-names", text, cures: Vec::new() });
    }
    if longest <= ECRYPTFS_BYTES_MAX || cfg!(windows) {
        return None;
    }
    let text = format!("Names of {longest} bytes: eCryptfs (encrypted homes) takes {ECRYPTFS_BYTES_MAX}.");
    Some(Trap { name: "long-names", text, cures: Vec::new() })
}
