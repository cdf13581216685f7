//! Whole tables of file systems: among equals, hardly any table names or marks a winner; a real winner is
//! found.

use megadir_record::Record;
use megadir_report::{Style, render};

use crate::file_systems::record;
use crate::report_on;

/// A record with the same times on every file system, except noise in each sample; the first takes `factor`
/// times as long.
fn equals(seed: u64, noise: f64, factor: f64) -> Record {
    let mut record = record();
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut unit = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    for sample in &mut record.samples {
        let of_first = if sample.cell.0 < 3 { factor } else { 1.0 };
        let normal = (-2.0 * (1.0 - unit()).ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
        sample.elapsed_ns = (1e9 * of_first * (noise * normal).exp()) as u64;
    }
    record
}

#[test]
fn among_equals_a_winner_or_a_mark_is_set_on_few_screens() {
    const SCREENS: u64 = 100;
    let named = (0..SCREENS).filter(|seed| {
        let report = report_on(&equals(*seed, 0.3, 1.0)).unwrap();
        let overview = report.summary.overview.as_ref().expect("several file systems");
        let winner = report.findings.iter().any(|finding| finding.text.contains("is the fastest;"));
        let marked = overview.rows.iter().any(|row| row.fastest.is_some());
        winner || marked
    });
    let named = named.count();
    assert!(named as u64 <= SCREENS / 20, "{named} of {SCREENS}");
}

#[test]
fn equals_are_called_not_distinguishable_and_ten_percent_a_winner() {
    let report = report_on(&equals(7, 0.02, 1.0)).unwrap();
    let headline = &report.findings[0].text;
    assert!(
        headline.contains("no file system is shown to be the fastest: ext2 (ext4 driver), ext3 (ext4 driver), ext4 and xfs are not distinguishable by more than 3 %"),
        "{headline}"
    );
    let table = render::table(&report, 200, Style { color: false, unicode: true });
    assert!(table.contains("in 3 of 3 rows no file system is.") && !table.contains("%*"), "{table}");
    let report = report_on(&equals(7, 0.02, 0.9)).unwrap();
    let headline = &report.findings[0].text;
    assert!(
        headline.contains("ext2 (ext4 driver) is the fastest; the time of the others against it"),
        "{headline}"
    );
    let overview = report.summary.overview.as_ref().expect("several file systems");
    assert!(overview.rows.iter().all(|row| row.fastest == Some(0)));
}
