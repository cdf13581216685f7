//! Turns the record of a run into input of the rule, with the report's summaries and no statistics of its own.

use megadir_record::jsonl::read_partly;
use megadir_report::Report;
use megadir_report::summary::{Difference, GroupReading, Outcome as Judged, PairRow, Summary};

use super::clock::Pace;
use super::design::Design;
use super::{Outcome, Request, Run};
use crate::measured::{Contrast, DECIDING_FILES_MIN, Measured, Phase};

const GROUPS: [(&str, Phase); 3] = [("write", Phase::Write), ("read", Phase::Read), ("walk", Phase::Walk)];

pub(super) fn judge(request: &Request<'_>, design: &Design, bytes: &[u8], pace: &Pace) -> Outcome {
    let not = |why: String| Outcome::Not { why };
    let record = match read_partly(bytes) {
        Ok((record, None)) => record,
        Ok((_, Some(error))) | Err(error) => return not(format!("the record cannot be read: {error}")),
    };
    if pace.rounds == 0 {
        return not("the time was over during the first round".into());
    }
    let report = match Report::of(record) {
        Ok(report) => report,
        Err(error) => return not(format!("the record cannot be judged: {error}")),
    };
    let mut remarks = design.remarks.clone();
    let of = report.summary.progress.rounds_planned;
    if pace.cut && pace.rounds < of {
        remarks.push(format!("the time was over after {} of {of} rounds", pace.rounds));
    }
    let measured = measured(request, &report.summary, pace);
    remarks.extend(design.left_out(measured.files));
    if measured.files < DECIDING_FILES_MIN {
        remarks.push("too few files to decide: use more --time or free space".into());
    }
    Outcome::Measured(Box::new(Run { report, measured, remarks }))
}

fn measured(request: &Request<'_>, summary: &Summary, pace: &Pace) -> Measured {
    let files = |row: &PairRow| {
        let cell = summary.arm(row.pair.arm).map(|arm| &arm.cell);
        cell.and_then(|cell| cell.work.operations()).unwrap_or(0)
    };
    let mut contrasts = Vec::new();
    for (name, phase) in GROUPS {
        let group = summary.groups.iter().find(|group| group.name == name);
        let Some(GroupReading::Pairs(pairs)) = group.map(|group| &group.reading) else { continue };
        contrasts.extend(pairs.rows.iter().filter_map(|row| contrast(row, phase, files(row))));
    }
    let widths = summary.resolution.iter().map(|resolution| resolution.half_width_percent);
    Measured {
        files: contrasts.iter().map(|contrast| contrast.files).max().unwrap_or(0),
        writers: request.question.writers,
        rounds: summary.progress.rounds_used,
        given: request.time,
        round_s: pace.round_s(),
        resolution_percent: widths
            .collect::<Option<Vec<f64>>>()
            .and_then(|widths| widths.into_iter().reduce(f64::max)),
        distrusted: summary.resolution.iter().any(|resolution| resolution.difference == Difference::Real),
        contrasts,
    }
}

fn contrast(row: &PairRow, phase: Phase, files: u64) -> Option<Contrast> {
    let layout = row.pair.what.split(',').next()?.parse().ok()?;
    let (ratio, interval, verdict) = match &row.outcome {
        Judged::Judged { ratio, adjusted, verdict, .. } => (ratio.value, *adjusted, Some(*verdict)),
        Judged::TooFewRounds { ratio } => (*ratio, None, None),
        Judged::Baseline | Judged::Unequal | Judged::NotMeasured => return None,
    };
    Some(Contrast { layout, phase, files, ratio, interval, verdict })
}
