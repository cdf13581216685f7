//! Traps of ext4 directories: small blocks, no index, churn, hollow directories, full ones.

use super::{GROWN_MIN, Past, Shape, is_linear};
use crate::limits::cure;
use crate::limits::facts::{Ext4, Facts};
use crate::limits::model::Judgement;
use crate::limits::trap::Trap;

/// Warn from this share of the index.
const NEARLY_FULL: f64 = 0.75;
/// Below this share of the entries that churn leaves at its size, a directory was emptied, not only churned.
const HOLLOW: f64 = 0.6;
/// Smaller hollow directories are fast to list.
const HOLLOW_BYTES_MIN: u64 = 256 << 10;

pub(super) fn traps(facts: &Facts, ext4: &Ext4, judgement: &Judgement, past: Past) -> Vec<Trap> {
    let mut traps = Vec::new();
    traps.extend(full(facts, ext4, judgement));
    traps.extend(small_blocks(facts, ext4, judgement));
    traps.extend(linear(facts, ext4));
    traps.extend(shrunk(facts, judgement, past));
    traps.extend(size_option(facts));
    traps.extend(link_count(facts, ext4));
    traps
}

fn full(facts: &Facts, ext4: &Ext4, judgement: &Judgement) -> Option<Trap> {
    let used = judgement.gauge.as_ref()?.used();
    let text = match used {
        used if used >= 1.0 => {
            "The index is as large as it is when entries begin to be refused with \"No space left on device\": one name may \
             fail, again and again, while another is taken."
        }
        used if used >= NEARLY_FULL => {
            "The index is nearly full. The first refusals come singly: one name fails, again and again, while another is \
             taken."
        }
        _ => return None,
    };
    let mut cures = vec![cure::spread()];
    if !ext4.features.value.large_dir {
        cures.push(cure::large_dir(facts));
    }
    Some(Trap { name: "index-full", text: text.into(), cures })
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
        "Blocks of {block_bytes} bytes, as images have that were made small and grown: a directory takes about {:.0} times \
         fewer entries than with 4096.",
        usual / now.max(1) as f64
    );
    let cures = vec![
        cure::spread(),
        cure::large_dir(facts),
        cure::Cure::new("move to a file system with blocks of 4096 bytes; of this one the size is fixed"),
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
         Nothing but blocks, inodes and patience bounds it."
    );
    let cure = if ext4.features.value.dir_index { cure::renew(facts) } else { cure::dir_index(facts) };
    Some(Trap { name: "linear", text, cures: vec![cure] })
}

fn shrunk(facts: &Facts, judgement: &Judgement, past: Past) -> Option<Trap> {
    let Past::Shrunk(part) = past else { return None };
    let churning = judgement.plan?.churning as f64 / judgement.capacity.as_ref()?.value.likely as f64;
    if part < HOLLOW * churning && facts.directory_bytes >= HOLLOW_BYTES_MIN {
        let text = format!(
            "It is hollow: it has held far more entries, and a directory of ext4 never shrinks. {} KiB are read to list it.",
            facts.directory_bytes >> 10
        );
        return Some(Trap { name: "hollow", text, cures: vec![cure::renew(facts)] });
    }
    let plan = judgement.plan.map_or(0, |plan| plan.churning);
    let text = format!(
        "Names have come and gone: it holds {:.0} % of what a directory of its size does that was only added to (below {:.0} % \
         counts). The room of a removed name is found again only by names whose hash is near, so the index grows on; keep \
         at most {plan} entries, and watch its size (megadir limits --watch).",
        100.0 * part,
        100.0 * GROWN_MIN
    );
    Some(Trap { name: "churn", text, cures: vec![cure::renew(facts), cure::spread()] })
}

fn size_option(facts: &Facts) -> Option<Trap> {
    let mount = facts.mount.as_ref()?;
    let kib = mount.option("max_dir_size_kb").filter(|kib| *kib != "0")?;
    let text = format!(
        "It is mounted with max_dir_size_kb={kib}: no directory grows beyond, and the error is \"No space left on device\"."
    );
    Some(Trap { name: "max-dir-size", text, cures: vec![cure::max_dir_size(facts)] })
}

fn link_count(facts: &Facts, ext4: &Ext4) -> Option<Trap> {
    if ext4.features.value.dir_nlink || (facts.directory_share < 0.5 && facts.links < 32_000) {
        return None;
    }
    let text =
        "Without dir_nlink a directory takes 64 998 directories, and then says \"Too many links\".".into();
    Some(Trap { name: "few-links", text, cures: vec![cure::dir_nlink(facts), cure::spread()] })
}
