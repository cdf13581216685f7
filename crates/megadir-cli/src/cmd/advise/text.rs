//! The answer as text: first the recommendation, then the reasons, then what would change it.
//!
//! ```text
//! opening    the recommendation, and a warning if the machine was overloaded
//! rows       now, path, as code, directories, or, why, limits, measured, changes, beware, not decided
//! ```
//!
//! A row is left out if there is nothing to print in it, so that the shortest answer has the path, the
//! reason and the limits.

use std::time::Duration;

use megadir::layout::{Layout, PRESETS};
use megadir::limits::{Details, Known, Limit};
use megadir_advise::code::words;
use megadir_advise::container::{FIGURES, Figures};
use megadir_advise::measure;
use megadir_advise::{Advice, Candidate, Capacity, Change, Shortage};
use megadir_report::summary::Verdict;
use megadir_report::text::{capital, ratio};

use super::{Answer, Run};
use crate::cmd::amount::{amount, interval, percent};
use crate::cmd::limits::text::headline;
use crate::ui::message::quoted;
use crate::ui::screen;

/// An overloaded machine makes times useless, yet not the limits: the second text is for answers by limits
/// alone.
const OVERLOADED: &str = "The machine was overloaded: stop other work and run this again.";
const STANDS: &str = "The machine was overloaded: times are rough, but they do not decide this answer.";

pub(super) fn report(text: &mut Vec<u8>, answer: &Answer, is_terminal: bool) {
    let width = screen::width(is_terminal);
    let mut lines = String::new();
    for line in opening(answer) {
        screen::wrapped(&mut lines, width, ("", ""), &line);
    }
    lines.push('\n');
    for (label, value) in rows(answer) {
        let first = format!("  {label:<13}");
        screen::wrapped(&mut lines, width, (&first, &" ".repeat(first.len())), &value);
    }
    text.extend_from_slice(lines.as_bytes());
}

/// The whole answer in one sentence, in the order of urgency: nothing can be created, the files do not fit
/// at all, or the layout. It is the conclusion of the written page as well.
pub(super) fn first_line(answer: &Answer) -> String {
    let Answer { look, advice, of_directory, .. } = answer;
    let facts = &look.limits.facts;
    let (place, mut files) = (quoted(&facts.path), files(advice.question.files));
    // The count of a directory that was not read whole is an estimate, and the sentence repeats that.
    if *of_directory && facts.listed_entries().is_some_and(|entries| !entries.value.is_exact()) {
        files = format!("about {files}");
    }
    let system = facts.file_system;
    if look.limits.runs_out_first() == Some(Limit::ReadOnly) {
        return format!("{place} ({system}), {files}: it is mounted read-only, and nothing can be created.");
    }
    if let Some(shortage) = advice.shortage.as_ref().filter(|shortage| shortage.is_likely()) {
        return format!(
            "{place} ({system}), {files}: they do not fit in any layout: {} run out; {} files and directories are still to be \
             created, and there is room for {}.",
            shortage.limit,
            amount(shortage.needed),
            interval(shortage.available)
        );
    }
    let flat = if advice.layout.levels() == 0 { " (flat)" } else { "" };
    format!("{place} ({system}), {files}: {}{flat}.", named(&advice.layout))
}

/// An answer that holds under any load comes first, then a warning about an overloaded machine.
fn opening(answer: &Answer) -> Vec<String> {
    let (first, overload, layout) = (first_line(answer), overload(answer), with_room(answer));
    match layout.is_some() || answer.advice.rule.rests_on_limits {
        true => [first].into_iter().chain(overload).chain(layout).collect(),
        false => overload.into_iter().chain([first]).collect(),
    }
}

pub(super) fn below_headline(answer: &Answer) -> Vec<String> {
    overload(answer).into_iter().chain(with_room(answer)).collect()
}

/// The layout for the case that the shortage ends, since the first line has only the shortage.
fn with_room(answer: &Answer) -> Option<String> {
    let advice = &answer.advice;
    let is_short = advice.shortage.as_ref().is_some_and(Shortage::is_likely);
    let is_read_only = answer.look.limits.runs_out_first() == Some(Limit::ReadOnly);
    let when = if is_read_only { "If it were writable" } else { "With room for them" };
    is_short.then(|| format!("{when}: {}.", named(&advice.layout)))
}

fn overload(answer: &Answer) -> Option<String> {
    let message = if answer.advice.rule.rests_on_limits { STANDS } else { OVERLOADED };
    figure_of_overload(answer).map(|_| message.into())
}

/// The figure that makes the machine count as overloaded, from the notes of the measurement.
fn figure_of_overload(answer: &Answer) -> Option<&str> {
    measure::overload(&answer.run.as_ref().ok()?.report.record.notes)
}

fn hashed(layout: &Candidate) -> String {
    let leaves = amount(layout.shape.leaves_max);
    match layout.levels() {
        1 => format!("{leaves} directories named after a hash ({})", layout.layout),
        _ => format!("{leaves} directories on two levels, named after a hash ({})", layout.layout),
    }
}

fn named(layout: &Candidate) -> String {
    if layout.levels() == 0 { "one directory".into() } else { hashed(layout) }
}

fn files(number: u64) -> String {
    if number == 1 { "1 file".into() } else { format!("{} files", amount(number)) }
}

pub(super) fn rows(answer: &Answer) -> Vec<(&'static str, String)> {
    let Answer { advice, of_directory, .. } = answer;
    let mut rows = Vec::new();
    rows.extend(of_directory.then(|| ("now", now(answer))));
    rows.extend(path(&advice.layout));
    rows.extend(advice.by_name.as_ref().map(|by_name| ("or", instead(by_name))));
    rows.push(("why", format!("{} [{}]", advice.rule.reason, advice.rule.name)));
    rows.push(("limits", limits(answer)));
    rows.extend(measured(answer));
    rows.extend(changes(advice).map(|changes| ("changes", changes)));
    if let Some(shortage) = advice.shortage.as_ref().filter(|shortage| !shortage.is_likely()) {
        rows.push((
            "beware",
            format!(
                "{} may run out first in any layout: {} files and directories are still to be created, and there is room for {}",
                capital(&shortage.limit.to_string()),
                amount(shortage.needed),
                interval(shortage.available)
            ),
        ));
    }
    rows.extend(undecided(answer));
    rows.extend(advice.suits_container.then(container));
    rows
}

/// Conditions first: nothing in a directory shows whether they hold.
fn container() -> (&'static str, String) {
    let Figures { random, all, list } = FIGURES;
    let text = format!(
        "If the files never change, and no program opens them by path, one pack of them takes {random} of the time to read single files uncached, \
         {all} to read all and {list} to list (study container on ext4), and few inodes: `megadir pack create`. Measure here: `megadir bench run container`"
    );
    ("or none", text)
}

/// One line for each layout, with all phases, so that a layout that is faster in one and slower in another is
/// seen as such. Only the first line has a label. The number of files is stated against the requested one,
/// since a measurement of fewer files shows less.
fn measured(answer: &Answer) -> Vec<(&'static str, String)> {
    let run = match &answer.run {
        Ok(run) => run,
        Err(why) => return vec![("measured", format!("nothing, so the limits alone decide: {why}"))],
    };
    let measured = &run.measured;
    let mut layouts: Vec<Layout> = Vec::new();
    for contrast in &measured.contrasts {
        if !layouts.contains(&contrast.layout) {
            layouts.push(contrast.layout);
        }
    }
    let of = |layout: &Layout| {
        let own = measured.contrasts.iter().filter(|contrast| contrast.layout == *layout);
        // All phases of one layout.
        let parts = own.map(|contrast| {
            format!("{} {}", contrast.phase.name(), ratio(contrast.ratio, contrast.interval))
        });
        let preset = PRESETS.iter().find(|preset| preset.layout == *layout);
        let name = preset.map_or_else(|| layout.to_string(), |preset| format!("{layout} ({})", preset.name));
        format!("{name}: {}", parts.collect::<Vec<_>>().join(", "))
    };
    let by = match measured.writers {
        1 => String::new(),
        writers => format!(" written by {writers}"),
    };
    let requested = answer.advice.question.files;
    let number = match measured.files < requested {
        true => format!("{} of {}", amount(measured.files), files(requested)),
        false => files(measured.files),
    };
    let rounds = measured.rounds;
    let mut lines = vec![format!("relative to one directory; {number}{by}, cached, {rounds} rounds:")];
    lines.extend(layouts.iter().map(of));
    lines.push(remarks(answer, run, &layouts));
    let labels = std::iter::once("measured").chain(std::iter::repeat(""));
    labels.zip(lines).filter(|(_, line)| !line.is_empty()).collect()
}

fn remarks(answer: &Answer, run: &Run, layouts: &[Layout]) -> String {
    let mut remarks = Vec::new();
    let resolution = |percent: f64| format!("resolution {percent:.1} % (one directory against itself)");
    remarks.extend(run.measured.resolution_percent.map(resolution));
    let recommended = answer.advice.layout.layout;
    if recommended != Layout::FLAT && !layouts.contains(&recommended) {
        let levels = recommended.levels().len();
        // The recommended layout can be wider than those measured: `narrower` is the one measured with as
        // many levels.
        let narrower = layouts.iter().find(|layout| layout.levels().len() == levels);
        let instead = narrower.map(|layout| format!(", but {layout} of as many levels"));
        remarks.push(format!("{recommended} not measured{}", instead.unwrap_or_default()));
    }
    remarks.extend(run.remarks.iter().map(ToString::to_string));
    remarks.extend(figure_of_overload(answer).map(|figure| format!("overloaded: {figure}")));
    remarks.join("; ")
}

/// Comparisons that more time could decide, with the time that is expected to suffice. `None` if the limits
/// decided, since no measurement would change the answer. The option is written out only once, ready to be
/// typed.
fn undecided(answer: &Answer) -> Option<(&'static str, String)> {
    // Without a measurement there is nothing to decide.
    let measured = &answer.run.as_ref().ok()?.measured;
    if answer.advice.rule.rests_on_limits {
        return None;
    }
    if measured.distrusted {
        let text = "the whole measurement, because one directory differed from itself; try again when the machine is idle";
        return Some(("not decided", text.into()));
    }
    let undecided = measured.undecided(answer.advice.question.pattern.phases());
    if undecided.is_empty() {
        return None;
    }
    let open = undecided.iter().enumerate().map(|(place, comparison)| {
        let time = match (comparison.time, place) {
            // The option is written out once; the other comparisons have only their time.
            (Some(time), 0) => format!("--time {} would probably decide", typed(time)),
            (Some(time), _) => typed(time),
            (None, _) => "not within an hour".into(),
        };
        let contrast = measured.contrasts.iter().find(|contrast| {
            (contrast.layout, contrast.phase, contrast.files)
                == (comparison.layout, comparison.phase, measured.files)
        });
        let direction = match contrast.and_then(|contrast| contrast.verdict) {
            Some(Verdict::Faster { .. }) => "faster, perhaps by less; ",
            Some(Verdict::Slower { .. }) => "slower, perhaps by less; ",
            _ => "",
        };
        format!("{} in {} ({direction}{time})", comparison.layout, comparison.phase.name())
    });
    let open = open.collect::<Vec<_>>().join(", ");
    Some(("not decided", format!("a difference of a tenth from one directory: {open}")))
}

/// Rounded up, to tens of seconds or to whole minutes, because the expected time is an estimate and a
/// measurement that ends just short of a decision is spent for nothing.
fn typed(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..100 => format!("{}s", (seconds + 1).next_multiple_of(10)),
        seconds => format!("{}m", (seconds + 1).div_ceil(60)),
    }
}

/// The headline of `megadir limits` without the path, which the first line has already.
fn now(answer: &Answer) -> String {
    let limits = &answer.look.limits;
    let sentence = headline(limits, answer.advice.question.churn);
    let place = format!("{}: ", quoted(&limits.facts.path));
    let mut text = capital(sentence.strip_prefix(&place).unwrap_or(&sentence));
    if let Some(most) = limits.most_used().filter(|most| most.limit != Limit::Unknown) {
        text = format!("{text} Most used is the limit of {}: {}.", most.limit, percent(most.used));
    }
    if limits.facts.directory_share > 0.5 {
        text.push_str(
            " Most entries are directories: the answer covers this directory, not the tree below it.",
        );
    }
    text
}

fn path(layout: &Candidate) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("path", words(&layout.layout)),
        ("as code", format!("megadir advise --layout {} --code python (rust, go, shell)", layout.layout)),
    ];
    if layout.levels() > 0 {
        let each = amount(layout.shape.files_per_leaf.round() as u64);
        let fullest = amount(layout.fullest);
        let made = amount(layout.shape.directories_max);
        rows.push((
            "directories",
            format!(
                "{made}, each with about {each} files, the fullest with {fullest}; create them in advance, or when a create fails"
            ),
        ));
    }
    rows
}

/// Names that are evenly spread need no hash: their first characters select the directory.
fn instead(by_name: &Candidate) -> String {
    let whose = by_name.preset.unwrap_or_default();
    format!(
        "{} ({}, as {whose} does), without computing a hash: the names present are evenly spread already",
        words(&by_name.layout).trim_end_matches('.'),
        by_name.layout
    )
}

/// The capacity with the assumption on which it rests most, the length of the names, and how to change it.
/// The two figures are the number at which a create fails and the number to plan for, which leaves a margin.
fn limits(answer: &Answer) -> String {
    let Answer { look, advice, .. } = answer;
    let names = &look.limits.facts.names;
    let known = match names.basis.known {
        Known::Measured => "as present",
        Known::Given => "as given",
        Known::Read | Known::Assumed => "assumed: --name-length, --like",
    };
    let names = format!("names of {} ({known})", names.value);
    match &advice.new_dir.capacity {
        Capacity::Bounded { full, plan, by } => {
            let how = if advice.question.churn { "if names come and go" } else { "to be safe" };
            format!(
                "one directory takes {} {names} until a create fails ({by}); plan for {} {how}",
                interval(*full),
                interval(*plan)
            )
        }
        Capacity::Unbounded => {
            format!("{} does not limit directories; {names}", look.limits.facts.file_system)
        }
        Capacity::Unknown => {
            let about = look.limits.model.map_or("the file system has no model", |model| model.about);
            format!("unknown: {about}")
        }
        Capacity::Linear => {
            let slow = "directories are searched name by name here, ever more slowly as they grow";
            match &look.limits.facts.details {
                Details::Ext4(ext4) if !ext4.features.value.dir_index => {
                    format!("{slow}; tune2fs -O dir_index adds an index to new directories")
                }
                _ => slow.into(),
            }
        }
    }
}

/// Numbers of files at which another layout would be recommended: the next change on either side.
fn changes(advice: &Advice) -> Option<String> {
    let below =
        |change: &Change| format!("below {} files: {}", interval(change.files), named(&change.before));
    let above =
        |change: &Change| format!("from {} files on: {}", interval(change.files), named(&change.after));
    let both: Vec<String> = advice.below.iter().map(below).chain(advice.above.iter().map(above)).collect();
    (!both.is_empty()).then(|| both.join("; "))
}
