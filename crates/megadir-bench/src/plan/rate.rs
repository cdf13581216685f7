//! Open loop: operations start at moments planned beforehand, however long the ones before take.

use megadir_record::{Cell, Work};

use super::PlanError;
use crate::study::Study;

/// The highest rate that may be asked for, operations a second; no file system answers so fast.
const RATE_MAX: u64 = 10_000_000;
/// A block lasts about this part of a second, so that what waits behind a stall of some milliseconds is in it ...
const BLOCKS_PER_S: u64 = 10;
/// ... and has at least so many operations, so that there is a rate, and at most so many.
const OPERATIONS: std::ops::RangeInclusive<u64> = 10..=1 << 16;

/// Sets the rate of all arms, whose operations must be single ones done one by one.
pub(super) fn set(study: &Study, rate_per_s: u64, cells: &mut [Cell]) -> Result<(), PlanError> {
    let refuse = |allowed: String| {
        Err(PlanError::Value { what: "the rate", value: format!("{rate_per_s} a second"), allowed })
    };
    if !(1..=RATE_MAX).contains(&rate_per_s) {
        return refuse(format!("1 to {RATE_MAX} operations a second are possible"));
    }
    if !cells.iter().all(|cell| matches!(cell.work, Work::Lookup { .. })) {
        return refuse(format!(
            "study `{}` is not of single operations that can start at any time, as those of `lookup` are",
            study.name
        ));
    }
    for cell in cells {
        cell.rate_per_s = Some(rate_per_s);
        if cell.work.operations().is_some() {
            // As many as there are files.
            continue;
        }
        cell.operations = Some((rate_per_s / BLOCKS_PER_S).clamp(*OPERATIONS.start(), *OPERATIONS.end()));
    }
    Ok(())
}
