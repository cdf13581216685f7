//! Finding on stopped arms: the number of entries at which a directory took no more names.

use megadir_record::Work;

use super::{Finding, FindingKind};
use crate::summary::{Stopped, Summary};
use crate::text;

pub(super) fn find(summary: &Summary) -> Vec<Finding> {
    let of_program = |stopped: &&Stopped| {
        summary.arm(stopped.arm).is_some_and(|arm| matches!(arm.cell.work, Work::Command(_)))
    };
    let programs = summary.stopped.iter().filter(of_program).map(|stopped| failed(summary, stopped));
    programs.chain(full(summary)).collect()
}

/// Finding on a program that failed.
fn failed(summary: &Summary, stopped: &Stopped) -> Finding {
    let (name, round, cause) = (summary.arm_name(stopped.arm), stopped.round, &stopped.cause);
    let text = format!("`{name}` failed in round {round}: {cause}. It has no times from there on.");
    Finding { kind: FindingKind::Refusal, group: None, loud: true, text }
}

/// Finding on arms whose directory was full.
fn full(summary: &Summary) -> Option<Finding> {
    let full = || summary.stopped.iter().filter(|stopped| stopped.entries > 0);
    let entries = || full().map(|stopped| stopped.entries);
    let (Some(least), Some(most)) = (entries().min(), entries().max()) else { return None };
    let at = match least == most {
        true => text::entries(least),
        false => format!("{} to {}", text::count(least), text::entries(most)),
    };
    let arm =
        |stopped: &Stopped| format!("{} at {}", summary.arm_name(stopped.arm), text::count(stopped.entries));
    let arms: Vec<String> = full().map(arm).collect();
    let text = format!(
        "A directory took no more names at {at}: its index was full, while blocks and inodes were free. The arms that met it were \
         stopped, with what works on their files, and have no times beyond: {}.",
        text::list(&arms)
    );
    Some(Finding { kind: FindingKind::Refusal, group: None, loud: false, text })
}
