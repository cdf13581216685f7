//! Raw data: every sample as compressed CSV inside the page.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::Page;
use crate::render::{COLUMNS, write_csv};
use crate::report::Report;
use crate::text;

/// Pages with more samples than this refer to the record instead.
const SAMPLES_MAX: usize = 50_000;

pub(super) fn section(page: &mut Page, report: &Report) {
    let samples = report.record.samples.len();
    page.element("h2", "The raw samples");
    let number = text::counted(samples as u64, "sample");
    match (samples <= SAMPLES_MAX).then(|| compressed(report)).flatten() {
        Some(data) => {
            let name: String = report.record.header.plan.study.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            page.push(&format!(
                "<p><a download=\"{name}-samples.csv.gz\" href=\"data:application/gzip;base64,{data}\">All {number} as CSV</a>, warm-up and voided ones \
                 included, compressed by gzip; {} columns, one row a block.</p>\n",
                COLUMNS.len()
            ));
        }
        None => page.paragraph(&format!(
            "{number} are too many for a page; `megadir bench report RECORD --format csv` writes them from the record."
        )),
    }
}

fn compressed(report: &Report) -> Option<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    write_csv(report, &mut encoder).ok()?;
    Some(STANDARD.encode(encoder.finish().ok()?))
}
