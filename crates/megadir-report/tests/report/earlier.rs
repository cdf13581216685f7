//! Records of earlier versions, one of each kind of work, are read and give the same figures as they did then.
//!
//! The records in `tests/data` are of format version 3, whose arms have names only.

use std::path::Path;

use crate::between::PLAIN;
use crate::golden::{golden, render};
use crate::published::record;

const RECORDS: [&str; 11] = [
    "attributes",
    "fill",
    "layout",
    "limits",
    "listing",
    "listing-fs",
    "lookup",
    "lookup-epochs",
    "remove",
    "smallfile",
    "stat-or-list",
];

#[test]
fn records_of_version_3_are_read_and_give_the_same_figures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for name in RECORDS {
        let record = record(&folder.join(format!("{name}.jsonl.gz")));
        for arm in &record.header.plan.arms {
            assert_eq!((&arm.axes.name(), &arm.axes.label), (&arm.name, &None), "{name}: {:?}", arm.axes);
        }
        golden(&format!("earlier/{name}.md"), &render("markdown", &record, 100, PLAIN));
    }
}
