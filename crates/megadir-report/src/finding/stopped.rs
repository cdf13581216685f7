//! Finding on stopped arms: the number of entries at which a directory took no more names.

use super::{Finding, FindingKind};
use crate::summary::{Stopped, Summary};
use crate::text;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let entries = || summary.stopped.iter().map(|stopped| stopped.entries);
    let (Some(least), Some(most)) = (entries().min(), entries().max()) else { return Vec::new() };
    let at = match least == most {
        true => text::entries(least),
        false => format!("{} to {}", text::count(least), text::entries(most)),
    };
    let arm =
        |stopped: &Stopped| format!("{} at {}", summary.arm_name(stopped.arm), text::count(stopped.entries));
    let arms: Vec<String> = summary.stopped.iter().map(arm).collect();
    let text = format!(
        "A directory took no more names at {at}: its index was full, while blocks and inodes were free. The arms that met it were \
         stopped, with what works on their files, and have no times beyond: {}.",
        text::list(&arms)
    );
    vec![Finding { kind: FindingKind::Refusal, group: None, loud: false, text }]
}
