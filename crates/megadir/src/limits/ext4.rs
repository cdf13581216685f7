//! ext2, ext3 and ext4: capacity of a directory's hash index.
//!
//! ```text
//! d = (length + 8 + 3) & ~3            bytes of an entry; + 8 in a directory that is casefolded and encrypted
//! cap = B - (csum ? 12 : 0)            bytes of a leaf for entries; B is the size of a block
//! R = (B - 32 - (csum ? 8 : 0)) / 8    entries of the root        P = 2^floor(log2 R)
//! N = (B - 8 - (csum ? 8 : 0)) / 8     entries of a node
//! L = entries that fit a leaf          cap / d rounded down; NameLengths::fitting for a mix
//! first refusal = (0.713 + 0.174 / sqrt(L) + 0.531 / sqrt(N)) * P * N * L    entries
//!          size = B * P * N * (1.039 + 0.52 w + 0.97 / sqrt(N))              bytes of the directory then
//!             w = 1 / L; E[d^2] / E[d] / cap for a mix
//! ```
//!
//! About half of the naive product, because nodes split in waves of doublings; once the root is full, the
//! first full node refuses an entry (`ext4_dx_add_entry`). The factors are fitted to a simulator of the split
//! rule, and checked on Linux 6.18 against 53 fills in 23 configurations (mean error 1.3 %, worst 3.1 %,
//! single fills up to 10 %) and 70 fills of mixes (means within 3 %, single fills -10 to +12 %).
//!
//! **Names that come and go** make the index grow without end: leaves are never merged, and only names with a nearby hash reuse
//! space. The growth factor after 20 turnovers, 1 + 6.27 L^(-2/3), fits fills with 1 KiB blocks (4.0, 2.69, 2.03 and 1.68 for L
//! = 3, 7, 14 and 25). With `large_dir` the index has three levels, and (0.693 - 0.268 / sqrt(L)) * P N² L entries fit: fills
//! with 1 KiB blocks and L = 3, 7 and 25 ended within 4 % of that.

mod traps;

use traps::traps;

use super::basis::{Basis, Fact, Known, Span};
use super::facts::{Ext4, Facts};
use super::model::{Ceiling, Gauge, Judgement, Limit, Model, Plan};
use super::name_lengths::NameLengths;
use crate::file_system::FileSystem;

/// No fill ended below this share of the formula ...
pub(crate) const LOW: f64 = 0.85;
pub(crate) const HIGH: f64 = 1.15;
/// The legacy hash crowds similar names: sequential names ended at 1.1 to 1.3 times the formula, others may end earlier.
const LEGACY: (f64, f64) = (0.5, 1.4);
/// Planned share if entries stay: a margin below [`LOW`].
const GROWING: f64 = 0.75;
/// Planned share if names come and go: at 69 %, some were refused after 2 to 4 turnovers.
const CHURNING: f64 = 0.45;
/// From here on, entries and size show when a directory is full, whatever the names ...
pub(crate) const GAUGE_ENTRIES_MIN: u64 = 20_000;
/// With fewer blocks, leaves split in waves, and the gauge was 5 % off.
const GAUGE_BLOCKS_MIN: u64 = 1000;
/// Less than this share of the entries expected at the size: the directory has shrunk.
const GROWN_MIN: f64 = 0.8;
/// More than this share: it was packed.
const GROWN_MAX: f64 = 1.25;
/// Without `large_dir` only 32 bits of the size are read back (`ext4_isize`).
const SIZE_BYTES_MAX: f64 = 4_294_967_296.0;
/// `EXT4_LINK_MAX` less two, without `dir_nlink`.
const DIRECTORIES_MAX: u64 = 64_998;
const BLOCK_BYTES_TRIED_MAX: u64 = 4096;

pub(super) static EXT4: Model = Model {
    file_system: FileSystem::Ext4,
    about: "a formula for the hash index, checked against fills of real images (Linux 6.18)",
    judge,
};

/// The features that decide about the size of an entry, a leaf and a node; everything else follows by the
/// formulas above. Encryption pads names, and a directory that is casefolded and encrypted stores the hash in
/// each entry (8 bytes).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    pub(crate) block_bytes: u64,
    pub(crate) metadata_csum: bool,
    pub(crate) large_dir: bool,
    /// Padded to a multiple of 32 bytes.
    pub(crate) encrypted: bool,
    pub(crate) hash_in_entry: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Capacity {
    pub(crate) entries: f64,
    pub(crate) bytes: f64,
    pub(crate) churning: f64,
}

impl Shape {
    pub(super) fn of(facts: &Facts, ext4: &Ext4) -> Self {
        let features = &ext4.features.value;
        Self {
            block_bytes: facts.space.block_bytes,
            metadata_csum: features.metadata_csum,
            large_dir: features.large_dir,
            encrypted: ext4.encrypted,
            hash_in_entry: ext4.casefolded && ext4.encrypted,
        }
    }

    pub(crate) fn entry_bytes(&self, name_bytes: u16) -> f64 {
        // Padded, by default to 32 bytes.
        let name_bytes = if self.encrypted { name_bytes.next_multiple_of(32).min(255) } else { name_bytes };
        f64::from(((name_bytes + 8 + 3) & !3) + if self.hash_in_entry { 8 } else { 0 })
    }

    pub(crate) fn capacity(&self, names: &NameLengths) -> Capacity {
        let tail = if self.metadata_csum { 8.0 } else { 0.0 };
        let block = self.block_bytes as f64;
        let leaf = block - if self.metadata_csum { 12.0 } else { 0.0 };
        let root = ((block - 32.0 - tail) / 8.0).floor().max(1.0);
        let node = ((block - 8.0 - tail) / 8.0).floor().max(1.0);
        let doubled = root.log2().floor().exp2();
        let size = |bytes| self.entry_bytes(bytes);
        let fitting = names.fitting(leaf, size).max(1.0);
        let mean = names.mean_of(size);
        let same = names.mean_of(|bytes| size(bytes) * size(bytes)) / (mean * mean) < 1.000_001;
        let waste =
            if same { 1.0 / fitting } else { names.mean_of(|bytes| size(bytes).powi(2)) / mean / leaf };
        let grown = 1.0 + 6.27 * waste.powf(2.0 / 3.0);
        let churning = CHURNING.min(LOW / grown);
        if self.large_dir {
            let leaves = doubled * node * node;
            let entries = (0.693 - 0.268 / fitting.sqrt()) * leaves * fitting;
            let bytes = (0.95 - 0.2 / fitting.sqrt()) * block * leaves;
            return Capacity { entries, bytes, churning: churning * entries };
        }
        let entries = (0.713 + 0.174 / fitting.sqrt() + 0.531 / node.sqrt()) * doubled * node * fitting;
        let bytes = block * doubled * node * (1.039 + 0.52 * waste + 0.97 / node.sqrt());
        let cut = (SIZE_BYTES_MAX / bytes).min(1.0);
        Capacity { entries: entries * cut, bytes: bytes * cut, churning: churning * entries * cut }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Past {
    Grown,
    /// Share of the entries expected at its size.
    Shrunk(f64),
    /// More entries than by growing.
    Packed,
}

fn judge(facts: &Facts, churn: bool) -> Judgement {
    let Some(ext4) = facts.ext4() else { return Judgement::default() };
    let shape = Shape::of(facts, ext4);
    let names = &facts.names.value;
    let entry_bytes = names.mean_of(|bytes| shape.entry_bytes(bytes));
    let mut judgement = Judgement { entry_bytes, ..Judgement::default() };
    let mut past = Past::Grown;
    if !is_linear(facts, ext4) {
        let index = Index::of(facts, ext4, shape);
        judgement.entry_bytes = index.capacity.bytes / index.capacity.entries;
        past = index.past;
        judgement.plan = Some(Plan {
            growing: (GROWING * index.capacity.entries) as u64,
            churning: index.capacity.churning as u64,
        });
        judgement.ceilings.push(index.ceiling(facts, churn));
        let basis = index.basis("formula of the index");
        judgement.capacity = Some(Fact { value: index.bounds(), basis });
        judgement.gauge = Some(index.gauge);
    }
    judgement.ceilings.extend(size_option(facts, judgement.entry_bytes));
    judgement.subdirectories = subdirectories(facts, ext4);
    judgement.ceilings.extend(judgement.subdirectories.as_ref().and_then(|left| link_count(facts, left)));
    judgement.traps = traps(facts, ext4, &judgement, past);
    judgement
}

pub(super) fn is_linear(facts: &Facts, ext4: &Ext4) -> bool {
    let several_blocks = facts.directory_bytes > facts.space.block_bytes;
    !ext4.features.value.dir_index || (several_blocks && ext4.indexed == Some(false))
}

/// `capacity` is what the formula gives for the names to come, and `gauge` the directory's present size
/// compared with that at the first refusal. `past` is what the two show about entries that were removed.
/// `scatter` is the measured factor between fills and the formula, below and above.
struct Index {
    capacity: Capacity,
    gauge: Gauge,
    past: Past,
    inputs: Basis,
    scatter: (f64, f64),
}

impl Index {
    fn of(facts: &Facts, ext4: &Ext4, shape: Shape) -> Self {
        let capacity = shape.capacity(&facts.names.value);
        let tried = shape.block_bytes <= BLOCK_BYTES_TRIED_MAX && !shape.encrypted && !shape.hash_in_entry;
        let untried = Basis::new(Known::Assumed, "such blocks are untested");
        let features = &ext4.features.basis;
        let of_size = if tried { Basis::of(&[features], "") } else { untried };
        let full_bytes = capacity.bytes.round() as u64;
        let how = format!("size at the first refusal by the formula, {}", features.how);
        let gauge = Gauge { bytes: facts.directory_bytes, full_bytes, basis: Basis::of(&[&of_size], how) };
        let inputs = Basis::of(&[&of_size, &facts.names.basis], "");
        let past = past(facts, &capacity, &gauge);
        let scatter = if ext4.features.value.legacy_hash { LEGACY } else { (LOW, HIGH) };
        Self { capacity, gauge, past, inputs, scatter }
    }

    fn bounds(&self) -> Span {
        let entries = self.capacity.entries;
        Span::rounded(entries, self.scatter.0 * entries, self.scatter.1 * entries)
    }

    fn basis(&self, how: &str) -> Basis {
        Basis::of(&[&self.inputs], how.to_owned())
    }

    fn reads_gauge(&self, facts: &Facts, now: Span) -> bool {
        let blocks = self.gauge.bytes / facts.space.block_bytes.max(1);
        now.high >= GAUGE_ENTRIES_MIN && blocks >= GAUGE_BLOCKS_MIN
    }

    /// Number of entries that still fit. The first row that applies has the best evidence at hand:
    ///
    /// ```text
    /// names come and go                      kept through 20 turnovers, less those present
    /// grown only, many entries, own names    entries now * full size / size now: needs no name lengths
    /// grown only, own names                  formula less those present
    /// has shrunk                             formula less a sixth at most: removed entries leave holes
    /// else (count unknown, other names)      the unused part of the formula
    /// ```
    fn ceiling(&self, facts: &Facts, churn: bool) -> Ceiling {
        let used = self.gauge.used();
        let all = self.capacity.entries;
        let now = facts.entries.as_ref();
        let left = (1.0 - used).max(0.0);
        // The length of other names is no evidence, but the current size is.
        let own_names = facts.names.basis.known == Known::Measured;
        let (more, basis) = match now {
            _ if churn => {
                let kept = self.capacity.churning;
                let kept = Span::rounded(kept, LOW * kept, HIGH * kept);
                let present = now.map_or(Span::exact((all * used) as u64), |now| now.value);
                let how = "entries kept through 20 turnovers of all names, as far as fills show";
                (kept.less(present), self.basis(how))
            }
            Some(now) if self.past == Past::Grown && own_names && self.reads_gauge(facts, now.value) => {
                let entries = now.value.likely as f64 / used;
                let full = Span::rounded(entries, self.scatter.0 * entries, self.scatter.1 * entries);
                let inputs = [&now.basis, &self.gauge.basis];
                (full.less(now.value), Basis::of(&inputs, "gauge: entries now, size now, size when full"))
            }
            Some(now) if self.past == Past::Grown && own_names => {
                (self.bounds().less(now.value), self.basis("formula minus present entries"))
            }
            Some(now) if matches!(self.past, Past::Shrunk(_)) => {
                // Fills of emptied and churned directories ended at 0.84 to 0.88 of the formula, and at 0.68
                // after the whole index had been in use: entries are refused near the parts in use.
                let refilled = all * (1.0 - 0.15 * used.min(1.0));
                let low = if used >= 0.95 { 0.0 } else { self.scatter.0 * refilled };
                let how = "formula minus at most a sixth, because it has held more";
                (Span::rounded(refilled, low, self.scatter.1 * all).less(now.value), self.basis(how))
            }
            _ => {
                let (low, high) = ((self.scatter.0 - used).max(0.0), (self.scatter.1 - used).max(0.0));
                (
                    Span::rounded(all * left, all * low, all * high),
                    self.basis("formula, for the rest of the index"),
                )
            }
        };
        Ceiling { limit: Limit::DirectoryIndex, more, used, basis }
    }
}

fn past(facts: &Facts, capacity: &Capacity, gauge: &Gauge) -> Past {
    let Some(entries) = &facts.entries else { return Past::Grown };
    // Few leaves have no meaningful mean, and the length of other names is no evidence.
    if facts.directory_bytes < 64 * facts.space.block_bytes || facts.names.basis.known != Known::Measured {
        let emptied = facts.directory_bytes >= 64 * facts.space.block_bytes && entries.value.high < 64;
        return if emptied { Past::Shrunk(0.0) } else { Past::Grown };
    }
    match entries.value.likely as f64 / (gauge.used() * capacity.entries) {
        part if part < GROWN_MIN => Past::Shrunk(part),
        part if part > GROWN_MAX => Past::Packed,
        _ => Past::Grown,
    }
}

fn size_option(facts: &Facts, entry_bytes: f64) -> Option<Ceiling> {
    let max_bytes = facts.max_dir_size_kib()?.saturating_mul(1024) as f64;
    let now_bytes = facts.directory_bytes as f64;
    let per_byte = match &facts.entries {
        Some(now) if now.value.likely >= GAUGE_ENTRIES_MIN => now.value.likely as f64 / now_bytes,
        _ => 1.0 / entry_bytes,
    };
    let entries = (max_bytes - now_bytes).max(0.0) * per_byte;
    let slack = facts.space.block_bytes as f64 * per_byte;
    let more = Span::rounded(entries, 0.8 * entries, 1.2 * entries + slack);
    let basis = Basis::of(&[&facts.names.basis], "mount option, and the bytes per entry");
    Some(Ceiling { limit: Limit::MountOption, more, used: now_bytes / max_bytes, basis })
}

/// The driver heeds dir_nlink only in a directory with an index (`EXT4_DIR_LINK_MAX`).
pub(super) fn counts_links(facts: &Facts, ext4: &Ext4) -> bool {
    !ext4.features.value.dir_nlink || is_linear(facts, ext4)
}

fn subdirectories(facts: &Facts, ext4: &Ext4) -> Option<Fact<Span>> {
    let how = match ext4.features.value.dir_nlink {
        true => "64 998 directories without an index, whatever dir_nlink is; links of the directory",
        false => "64 998 directories without dir_nlink; links of the directory",
    };
    let left = DIRECTORIES_MAX.saturating_sub(facts.links.saturating_sub(2));
    let basis = Basis::of(&[&ext4.features.basis], how);
    counts_links(facts, ext4).then_some(Fact { value: Span::exact(left), basis })
}

fn link_count(facts: &Facts, left: &Fact<Span>) -> Option<Ceiling> {
    if facts.directory_share <= 0.0 {
        return None;
    }
    let more = left.value.likely as f64 / facts.directory_share;
    let share = if facts.directory_share < 1.0 { 0.2 } else { 0.0 };
    let more = Span::rounded(more, more * (1.0 - share), more * (1.0 + share));
    let used = 1.0 - left.value.likely as f64 / DIRECTORIES_MAX as f64;
    Some(Ceiling { limit: Limit::LinkCount, more, used, basis: left.basis.clone() })
}

#[cfg(test)]
mod tests;
