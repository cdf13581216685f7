//! Findings that come first: unequal work, a noisy reference, stopped arms.
//!
//! Loud findings stand above every table, because they make its numbers unusable. A stopped arm is loud
//! only if its program failed; a directory that was full is a result, and keeps its place among the
//! findings.

use megadir_record::Work;

use crate::finding::{Finding, FindingKind};
use crate::summary::{
    ArmSummary, Figure, GroupReading, GroupSummary, Mismatch, OverviewRow, Stopped, Summary, WorkCheck,
};
use crate::text;
use crate::warning::{Wide, scatter, wide};

/// Arms first, then groups: a group is usually unreadable because of one of its arms.
pub(super) fn find_work(summary: &Summary) -> Vec<Finding> {
    let arms = summary.arms.iter().filter_map(unequal);
    arms.chain(summary.groups.iter().filter_map(unreadable)).collect()
}

fn unequal(arm: &ArmSummary) -> Option<Finding> {
    // Programs are compared by their output, megadir's own arms by the entries that they counted, so each
    // has other words for the same finding.
    let WorkCheck::Unequal(mismatch) = &arm.work else { return None };
    if let Work::Command(_) = arm.planned.work {
        return Some(of_program(arm, mismatch));
    }
    let text = format!(
        "`{}` did NOT {} in {}: {}. Its times are not compared with any.",
        arm.planned.name,
        // A lookup finds single names and has no listing to compare. Older records lack the expected
        // entries; then the majority of the arms is the reference.
        match (arm.planned.work.lists(), mismatch.recorded) {
            (false, _) => "find exactly the names that exist",
            (true, true) => "list its data set",
            (true, false) => "do the same work as the other arms",
        },
        text::counted(mismatch.rounds as u64, "round"),
        if arm.planned.work.lists() { first(mismatch) } else { looked_up(mismatch) }
    );
    Some(Finding { kind: FindingKind::Work, group: None, loud: true, text })
}

fn of_program(arm: &ArmSummary, mismatch: &Mismatch) -> Finding {
    // Lines of output or entries of the data set, depending on what `--same` compares.
    let lines = text::count(mismatch.entries);
    let found = match mismatch.entries_expected {
        Some(expected) if expected == mismatch.entries => format!(
            "it had {lines} lines or entries as expected, but different ones (if the command prints times or ages, use --same count or --same exit-code)"
        ),
        Some(expected) => {
            format!("it had {lines} lines or entries, and {} are expected", text::count(expected))
        }
        None => format!("it had {lines} lines or entries"),
    };
    let text = format!(
        "`{}` did NOT have the result of the run's first command in {}: in round {} {found}. Its times are not compared with any.",
        arm.planned.name,
        text::counted(mismatch.rounds as u64, "round"),
        mismatch.first_round,
    );
    Finding { kind: FindingKind::Work, group: None, loud: true, text }
}

/// Names that were never created are expected to be missing: zero is then the right number.
fn looked_up(mismatch: &Mismatch) -> String {
    let round = mismatch.first_round;
    match mismatch.entries_expected {
        Some(0) => format!("in round {round} it found names that were never created"),
        _ => format!("in round {round} it did not find all names that were created"),
    }
}

/// The reference is the record or the other arms, and the number may be right although the names are not.
/// The five forms keep these cases apart.
fn first(mismatch: &Mismatch) -> String {
    let saw = format!("in round {} it saw {}", mismatch.first_round, text::entries(mismatch.entries));
    match mismatch.entries_expected {
        Some(there) if mismatch.recorded && there == mismatch.entries => {
            format!("{saw}, as many as there are, but with other names")
        }
        Some(there) if mismatch.recorded => format!("{saw} where there are {}", text::count(there)),
        Some(others) if others == mismatch.entries => {
            format!("{saw}, as many as the others, but with other names")
        }
        Some(others) => format!("{saw} where the others saw {}", text::count(others)),
        None => format!("{saw}, and the arms do not agree on what there was"),
    }
}

/// The reason is a sentence of the rule without its full stop.
fn unreadable(group: &GroupSummary) -> Option<Finding> {
    let GroupReading::Unreadable { reason } = &group.reading else { return None };
    let text = format!("The group `{}` cannot be read: {reason}.", group.name);
    Some(Finding { kind: FindingKind::Work, group: Some(group.name.clone()), loud: true, text })
}

/// A noisy first column makes every ratio of its rows wide, and that looks like a property of the other file
/// systems. So the width of the reference's own times is compared with the width of the others, in the rows that
/// count. The finding has only the worst case and the number of cases.
pub(super) fn find_reference(summary: &Summary) -> Vec<Finding> {
    let Some(overview) = &summary.overview else { return Vec::new() };
    let others: Vec<usize> = overview.comparable().filter(|column| *column != 0).collect();
    let wide_at = |row: &OverviewRow| {
        let reference = row.cells.first()?.as_ref()?;
        let time = |column: &usize| row.cells.get(*column)?.as_ref().map(|planned| planned.time_ns);
        let times: Vec<Figure> = others.iter().filter_map(time).collect();
        // Without a measured counterpart, a noisy reference makes no ratio unusable.
        let wide = wide(summary, reference.arm, &times).filter(|_| !times.is_empty())?;
        Some((summary.arm_name(reference.arm), wide))
    };
    let counted: Vec<&OverviewRow> = overview.rows.iter().filter(|row| row.counts).collect();
    let all: Vec<(&str, Wide)> = counted.iter().filter_map(|row| wide_at(row)).collect();
    let by_width =
        |a: &&(&str, Wide), b: &&(&str, Wide)| a.1.half_width_percent.total_cmp(&b.1.half_width_percent);
    let (Some((arm, worst)), Some(column)) = (all.iter().max_by(by_width), overview.columns.first()) else {
        return Vec::new();
        // The scatter has no unit of time, so that rows of different kinds of work can be compared.
    };
    let own = scatter(worst.half_width_percent);
    let known = match worst.others_percent {
        None => format!("which, measured twice, differs from itself by up to {own}"),
        Some(others) => format!(
            "whose time is uncertain by up to {own}, while the others are by {}",
            text::percent(others)
        ),
    };
    let text = format!(
        "{} is too noisy to serve as a reference in {} of {} kinds of work; the worst is `{arm}`, {known}. Do not use \
         ratios to it there, nor the result over all kinds of work: name another {} first ({}), or see the notes.",
        column.label,
        all.len(),
        counted.len(),
        summary.place_word(),
        if summary.compares_volumes() { "--dir" } else { "--fs" },
    );
    vec![Finding { kind: FindingKind::FileSystems, group: None, loud: true, text }]
}

/// Programs that fail have no result; for a full directory the number of its entries is one.
pub(super) fn find_stopped(summary: &Summary) -> Vec<Finding> {
    let of_program = |stopped: &&Stopped| {
        summary.arm(stopped.arm).is_some_and(|arm| matches!(arm.planned.work, Work::Command(_)))
    };
    let programs = summary.stopped.iter().filter(of_program).map(|stopped| failed(summary, stopped));
    programs.chain(full(summary)).collect()
}

fn failed(summary: &Summary, stopped: &Stopped) -> Finding {
    let (name, round, cause) = (summary.arm_name(stopped.arm), stopped.round, &stopped.cause);
    let text = match stopped.in_warm_up {
        true => format!("`{name}` failed in the warm-up: {cause}. It has no times."),
        false => format!("`{name}` failed in round {round}: {cause}. It has no times from there on."),
    };
    Finding { kind: FindingKind::Refusal, group: None, loud: true, text }
}

/// Arms of one run fill directories of the same size, so one sentence has the range and the arms.
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
    let text = format!(
        "A directory took no more names at {at}: its index was full, while blocks and inodes were free. The arms that met it were \
         stopped, with what works on their files, and have no times beyond: {}.",
        text::list(full().map(arm))
    );
    Some(Finding { kind: FindingKind::Refusal, group: None, loud: false, text })
}
