//! The answer for people: what to do first, then why, then what would change it.

use std::time::Duration;

use megadir::layout::{Layout, PRESETS};
use megadir::limits::{Known, Limit};
use megadir_advise::code::words;
use megadir_advise::{Advice, Candidate, Capacity, Change};
use megadir_report::text::ratio;

use super::Answer;
use crate::cmd::limits::amount::{amount, interval, percent};
use crate::cmd::limits::text::headline;
use crate::ui::message::quoted;
use crate::ui::paragraph;

/// Where the values begin, columns.
const VALUES_AT: usize = 15;

/// Appends the whole answer.
pub(super) fn report(text: &mut Vec<u8>, answer: &Answer, is_terminal: bool) {
    let width = paragraph::width(is_terminal);
    let mut lines = String::new();
    paragraph::wrapped(&mut lines, width, ("", ""), &first_line(answer));
    lines.push('\n');
    for (label, value) in rows(answer) {
        let first = format!("  {label:<width$}", width = VALUES_AT - 2);
        paragraph::wrapped(&mut lines, width, (&first, &" ".repeat(VALUES_AT)), &value);
    }
    text.extend_from_slice(lines.as_bytes());
}

/// Returns the answer in a sentence.
pub(super) fn first_line(answer: &Answer) -> String {
    let Answer { look, advice, of_directory, .. } = answer;
    let facts = &look.limits.facts;
    let (place, mut files) = (quoted(&facts.path), files(advice.question.files));
    if *of_directory && facts.entries.as_ref().is_some_and(|entries| !entries.value.is_exact()) {
        files = format!("about {files}");
    }
    let system = facts.file_system;
    match &advice.layout.levels() {
        0 => format!("{place} ({system}), {files}: one directory (flat)."),
        _ => format!("{place} ({system}), {files}: {}.", hashed(&advice.layout)),
    }
}

/// Returns a hashed layout as what there is to see of it.
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

/// Returns labels and values.
pub(super) fn rows(answer: &Answer) -> Vec<(&'static str, String)> {
    let Answer { advice, of_directory, .. } = answer;
    let mut rows = Vec::new();
    if *of_directory {
        rows.push(("now", now(answer)));
    }
    rows.extend(path(&advice.layout));
    if let Some(by_name) = &advice.by_name {
        rows.push(("or", instead(by_name)));
    }
    rows.push(("why", why(advice)));
    rows.push(("limits", limits(answer)));
    rows.extend(measured(answer));
    if let Some(changes) = changes(advice) {
        rows.push(("changes", changes));
    }
    if let Some(shortage) = &advice.shortage {
        let may = if shortage.is_likely() { "run out first" } else { "may run out first" };
        rows.push((
            "beware",
            format!(
                "{} {may}, whatever the layout: {} files and directories are still to be made, and there is room for {}",
                capital(&shortage.limit.to_string()),
                amount(shortage.needed),
                interval(shortage.available)
            ),
        ));
    }
    rows.extend(undecided(answer));
    rows
}

/// Returns what was measured, or why nothing was.
fn measured(answer: &Answer) -> Vec<(&'static str, String)> {
    let run = match &answer.run {
        Ok(run) => run,
        Err(why) => {
            return vec![("measured", format!("nothing, the answer rests on the limits alone: {why}"))];
        }
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
        let parts = own.map(|one| format!("{} {}", one.phase.name(), ratio(one.ratio, one.interval)));
        let preset = PRESETS.iter().find(|preset| preset.layout == *layout);
        let name = preset.map_or_else(|| layout.to_string(), |preset| format!("{layout} ({})", preset.name));
        format!("{name}: {}", parts.collect::<Vec<_>>().join(", "))
    };
    let by = match measured.writers {
        1 => String::new(),
        writers => format!(" written by {writers}"),
    };
    let asked = answer.advice.question.files;
    let fewer = if measured.files < asked {
        format!(" (not {}: that is inferred)", amount(asked))
    } else {
        String::new()
    };
    let mut text = format!(
        "times as multiples of those of one directory, with {}{fewer}{by}, cached, {} rounds: {}",
        files(measured.files),
        measured.rounds,
        layouts.iter().map(of).collect::<Vec<_>>().join("; ")
    );
    if let Some(percent) = measured.resolution_percent {
        text.push_str(&format!("; one directory against itself is known to {percent:.1} %"));
    }
    for remark in &run.remarks {
        text.push_str(&format!("; {remark}"));
    }
    vec![("measured", text)]
}

/// Returns what was not decided, and how long it would take.
fn undecided(answer: &Answer) -> Option<(&'static str, String)> {
    let measured = &answer.run.as_ref().ok()?.measured;
    if measured.distrusted {
        let text = "everything that was measured: one directory was called different from itself; try again when the machine is idle";
        return Some(("not decided", text.into()));
    }
    let undecided = measured.undecided(answer.advice.question.pattern.phases());
    if undecided.is_empty() {
        return None;
    }
    let told = undecided.iter().enumerate().map(|(place, one)| {
        let time = match (one.time, place) {
            (Some(time), 0) => format!("--time {} would probably tell", typed(time)),
            (Some(time), _) => typed(time),
            (None, _) => "no time up to an hour would tell".into(),
        };
        format!("{} in {} ({time})", one.layout, one.phase.name())
    });
    let told: Vec<String> = told.collect();
    Some(("not decided", format!("against one directory: {}", told.join(", "))))
}

/// Returns a time as it is typed, rounded up.
fn typed(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..100 => format!("{}s", (seconds + 1).next_multiple_of(10)),
        seconds => format!("{}m", (seconds + 1).div_ceil(60)),
    }
}

/// Returns how close the directory is to trouble.
fn now(answer: &Answer) -> String {
    let limits = &answer.look.limits;
    let sentence = headline(limits, answer.advice.question.churn);
    let sentence =
        sentence.strip_prefix(&format!("{}: ", quoted(&limits.facts.path))).unwrap_or(&sentence).to_owned();
    let mut text = capital(&sentence);
    if let Some(most) = limits.most_used().filter(|most| most.limit != Limit::Unknown) {
        text = format!("{text} Most used is the limit of {}: {}.", most.limit, percent(most.used));
    }
    if limits.facts.directory_share > 0.5 {
        text.push_str(" Most entries are directories: the answer is about this one directory, not about the tree below it.");
    }
    text
}

/// Returns how a name's path is computed.
fn path(layout: &Candidate) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("path", words(&layout.layout)),
        (
            "as code",
            format!(
                "megadir advise --layout {} --code python (or rust, go, shell) prints a function that computes it",
                layout.layout
            ),
        ),
    ];
    if layout.levels() > 0 {
        let each = amount(layout.shape.files_per_leaf.round() as u64);
        let fullest = amount(layout.fullest);
        let made = amount(layout.shape.directories_max);
        rows.push((
            "directories",
            format!(
                "{made}, each with about {each} files, the fullest with {fullest}; make them beforehand, or one when opening a new \
                 file fails for lack of it"
            ),
        ));
    }
    rows
}

/// Returns the layout that takes directories from the names themselves.
fn instead(by_name: &Candidate) -> String {
    let whose = by_name.preset.unwrap_or_default();
    format!(
        "{} ({}, as {whose} does), without computing a hash: the names there are spread evenly by themselves",
        words(&by_name.layout).trim_end_matches('.'),
        by_name.layout
    )
}

fn why(advice: &Advice) -> String {
    format!("{} [{}]", advice.rule.reason, advice.rule.name)
}

/// Returns what one directory takes.
fn limits(answer: &Answer) -> String {
    let Answer { look, advice, .. } = answer;
    let names = &look.limits.facts.names;
    let known = match names.basis.known {
        Known::Measured => "as those present",
        Known::Given => "as asked for",
        Known::Read | Known::Assumed => "assumed; --name-length or --like says otherwise",
    };
    let names = format!("names of {} ({known})", names.value);
    match &advice.new_dir.capacity {
        Capacity::Bounded { full, plan, by } => {
            let how = if advice.question.churn { "where names come and go" } else { "to be safe" };
            format!(
                "one directory takes {} {names} before it refuses one ({by}); plan for {} {how}",
                interval(*full),
                interval(*plan)
            )
        }
        Capacity::Unbounded => format!(
            "directories of {} have no limit of their own; {names}",
            look.limits.facts.file_system
        ),
        Capacity::Unknown => format!("unknown: {}", look.limits.model.map_or("there is no model of the file system", |model| model.about())),
        Capacity::Linear => "without an index a directory takes any number, ever more slowly; tune2fs -O dir_index mends new ones".into(),
    }
}

/// Returns from how many files on the answer is another one.
fn changes(advice: &Advice) -> Option<String> {
    let below = advice
        .below
        .as_ref()
        .map(|change: &Change| format!("below {} files: {}", interval(change.files), named(&change.before)));
    let above = advice
        .above
        .as_ref()
        .map(|change| format!("from {} files on: {}", interval(change.files), named(&change.after)));
    let both: Vec<String> = below.into_iter().chain(above).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
