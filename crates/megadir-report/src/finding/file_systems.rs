//! The rule about claims that compare file systems, which a run on one of them cannot tell.

use super::source::claims;
use super::{Finding, FindingKind};
use crate::summary::Summary;

/// Tells that such claims of the source are not judged, and why.
pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let Some(claims) = claims(&summary.study) else { return Vec::new() };
    let told = claims.of_file_systems.map(|words| {
        let kind = &summary.machine.file_system.kind;
        let text = format!(
            "What {} says of file systems ({words}) cannot be told here: one file system was measured ({kind}), and it speaks of \
             disks only.",
            claims.who
        );
        Finding { kind: FindingKind::FileSystems, group: None, loud: false, text }
    });
    told.into_iter().collect()
}
