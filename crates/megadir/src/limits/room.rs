//! Free inodes, blocks and quotas of the file system, the same for every model.

use super::basis::{Basis, Fact, Known, Span};
use super::cure::{self, Trap};
use super::facts::{BtrfsSpace, Details, Facts, Quota, Space};
use super::model::{Ceiling, Limit};
use crate::file_system::FileSystem;
use crate::mount_traits::InodeCount;

const ROOM: &str = if cfg!(windows) { "room of the volume" } else { "statfs" };
const NEARLY_OUT: f64 = 0.9;
/// Names of absent files are a hazard from a twentieth of the memory on.
const ABSENT_NAMES_SHARE: u64 = 20;

pub(super) fn ceilings(facts: &Facts, entry_bytes: f64) -> Vec<Ceiling> {
    let cost = Cost::of(facts, entry_bytes);
    let quotas = facts.quotas.iter().flat_map(|quota| of_quota(quota, &cost));
    inodes(facts).into_iter().chain(blocks(facts, &cost)).chain(quotas).collect()
}

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
        let how = format!("{ROOM}; {:.0} bytes per entry ({})", bytes(contents.mean_bytes, 1.0), basis.how);
        Self {
            likely: bytes(contents.mean_bytes, 1.0),
            low: bytes(contents.low_bytes, 0.7),
            high: bytes(contents.high_bytes, 1.4),
            basis: Basis::of(&[basis, &facts.names.basis], how),
        }
    }

    fn entries(&self, bytes: u64) -> Option<Span> {
        let bytes = bytes as f64;
        (self.likely > 0.0).then(|| Span::rounded(bytes / self.likely, bytes / self.high, bytes / self.low))
    }
}

pub(super) fn read_only() -> Ceiling {
    let basis = Basis::new(Known::Read, ROOM);
    Ceiling { limit: Limit::ReadOnly, more: Span::exact(0), used: 1.0, basis }
}

fn inodes(facts: &Facts) -> Option<Ceiling> {
    let space = &facts.space;
    let counted = inode_count(facts);
    if space.inodes == 0 || matches!(counted, InodeCount::Invented | InodeCount::Nothing) {
        return None;
    }
    let used = inodes_used(space);
    let (mut more, mut how) = (Span::exact(space.inodes_free), "statfs; one inode per entry");
    if counted == InodeCount::OfFreeBlocks {
        // 0 are free blocks, which have a limit of their own.
        if space.inodes_free == 0 {
            return None;
        }
        more.low = more.likely / 2;
        how = "statfs computes the number from free blocks, which entries take too: at most";
    }
    if facts.file_system == FileSystem::Xfs {
        // statfs derives the number from free blocks; XFS allocates chunks of 64 inodes.
        let slack = XFS_CHUNK_INODES.max(space.inodes_free / 100);
        more.low = more.likely.saturating_sub(slack);
        more.high = more.likely.saturating_add(slack);
        how = "statfs; XFS allocates inodes in chunks of 64";
    }
    Some(Ceiling { limit: Limit::Inodes, more, used, basis: Basis::new(Known::Read, how) })
}

/// By the mount, or without one by the visible file system: a stated one does not make a server's number true.
fn inode_count(facts: &Facts) -> InodeCount {
    // The constant of a driver that does not count.
    if facts.space.inodes == u64::MAX { InodeCount::Invented } else { facts.mount_traits().inode_count }
}

/// Four allocation groups.
const XFS_CHUNK_INODES: u64 = 4 * 64;

/// If sysfs does not show ext4's own reserve (`ext4_calculate_resv_clusters`): a fiftieth of all blocks,
/// including metadata blocks, which statfs leaves out.
pub(super) fn ext4_reserve(space: &Space) -> u64 {
    const EXT4_RESERVE_MAX: u64 = 4096;
    (space.blocks / 40).min(EXT4_RESERVE_MAX)
}

fn blocks(facts: &Facts, cost: &Cost) -> Option<Ceiling> {
    let space = &facts.space;
    if space.blocks == 0 {
        return None;
    }
    if let Details::Btrfs(Some(btrfs)) = &facts.details {
        return Some(chunks(facts, btrfs));
    }
    let more = cost.entries(space.blocks_available.saturating_mul(space.unit_bytes))?;
    Some(Ceiling { limit: Limit::Blocks, more, used: blocks_used(space), basis: cost.basis.clone() })
}

fn inodes_used(space: &Space) -> f64 {
    space.inodes.saturating_sub(space.inodes_free) as f64 / space.inodes.max(1) as f64
}

/// As in df, without root's reserve.
fn blocks_used(space: &Space) -> f64 {
    let used = space.blocks.saturating_sub(space.blocks_free);
    used as f64 / (used + space.blocks_available).max(1) as f64
}

fn quota_used((used, allowed): (u64, u64)) -> f64 {
    used as f64 / allowed.max(1) as f64
}

/// Left when btrfs refuses a create, beyond the global reserve: 3.9 MB in all fills of small images.
const BTRFS_UNUSED_BYTES: f64 = (4 << 20) as f64;

/// Entries fill metadata chunks; contents fill data chunks, or metadata chunks if they are small or chunks
/// are mixed. Both are taken from unallocated space.
fn chunks(facts: &Facts, btrfs: &BtrfsSpace) -> Ceiling {
    let contents = &facts.contents.value;
    let entry_bytes = super::others::btrfs_entry_bytes(facts);
    let in_metadata = btrfs.is_mixed || contents.high_bytes <= facts.space.packed_bytes_max as f64;
    let (metadata_free, all) = (btrfs.metadata_free_bytes as f64, btrfs.unallocated_bytes as f64);
    let data_free = btrfs.data_free_bytes as f64;
    let fits = |entry: f64, contents: f64, unused: f64, unallocated: f64| {
        let (metadata, data) = if in_metadata { (entry + contents, 0.0) } else { (entry, contents) };
        let free = metadata_free - unused;
        let needs = |entries: f64| {
            let more = (entries * metadata - free).max(0.0) * btrfs.metadata_copies as f64;
            more + (entries * data - data_free).max(0.0)
        };
        let (mut low, mut high) = (0.0, (metadata_free + unallocated) / metadata.max(1.0));
        for _ in 0..64 {
            let middle = (low + high) / 2.0;
            if needs(middle) <= unallocated { low = middle } else { high = middle }
        }
        low
    };
    // A metadata chunk, up to an eighth of the device, may stay empty while contents grow.
    let (likely_part, low_part) = if in_metadata { (1.0, 0.9) } else { (0.94, 0.8) };
    let more = Span::rounded(
        fits(entry_bytes, contents.mean_bytes, BTRFS_UNUSED_BYTES, likely_part * all),
        fits(1.4 * entry_bytes, contents.high_bytes, 2.0 * BTRFS_UNUSED_BYTES, low_part * all),
        fits(0.85 * entry_bytes, contents.low_bytes, 0.0, all),
    );
    let space = &facts.space;
    let used = space.blocks.saturating_sub(space.blocks_free) as f64 / space.blocks.max(1) as f64;
    let how = format!(
        "chunks by sysfs; {entry_bytes:.0} bytes of metadata per entry, {}",
        facts.contents.basis.how
    );
    let basis = Basis::of(&[&facts.contents.basis, &facts.names.basis], how);
    Ceiling { limit: Limit::Blocks, more, used, basis }
}

fn of_quota(quota: &Quota, cost: &Cost) -> Vec<Ceiling> {
    let limit = Limit::Quota(quota.of);
    let inodes = quota.inodes.map(|inodes| Ceiling {
        limit,
        more: Span::exact(inodes.1.saturating_sub(inodes.0)),
        used: quota_used(inodes),
        basis: Basis::new(Known::Read, "quota; one inode per entry"),
    });
    let bytes = quota.bytes.and_then(|bytes| {
        let more = cost.entries(bytes.1.saturating_sub(bytes.0))?;
        let basis = Basis::of(&[&cost.basis], cost.basis.how.replace("statfs", "quota"));
        Some(Ceiling { limit, more, used: quota_used(bytes), basis })
    });
    inodes.into_iter().chain(bytes).collect()
}

pub(super) fn trap_of(limit: Limit) -> Option<&'static str> {
    match limit {
        Limit::Inodes => Some(INODES),
        Limit::Blocks => Some(BLOCKS),
        Limit::Quota(_) => Some(QUOTA),
        _ => None,
    }
}

const INODES: &str = "inodes";
const BLOCKS: &str = "blocks";
const QUOTA: &str = "quota";

pub(super) fn traps(facts: &Facts) -> Vec<Trap> {
    let mut traps = Vec::new();
    let used = inodes_used(&facts.space);
    if used >= NEARLY_OUT && inode_count(facts) == InodeCount::Counted {
        let text = format!("{:.0} % of the file system's inodes are used.", 100.0 * used);
        traps.push(Trap { name: INODES, text, cures: cure::inodes(facts) });
    }
    traps.extend(facts.quotas.iter().filter_map(|quota| nearly_out_quota(facts, quota)));
    traps.extend(nearly_out_blocks(facts));
    traps.extend(long_names(facts));
    traps.extend(linear(facts));
    if facts.is_upper_layer {
        let text = "The directory is on overlayfs: the limits are those of the upper layer, and the kernel holds a listing \
                    of merged layers in memory."
            .into();
        traps.push(Trap { name: "overlay", text, cures: Vec::new() });
    }
    traps.extend(absent_names(facts));
    traps
}

/// Look-ups of names that do not exist, which a cache of files makes with every miss.
fn absent_names(facts: &Facts) -> Option<Trap> {
    let names =
        facts.absent_names.filter(|names| names.bytes() >= names.memory_bytes / ABSENT_NAMES_SHARE)?;
    let text = format!(
        "The kernel has {:.1} million names of files that do not exist in its cache (negative dentries, at least {:.1} GB of \
         memory): each look-up of such a name leaves one, in any directory. Removing a directory of a million of them takes \
         about a second longer; listing it does not.",
        names.count as f64 / 1e6,
        names.bytes() as f64 / 1e9
    );
    Some(Trap { name: "absent-names", text, cures: vec![cure::absent_names()] })
}

fn nearly_out_quota(facts: &Facts, quota: &Quota) -> Option<Trap> {
    let used = quota.bytes.map_or(0.0, quota_used).max(quota.inodes.map_or(0.0, quota_used));
    if used < NEARLY_OUT {
        return None;
    }
    let text = format!(
        "{:.0} % of the quota of {} is used; the error will be \"Disk quota exceeded\".",
        100.0 * used,
        quota.of
    );
    Some(Trap { name: QUOTA, text, cures: vec![cure::quota(quota.of, facts)] })
}

fn nearly_out_blocks(facts: &Facts) -> Option<Trap> {
    let used = blocks_used(&facts.space);
    if facts.space.blocks == 0 || used < NEARLY_OUT {
        return None;
    }
    let text = format!("{:.0} % of the file system's space is used.", 100.0 * used);
    Some(Trap { name: BLOCKS, text, cures: vec![cure::blocks()] })
}

/// `true` if a create searches all names of its directory: by the table of mounts, and case-insensitive directories of ext4.
/// ext2 and ext4 without `dir_index` are in their model.
pub fn is_linear(facts: &Facts) -> bool {
    match facts.ext4() {
        Some(ext4) => ext4.casefolded,
        None => facts.mount_traits().searches_linearly,
    }
}

fn linear(facts: &Facts) -> Option<Trap> {
    let text = match facts.ext4() {
        _ if !is_linear(facts) => return None,
        Some(ext4) if ext4.casefolded => {
            "Names are case-insensitive here: since Linux 6.12 a create also searches the directory name by name, so that it takes \
             longer with every name (15 times longer at 3 000 names)."
        }
        Some(_) => return None,
        None => {
            "Directories of this file system have no index: every create searches all names of its directory, so that it takes \
             longer with every name."
        }
    };
    let text = format!("{text} Spread the entries from about a thousand on.");
    Some(Trap { name: "linear", text, cures: vec![cure::spread()] })
}

const ECRYPTFS_BYTES_MAX: u16 = 143;

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
