//! Consistency of a record's lines: no line may refer to a missing arm, data set or file system.

use super::{Header, Line};
use crate::data::DataId;
use crate::machine::FsId;
use crate::plan::{ArmId, Plan, Rules};
use crate::sample::Sample;

/// For times in nanoseconds, published figures and widths.
const NUMBER_MAX: f64 = 1e30;

pub(crate) fn header(header: &Header) -> Result<(), String> {
    plan(&header.plan)?;
    header.file_systems.iter().try_for_each(|mount| file_system_of(&header.plan, mount.on))
}

fn plan(plan: &Plan) -> Result<(), String> {
    if plan.arms.is_empty() {
        return Err("the plan has no arms".into());
    }
    in_order("file system", plan.file_systems.iter().map(|of| of.id.0))?;
    in_order("data set", plan.data.iter().map(|data| data.id.0))?;
    in_order("arm", plan.arms.iter().map(|arm| arm.id.0))?;
    plan.data.iter().filter_map(|data| data.on).try_for_each(|on| file_system_of(plan, on))?;
    plan.arms.iter().try_for_each(|arm| data_of(plan, arm.data))?;
    rules(&plan.rules)?;
    plan.groups.iter().flat_map(|group| group.rule.arms()).try_for_each(|arm| cell_of(plan, arm))
}

fn in_order(name: &str, ids: impl Iterator<Item = u32>) -> Result<(), String> {
    match (0..).zip(ids).find(|(place, id)| place != id) {
        Some((place, id)) => Err(format!("{name} at index {place} has id {id}")),
        None => Ok(()),
    }
}

fn rules(rules: &Rules) -> Result<(), String> {
    if rules.rounds == 0 || rules.epochs == 0 {
        return Err("the plan has 0 rounds or epochs".into());
    }
    let width = rules.stop.half_width().unwrap_or(1.0);
    let within = [
        ("equivalence_band", rules.equivalence_band, f64::MIN_POSITIVE..=0.999_999, "between 0 and 1"),
        ("confidence", rules.confidence, 0.5..=0.999_999, "between 0.5 and 1"),
        ("stolen_fraction_max", rules.stolen_fraction_max, 0.0..=1.0, "between 0 and 1"),
        ("redone_fraction_max", rules.redone_fraction_max, 0.0..=1.0, "between 0 and 1"),
        ("stop.half_width", width, f64::MIN_POSITIVE..=NUMBER_MAX, "above 0"),
    ];
    match within.into_iter().find(|(_, value, allowed, _)| !allowed.contains(value)) {
        None => Ok(()),
        Some((name, value, _, range)) => Err(format!("{name} is {value:?}, not {range}")),
    }
}

pub(crate) fn line(plan: &Plan, line: &Line, last: Option<&Sample>, ended: bool) -> Result<(), String> {
    match line {
        // Notes may follow the end: a run reports problems while it removes its files.
        Line::Sample(_) | Line::Void { .. } | Line::Epoch(_) | Line::End(_) if ended => {
            Err("it follows the end of the run".into())
        }
        Line::Header(_) => Err("a second header".into()),
        Line::Sample(sample) => sample_in_order(plan, sample, last),
        Line::Used(used) => data_of(plan, used.data),
        Line::Built(built) => built.sets.iter().try_for_each(|set| data_of(plan, set.data)),
        Line::Epoch(epoch) => epoch_of(plan, epoch.epoch),
        Line::SelfCheck(_) | Line::Void { .. } | Line::Note(_) | Line::Resumed(_) | Line::End(_) => Ok(()),
    }
}

fn sample_in_order(plan: &Plan, sample: &Sample, last: Option<&Sample>) -> Result<(), String> {
    cell_of(plan, sample.arm)?;
    epoch_of(plan, sample.epoch)?;
    if let Some(last) = last.filter(|last| last.epoch > sample.epoch) {
        return Err(format!("epoch {} follows epoch {}", sample.epoch, last.epoch));
    }
    if sample.round == u32::MAX || sample.attempt == u32::MAX {
        return Err("the round or attempt is out of range".into());
    }
    let end_ns = sample.start_ns.checked_add(sample.elapsed_ns);
    end_ns.map(drop).ok_or_else(|| "the end time is out of range".into())
}

fn cell_of(plan: &Plan, arm: ArmId) -> Result<(), String> {
    is_in(plan.arms.len(), "arm", arm.0)
}

fn data_of(plan: &Plan, data: DataId) -> Result<(), String> {
    is_in(plan.data.len(), "data set", data.0)
}

fn file_system_of(plan: &Plan, on: FsId) -> Result<(), String> {
    is_in(plan.file_systems.len(), "file system", on.0)
}

fn epoch_of(plan: &Plan, epoch: u32) -> Result<(), String> {
    is_in(plan.rules.epochs.max(1) as usize, "epoch", epoch)
}

fn is_in(all: usize, name: &str, index: u32) -> Result<(), String> {
    let there = (index as usize) < all;
    if there { Ok(()) } else { Err(format!("{name} {index} is not in the plan")) }
}
