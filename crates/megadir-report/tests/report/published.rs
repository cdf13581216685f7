//! The pages of the published records match the current reports of these records.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use megadir_record::{Record, jsonl};

use crate::between::PLAIN;
use crate::golden::{golden, render};

/// Files, their formats, and the fence around the report on a page with other content.
const PAGES: [(&str, &str, &str, Option<&str>); 4] = [
    ("2026-11-21-listing-ext4", "record.jsonl", "markdown", None),
    ("2026-11-21-lookup-ext4", "record.jsonl.gz", "markdown", None),
    ("2026-11-22-commands", "record.jsonl", "table", Some("```")),
    ("2026-11-22-smallfile-file-systems", "record.jsonl.gz", "table", Some("```")),
];

pub(crate) fn record(path: &Path) -> Record {
    let file = File::open(path).expect("the record is in the repository");
    let text: Box<dyn Read> = match path.extension() {
        Some(extension) if extension == "gz" => Box::new(GzDecoder::new(file)),
        _ => Box::new(file),
    };
    jsonl::read(BufReader::new(text)).expect("a published record is whole")
}

#[test]
fn pages_of_published_records_match_current_reports() {
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
    for (folder, file, format, fence) in PAGES {
        let report = render(format, &record(&records.join(folder).join(file)), 100, PLAIN);
        let page = std::fs::read_to_string(records.join(folder).join("README.md")).expect("it has a page");
        let expected = match fence {
            None => report,
            Some(fence) => {
                let mut parts: Vec<&str> = page.split(fence).collect();
                let block = format!("text\n{}\n", report.trim_end());
                *parts.get_mut(1).expect("a fenced block") = &block;
                parts.join(fence)
            }
        };
        golden(&format!("../../../../records/{folder}/README.md"), &expected);
    }
}
