//! ext4 images filled until the first refusal, compared with predictions made before and on the way.
//!
//! Names and hashes follow from seeds, so an image always fills in the same way. The seeds are 1, 2, 3 and so
//! on, none selected. Results scatter most where leaves are few or uneven, so there are more images of long
//! names and mixes.

use megadir::limits::{Limit, Limits};
use megadir_testkit::require;
use megadir_testkit::require::full;
use rustix::io::Errno;

use crate::image::{Names, Shape};

/// Maximum relative difference between a prediction and the mean of the images.
const TOLERANCE: f64 = 0.05;
/// Number of entries from which predictions from the directory's size are compared.
const GAUGE_FROM: u64 = 20_000;
/// Mixes in equal parts: mild, and as uneven as possible.
const MILD: &[u16] = &[8, 16, 24, 32, 40, 48, 56, 64];
const UNEVEN: &[u16] = &[8, 32, 255];

/// Result of one configuration.
struct Filled {
    /// Entries at the first refusal, per image.
    entries: Vec<u64>,
    /// Predicted in advance.
    predicted: f64,
    safe: u64,
    /// Per mark: number of entries, and the totals predicted there, per image.
    marks: Vec<(u64, Vec<f64>)>,
}

fn fill(
    block_bytes: u64,
    metadata_csum: bool,
    lengths: &'static [u16],
    images: u64,
) -> Result<Filled, String> {
    let mut filled = Filled { entries: Vec::new(), predicted: 0.0, safe: 0, marks: Vec::new() };
    let expected = expected_entries(block_bytes, lengths);
    for seed in 1..=images {
        let directory_bytes = if block_bytes == 1024 { 16 << 20 } else { 100 << 20 };
        let shape = Shape {
            block_bytes,
            metadata_csum,
            features: "",
            inodes: expected * 13 / 10,
            directory_bytes,
            seed,
        };
        let image = shape.make()?;
        let names = Names { lengths, seed };
        let before = image.limits_of(&names.text());
        let capacity = before.judgement.capacity.as_ref().unwrap().value;
        (filled.predicted, filled.safe) = (capacity.likely as f64, capacity.low);
        let mut mark = GAUGE_FROM;
        let mut seen: Vec<(u64, f64)> = Vec::new();
        let (entries, error) = image.fill(&names, 0, |index| {
            if index == mark {
                seen.push((mark, in_all(&image.limits(), index)));
                mark *= 2;
            }
        });
        assert_eq!(error, Errno::NOSPC);
        assert_eq!(image.limits().ceilings[0].limit, Limit::DirectoryIndex);
        filled.entries.push(entries);
        for (mark, predicted) in seen {
            match filled.marks.iter_mut().find(|(known, _)| *known == mark) {
                Some((_, all)) => all.push(predicted / entries as f64),
                None => filled.marks.push((mark, vec![predicted / entries as f64])),
            }
        }
    }
    Ok(filled)
}

/// Total predicted from the directory's index: present and future entries.
fn in_all(limits: &Limits, entries: u64) -> f64 {
    let of_index = limits.ceilings.iter().find(|ceiling| ceiling.limit == Limit::DirectoryIndex).unwrap();
    let blocks = limits.facts.directory_bytes / limits.facts.space.block_bytes;
    assert_eq!(of_index.basis.how.starts_with("gauge"), blocks >= 1000, "{}", of_index.basis);
    (entries + of_index.more.likely) as f64
}

/// Estimated capacity, to make the image large enough.
fn expected_entries(block_bytes: u64, lengths: &[u16]) -> u64 {
    let scale = if block_bytes == 1024 { 1 } else { 8 };
    let mean = lengths.iter().map(|length| u64::from(*length) + 9).sum::<u64>() / lengths.len() as u64;
    8_000_000 * scale / mean
}

/// Asserts that a configuration filled as predicted, and prints the figures. Without the full tier a third of
/// the images, where results scatter least a single one.
#[expect(clippy::print_stdout, reason = "the figures of the full tier are of interest")]
fn check(block_bytes: u64, metadata_csum: bool, lengths: &'static [u16], images: u64) {
    let images = if full() { images } else { images / 3 };
    let filled = require!(fill(block_bytes, metadata_csum, lengths, images));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let entries: Vec<f64> = filled.entries.iter().map(|entries| *entries as f64).collect();
    let measured = mean(&entries);
    let (least, most) = (filled.entries.iter().min().unwrap(), filled.entries.iter().max().unwrap());
    let summary = format!(
        "{block_bytes} bytes, csum {}, names of {lengths:?}: predicted {:.0}, measured {measured:.0} ({:+.1} %), {images} \
         images {least} to {most}, safe {}",
        if metadata_csum { "on" } else { "off" },
        filled.predicted,
        100.0 * (filled.predicted / measured - 1.0),
        filled.safe
    );
    println!("{summary}");
    for (mark, parts) in &filled.marks {
        println!("  gauge at {mark}: {:+.1} % ({} images)", 100.0 * (mean(parts) - 1.0), parts.len());
    }
    assert!((filled.predicted / measured - 1.0).abs() <= TOLERANCE, "{summary}");
    assert!(filled.safe <= *least, "{summary}");
    for (mark, parts) in &filled.marks {
        // A mark that only some images reached depends on the selection of images.
        if parts.len() as u64 == images {
            assert!((mean(parts) - 1.0).abs() <= TOLERANCE, "{summary}; gauge at {mark}: {parts:?}");
        }
    }
}

#[test]
fn names_of_8_characters_with_1_kib() {
    check(1024, true, &[8], 3);
}

#[test]
fn names_of_8_characters_with_1_kib_without_csum() {
    check(1024, false, &[8], 3);
}

#[test]
fn names_of_32_characters_with_1_kib() {
    check(1024, true, &[32], 9);
    check(1024, false, &[32], 9);
}

#[test]
fn names_of_64_characters_with_1_kib() {
    check(1024, true, &[64], 4);
    check(1024, false, &[64], 4);
}

#[test]
fn names_of_255_characters_with_1_kib() {
    check(1024, true, &[255], 12);
    check(1024, false, &[255], 12);
}

#[test]
fn mixed_names_with_1_kib() {
    check(1024, true, MILD, 3);
    check(1024, false, MILD, 3);
    check(1024, true, UNEVEN, 12);
    check(1024, false, UNEVEN, 12);
}

#[test]
fn names_of_8_characters_with_2_kib() {
    if full() {
        check(2048, true, &[8], 4);
        check(2048, false, &[8], 6);
    }
}

#[test]
fn longer_names_with_2_kib() {
    for lengths in [&[32][..], &[64], &[255], MILD, UNEVEN] {
        for metadata_csum in [true, false] {
            if full() {
                check(2048, metadata_csum, lengths, if lengths.len() == 3 { 6 } else { 3 });
            }
        }
    }
}
