//! Traps of ext4 directories.

use super::{GROWN_MIN, Past, Shape, counts_links, is_linear};
use crate::limits::cure::{self, Trap};
use crate::limits::facts::{Ext4, Facts};
use crate::limits::model::Judgement;
use crate::sizes;

const NEARLY_FULL: f64 = 0.75;
/// Share of the entries that churn leaves at the directory's size.
const HOLLOW: f64 = 0.6;
/// Smaller hollow directories are fast to list.
const HOLLOW_BYTES_MIN: u64 = 256 << 10;

pub(super) fn traps(facts: &Facts, ext4: &Ext4, judgement: &Judgement, past: Past) -> Vec<Trap> {
    let traps = [
        full(facts, judgement),
        small_blocks(facts, ext4, judgement),
        linear(facts, ext4),
        shrunk(facts, judgement, past),
        size_option(facts),
        link_count(facts, ext4),
    ];
    traps.into_iter().flatten().collect()
}

fn full(facts: &Facts, judgement: &Judgement) -> Option<Trap> {
    let used = judgement.gauge.as_ref()?.used();
    let text = match used {
        used if used >= 1.0 => {
            "The index has the size at which creates begin to fail with \"No space left on device\": one name may fail again \
             and again while another succeeds."
        }
        used if used >= NEARLY_FULL => {
            "The index is nearly full. At first single names fail, again and again, while others succeed."
        }
        _ => return None,
    };
    Some(Trap { name: "index-full", text: text.into(), cures: cure::full_index(facts) })
}

fn small_blocks(facts: &Facts, ext4: &Ext4, judgement: &Judgement) -> Option<Trap> {
    let block_bytes = facts.space.block_bytes;
    let now = judgement.capacity.as_ref()?.value.likely;
    if block_bytes >= 4096 || ext4.features.value.large_dir {
        return None;
    }
    let names = &facts.names.value;
    let usual = Shape { block_bytes: 4096, ..Shape::of(facts, ext4) }.capacity(names).entries;
    let text = format!(
        "Blocks of {block_bytes} bytes, typical of images that were created small and grown: a directory takes about \
         {:.0} times fewer entries than with 4096.",
        usual / now.max(1) as f64
    );
    let cures = vec![
        cure::spread(),
        cure::large_dir(facts),
        cure::Cure::new("move to a file system with blocks of 4096 bytes; the block size cannot be changed"),
    ];
    Some(Trap { name: "small-blocks", text, cures })
}

fn linear(facts: &Facts, ext4: &Ext4) -> Option<Trap> {
    if !is_linear(facts, ext4) {
        return None;
    }
    let by = if ext4.features.value.dir_index {
        "This directory has"
    } else {
        "Directories of this file system have"
    };
    let text = format!(
        "{by} no hash index: every look-up and create reads the whole directory (10 times slower at 40 000 entries). \
         Blocks and inodes limit it, and the link count its subdirectories."
    );
    let cure = if ext4.features.value.dir_index { cure::renew(facts) } else { cure::dir_index(facts) };
    Some(Trap { name: "linear", text, cures: vec![cure] })
}

fn shrunk(facts: &Facts, judgement: &Judgement, past: Past) -> Option<Trap> {
    let Past::Shrunk(part) = past else { return None };
    let churning = judgement.plan?.churning as f64 / judgement.capacity.as_ref()?.value.likely as f64;
    if part < HOLLOW * churning && facts.directory_bytes >= HOLLOW_BYTES_MIN {
        let text = format!(
            "The directory is hollow: it has held far more entries, and ext4 directories never shrink. Listing it reads {}.",
            sizes::text(facts.directory_bytes)
        );
        return Some(Trap { name: "hollow", text, cures: vec![cure::renew(facts)] });
    }
    let plan = judgement.plan.map_or(0, |plan| plan.churning);
    let text = format!(
        "Names have come and gone: the directory holds {:.0} % of the entries that fit its size without \
         removals (below {:.0} % counts as churn). Only names with a similar hash reuse the space of a \
         removed name, so the index keeps growing. \
         Keep at most {plan} entries, and watch its size (megadir limits --watch).",
        100.0 * part,
        100.0 * GROWN_MIN
    );
    Some(Trap { name: "churn", text, cures: vec![cure::renew(facts), cure::spread()] })
}

fn size_option(facts: &Facts) -> Option<Trap> {
    let kib = facts.max_dir_size_kib()?;
    let text = format!(
        "It is mounted with max_dir_size_kb={kib}, which limits the size of every directory; the error is \"No space left on device\"."
    );
    Some(Trap { name: "max-dir-size", text, cures: vec![cure::max_dir_size(facts)] })
}

fn link_count(facts: &Facts, ext4: &Ext4) -> Option<Trap> {
    if !counts_links(facts, ext4) || (facts.directory_share < 0.5 && facts.links < 32_000) {
        return None;
    }
    let (without, cure) = match (ext4.features.value.dir_nlink, ext4.features.value.dir_index) {
        (false, _) => ("Without dir_nlink", cure::dir_nlink(facts)),
        (true, true) => ("Without an index, dir_nlink has no effect:", cure::renew(facts)),
        (true, false) => ("Without an index, dir_nlink has no effect:", cure::dir_index(facts)),
    };
    let text = format!(
        "{without} a directory holds at most 64 998 directories; then mkdir fails with \"Too many links\", and files can still be \
         created."
    );
    Some(Trap { name: "few-links", text, cures: vec![cure, cure::spread()] })
}
