//! The report as text: the answer in one sentence, the tree with bars, where the rest is, and the tables.

use megadir::Time;
use megadir::names;
use megadir::usage::{Amount, By, Directory, Extension, Report, Sum};

use super::Answer;
use crate::cmd::amount::{amount, percent};
use crate::cmd::list::summary::text::{Look, age_label, push, size_label};
use crate::cmd::owners::user_name;
use crate::cmd::times::TimeStyle;
use crate::ui::message::tree_path;
use crate::ui::screen::{aligned, bar};
use crate::ui::{escape, screen, sizes};

const BAR: usize = 12;
const BAR_TERMINAL: usize = 64;
const PARTS: usize = 4;

pub(super) fn write(text: &mut Vec<u8>, answer: &Answer<'_>, is_terminal: bool) {
    let look = Look::new(is_terminal, is_terminal);
    let mut answered = String::new();
    let width = look.terminal.map_or(usize::MAX, |terminal| terminal.width);
    screen::wrapped(&mut answered, width, ("", ""), &sentence(answer, is_terminal));
    push(text, &format!("{}\n\n", answered.trim_end()));
    tree(text, answer, look);
    let tables = if answer.args.engine.is_some() { Vec::new() } else { tables(&answer.report).into() };
    text.push(b'\n');
    match answer.args.tables {
        true => tables.iter().for_each(|table| whole(text, table, look, answer.report.has_allocated())),
        false => tables.iter().for_each(|table| short(text, table, look)),
    }
    for note in notes(answer, look) {
        push(text, &format!("  {note}\n"));
    }
}

pub(super) fn sentence(answer: &Answer<'_>, is_short: bool) -> String {
    let report = &answer.report;
    let number = |number: u64| if is_short { amount(number) } else { number.to_string() };
    let who = match &report.roots[..] {
        [root] => escaped(names::from_os(root.path.as_os_str()), true),
        several => format!("{} trees", several.len()),
    };
    let has = if report.roots.len() == 1 { "has" } else { "have" };
    let total = &report.total;
    let (mut entries, meet) = match total.amount.entries {
        1 => ("1 entry".to_owned(), "meets"),
        entries => (format!("{} entries", number(entries)), "meet"),
    };
    if answer.is_selection {
        entries.push_str(&format!(" that {meet} the conditions"));
    }
    // Entries below an unread directory are unknown; of an entry without attributes only the size is.
    let at_least = |is_so: bool| if is_so { "at least " } else { "" };
    let are_missing = answer.unread > 0;
    let mut sentence = format!("{who} {has} {}{entries}", at_least(are_missing));
    if report.has_allocated() && total.amount.entries > 0 {
        let least = at_least(!are_missing && report.unexamined() > 0);
        sentence.push_str(&format!(", {least}{} on disk", sizes::text(total.amount.allocated)));
    }
    if let Some(place) = place(report) {
        sentence.push_str(&place);
    }
    sentence
}

/// The deepest directory with more than half, or the one with the most.
///
/// Clause of the sentence that names where most of the total lies. Times have no sum, so for them it names the
/// directory that holds the extreme entry. `None` if no directory stands out, as among equal ones: to name one of
/// them would be chance.
fn place(report: &Report) -> Option<String> {
    let name = |directory: &Directory| {
        let has_one = report.roots.len() == 1;
        let path = if has_one { directory.path.to_vec() } else { whole_path(report, directory) };
        escaped(&path, true)
    };
    let value = |sum: &Sum| value(report, sum);
    let all = value(&report.total);
    let share = |directory: &Directory| percent(value(&directory.sum) as f64 / all.max(1) as f64);
    let of = match report.by {
        By::Entries => "them",
        By::Allocated => "the space on disk",
        By::Apparent => "the sizes",
        By::Newest | By::Oldest => {
            let newest = report.by == By::Newest;
            let (which, time) =
                if newest { ("newest", report.total.newest) } else { ("oldest", report.total.oldest) };
            let holds = |directory: &&Directory| {
                time == if newest { directory.sum.newest } else { directory.sum.oldest }
            };
            let directory = report.directories.iter().filter(holds).max_by_key(|directory| directory.depth);
            let place = directory
                .map_or_else(|| "directly in it".to_owned(), |directory| format!("in {}", name(directory)));
            return Some(format!("; the {which} is of {}, {place}", exact_time(time?)));
        }
    };
    let holding = report.directories.iter().filter(|directory| value(&directory.sum) * 2 > all);
    Some(match holding.max_by_key(|directory| directory.depth) {
        Some(holding) => format!("; {} of {of} in {}", share(holding), name(holding)),
        None => {
            let below = || report.directories.iter().filter(|directory| directory.depth == 1);
            let most = below().max_by_key(|directory| value(&directory.sum))?;
            // Of equal ones, none is the largest.
            if below().filter(|directory| value(&directory.sum) == value(&most.sum)).count() > 1 {
                return None;
            }
            format!("; the largest subdirectory has {} of {of}: {}", share(most), name(most))
        }
    })
}

/// Each tree with its listed directories, indented by depth. A row has the sum of all that lies below its directory,
/// so the rows of a directory and of one in it overlap. The last row is the rest: everything that is in no listed
/// directory. Figures are aligned over all rows, and bars need a wide terminal.
fn tree(text: &mut Vec<u8>, answer: &Answer<'_>, look: Look) {
    let Answer { report, args, .. } = answer;
    let listed = report.best(args.printed());
    let mut rows: Vec<(&Sum, u32, Vec<u8>)> = Vec::new();
    for (at, root) in report.roots.iter().enumerate() {
        rows.push((&root.sum, 0, names::from_os(root.path.as_os_str()).to_vec()));
        for directory in listed.iter().filter(|directory| directory.root as usize == at) {
            rows.push((&directory.sum, directory.depth, directory.path.split().1));
        }
    }
    let rest = report.rest(&listed);
    let amounts = rows.iter().map(|row| &row.0.amount).chain([&rest.amount]);
    let amounts: Vec<_> = amounts.map(|amount| cells(amount, look, report.has_allocated())).collect();
    let figures = aligned(["entries", "on disk", "size"], &amounts);
    let bars = look.terminal.filter(|terminal| terminal.width >= BAR_TERMINAL);
    let line = |text: &mut Vec<u8>, figures: &str, drawn: &str, name: &str| {
        let drawn = if bars.is_some() { format!("  {drawn:BAR$}") } else { String::new() };
        let line = format!("  {figures}{drawn}  {name}");
        push(text, &format!("{}\n", fitting(line.trim_end(), look)));
    };
    line(text, &figures[0], "", "directory");
    for ((sum, depth, name), figures) in rows.iter().zip(&figures[1..]) {
        let (part, whole) = share(report, sum);
        let drawn = bars.map_or_else(String::new, |terminal| bar(part, whole, BAR, terminal.unicode));
        let name = format!("{}{}", "  ".repeat(*depth as usize), escaped(name, false));
        line(text, figures, &drawn, &name);
    }
    if rest.amount.entries > 0 && !listed.is_empty() {
        let name = rest_name(answer, &listed, &rest, look);
        line(text, &figures[rows.len() + 1], "", &name);
    }
}

fn cells(amount: &Amount, look: Look, has_allocated: bool) -> [String; 3] {
    let allocated = if has_allocated { look.bytes(amount.allocated) } else { "-".into() };
    [look.number(amount.entries), allocated, look.bytes(amount.apparent)]
}

/// The listed directories are entries of their parents too.
fn rest_name(answer: &Answer<'_>, listed: &[&Directory], rest: &Sum, look: Look) -> String {
    if answer.is_selection {
        return "... what is not listed".to_owned();
    }
    let above = listed.iter().filter(|directory| directory.depth == 1).count() as u64;
    let more = rest.directories.saturating_sub(above);
    let files = rest.amount.entries.saturating_sub(rest.directories);
    let mut parts = Vec::new();
    if more > 0 {
        parts.push(look.counted(more, "more directory", "more directories"));
    }
    if files > 0 {
        parts.push(look.counted(files, "file", "files"));
    }
    if above > 0 {
        let and = if parts.is_empty() { "the" } else { "and the" };
        parts.push(format!("{and} {}", look.counted(above, "directory above", "directories above")));
    }
    format!("... {}", parts.join(", "))
}

fn share(report: &Report, sum: &Sum) -> (u128, u128) {
    let longest = report.roots.iter().map(|root| value(report, &root.sum)).max();
    (value(report, sum), longest.unwrap_or(0))
}

/// The figure that ranks, or the entries if that is a time.
pub(super) fn value(report: &Report, sum: &Sum) -> u128 {
    match report.by {
        By::Allocated => sum.amount.allocated,
        By::Apparent => sum.amount.apparent,
        By::Entries | By::Newest | By::Oldest => sum.amount.entries.into(),
    }
}

pub(super) struct Table {
    pub(super) heading: &'static str,
    pub(super) counts: &'static str,
    pub(super) rows: Vec<(String, Amount)>,
}

pub(super) fn tables(report: &Report) -> [Table; 6] {
    let age = |row: megadir::summary::AgeBucket<Amount>| (age_label(row.from_s, row.to_s), row.total);
    let counts = report.files_per_directory().into_iter().map(|row| {
        let (from, to) = (row.from, row.to);
        let label = if from == to { from.to_string() } else { format!("{from}-{to}") };
        (label, Amount { entries: row.directories, ..Amount::default() })
    });
    let owner = |(user, amount): (Option<u32>, Amount)| match user {
        None => ("(unknown)".to_owned(), amount),
        Some(id) => {
            let name = user_name(id).map(|name| escaped(name.as_bytes(), false));
            (name.unwrap_or_else(|| id.to_string()), amount)
        }
    };
    let extensions = report.extensions().into_iter();
    let sizes = report.sizes().into_iter();
    [
        table("owner", "entries", report.owners().into_iter().map(owner)),
        table("extension", "files", extensions.map(|(of, amount)| (extension_name(of), amount))),
        table("modified", "files", report.modified().into_iter().map(age)),
        table("accessed", "files", report.accessed().into_iter().map(age)),
        table("file size", "files", sizes.map(|row| (size_label(row.from, row.to), row.total))),
        table("files in a directory", "directories", counts),
    ]
}

fn table(heading: &'static str, counts: &'static str, rows: impl Iterator<Item = (String, Amount)>) -> Table {
    Table { heading, counts, rows: rows.collect() }
}

pub(super) fn extension_name(extension: Extension) -> String {
    match extension {
        Extension::Letters(_) => extension.letters().to_owned(),
        Extension::Digits => "(number)".into(),
        Extension::None => "(none)".into(),
        Extension::Other => "(other)".into(),
    }
}

fn short(text: &mut Vec<u8>, table: &Table, look: Look) {
    let all: u64 = table.rows.iter().map(|row| row.1.entries).sum();
    if all == 0 {
        return;
    }
    let mut rows: Vec<_> = table.rows.iter().filter(|row| row.1.entries > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.1.entries));
    let part = |(label, amount): &&(String, Amount)| {
        format!("{label} {}", percent(amount.entries as f64 / all as f64))
    };
    let parts: Vec<_> = rows.iter().take(PARTS).map(part).collect();
    let more = rows.len().saturating_sub(PARTS);
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    let line = format!("  {:20}  {}{more}", table.heading, parts.join(", "));
    push(text, &format!("{}\n", fitting(&line, look)));
}

fn whole(text: &mut Vec<u8>, table: &Table, look: Look, has_allocated: bool) {
    if table.rows.is_empty() {
        return;
    }
    let amounts = table.rows.iter().map(|(_, amount)| cells(amount, look, has_allocated));
    let figures = match table.counts {
        "directories" => aligned([table.counts], &amounts.map(|[entries, ..]| [entries]).collect::<Vec<_>>()),
        counts => aligned([counts, "on disk", "size"], &amounts.collect::<Vec<_>>()),
    };
    let labels = table.rows.iter().map(|(label, _)| label.chars().count());
    let width = labels.chain([table.heading.len()]).max().unwrap_or(0);
    let most = table.rows.iter().map(|(_, amount)| amount.entries).max().unwrap_or(0);
    let bars = look.terminal.filter(|terminal| terminal.width >= BAR_TERMINAL);
    let line = |text: &mut Vec<u8>, label: &str, figures: &str, drawn: &str| {
        let line = format!("  {label:width$}  {figures}  {drawn}");
        push(text, &format!("{}\n", line.trim_end()));
    };
    line(text, table.heading, &figures[0], "");
    for ((label, amount), figures) in table.rows.iter().zip(&figures[1..]) {
        let entries = amount.entries.into();
        let drawn =
            bars.map_or_else(String::new, |terminal| bar(entries, most.into(), BAR, terminal.unicode));
        line(text, label, figures, &drawn);
    }
    text.push(b'\n');
}

fn notes(answer: &Answer<'_>, look: Look) -> Vec<String> {
    let report = &answer.report;
    let mut notes = Vec::new();
    let mut note = |count: u64, singular: &str, several: &str, rest: &str| {
        if count > 0 {
            notes.push(look.counted(count, singular, several) + rest);
        }
    };
    let unlisted = report.unlisted(&report.best(answer.args.printed()), None);
    note(unlisted, "directory", "directories", " with entries not listed (-n N lists more)");
    let rest = "; further links add no space and no size";
    note(report.linked_entries, "name is a further hard link", "names are further hard links", rest);
    let rest = " could not be read to the end: the rest in them is not counted";
    note(answer.unread, "directory", "directories", rest);
    let rest = " could not be examined: counted without space, size and time";
    note(report.unexamined(), "entry", "entries", rest);
    let rest = " not entered (--cross-mounts enters them)";
    note(answer.mounts_not_entered, "mount point", "mount points", rest);
    if !report.has_allocated() {
        notes.push("the space on disk is unavailable: not every entry has it recorded".into());
    }
    if report.accessed().is_empty() && !report.modified().is_empty() {
        notes.push("access times are unavailable: they are not recorded".into());
    }
    notes
}

fn fitting(line: &str, look: Look) -> String {
    match look.terminal {
        Some(terminal) if line.chars().count() > terminal.width => {
            let (cut, end) = if terminal.unicode { (1, "…") } else { (3, "...") };
            line.chars().take(terminal.width.saturating_sub(cut)).collect::<String>() + end
        }
        _ => line.to_owned(),
    }
}

pub(super) fn whole_path(report: &Report, directory: &Directory) -> Vec<u8> {
    let root = &report.roots[directory.root as usize];
    tree_path(names::from_os(root.path.as_os_str()), &directory.path)
}

pub(super) fn escaped(name: &[u8], is_quoted: bool) -> String {
    let text = escape::terminal_text(name);
    if is_quoted { format!("'{text}'") } else { text }
}

pub(super) fn exact_time(time: Time) -> String {
    TimeStyle::Iso.text(time)
}
