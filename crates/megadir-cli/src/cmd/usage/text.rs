//! The report as text: the answer in one sentence, the tree with bars, where the rest is, and the tables.

use megadir::Time;
use megadir::names;
use megadir::usage::{Amount, By, Directory, Extension, Report, Sum};

use super::Answer;
use crate::cmd::limits::amount::{amount, percent};
use crate::cmd::list::summary::text::{Look, age_label, size_label};
use crate::cmd::owners::user_name;
use crate::cmd::times::TimeStyle;
use crate::ui::message::tree_path;
use crate::ui::screen::bar;
use crate::ui::{escape, screen, sizes};

const BAR: usize = 12;
const BAR_TERMINAL: usize = 64;
const PARTS: usize = 4;

pub(super) fn write(text: &mut Vec<u8>, answer: &Answer<'_>, is_terminal: bool) {
    let look = Look::new(is_terminal, is_terminal);
    let (mut answered, sentence) = (String::new(), sentence(answer, is_terminal));
    match look.terminal {
        Some(terminal) => screen::wrapped(&mut answered, terminal.width, ("", ""), &sentence),
        None => answered = sentence,
    }
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
    let mut sentence = format!("{who} {has} {entries}");
    if report.has_allocated() && total.amount.entries > 0 {
        sentence.push_str(&format!(", {} on disk", sizes::text(total.amount.allocated)));
    }
    if let Some(place) = place(report) {
        sentence.push_str(&place);
    }
    sentence
}

/// The deepest directory with more than half, or the one with the most.
fn place(report: &Report) -> Option<String> {
    let name = |directory: &Directory| {
        let path = match &report.roots[..] {
            [_] => directory.path.to_vec(),
            _ => whole_path(report, directory),
        };
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
            let holds = |one: &&Directory| time == if newest { one.sum.newest } else { one.sum.oldest };
            let directory = report.directories.iter().filter(holds).max_by_key(|one| one.depth);
            let place =
                directory.map_or_else(|| "directly in it".to_owned(), |one| format!("in {}", name(one)));
            return Some(format!("; the {which} is of {}, {place}", exact_time(time?)));
        }
    };
    let holding = report.directories.iter().filter(|one| value(&one.sum) * 2 > all);
    Some(match holding.max_by_key(|one| one.depth) {
        Some(holding) => format!("; {} of {of} in {}", share(holding), name(holding)),
        None => {
            let most =
                report.directories.iter().filter(|one| one.depth == 1).max_by_key(|one| value(&one.sum));
            let most = most?;
            format!("; the most in one directory, {} of {of}, in {}", share(most), name(most))
        }
    })
}

fn tree(text: &mut Vec<u8>, answer: &Answer<'_>, look: Look) {
    let Answer { report, args, .. } = answer;
    let listed = report.best(args.printed());
    let headings = ["entries", "on disk", "size"];
    let has_allocated = report.has_allocated();
    let mut rows: Vec<([String; 3], &Sum, u32, Vec<u8>)> = Vec::new();
    let cells = |amount: &Amount| {
        let allocated = if has_allocated { look.bytes(amount.allocated) } else { "-".into() };
        [look.number(amount.entries), allocated, look.bytes(amount.apparent)]
    };
    for (at, root) in report.roots.iter().enumerate() {
        let path = names::from_os(root.path.as_os_str()).to_vec();
        rows.push((cells(&root.sum.amount), &root.sum, 0, path));
        for directory in listed.iter().filter(|directory| directory.root as usize == at) {
            let (_, name) = directory.path.split();
            rows.push((cells(&directory.sum.amount), &directory.sum, directory.depth, name));
        }
    }
    let rest = rest(report, &listed);
    let rest_cells = cells(&rest.amount);
    let all = || rows.iter().map(|row| &row.0).chain([&rest_cells]);
    let width = |at: usize| all().map(|cells| cells[at].len()).chain([headings[at].len()]).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let bars = look.terminal.filter(|terminal| terminal.width >= BAR_TERMINAL);
    let line = |text: &mut Vec<u8>, cells: [&str; 3], drawn: &str, name: &str| {
        let mut line = String::new();
        for (cell, width) in cells.into_iter().zip(widths) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        if bars.is_some() {
            line.push_str(&format!("  {drawn:BAR$}"));
        }
        line.push_str(&format!("  {name}"));
        push(text, &format!("{}\n", fitting(line.trim_end(), look)));
    };
    line(text, headings, "", "directory");
    for (cells, sum, depth, name) in &rows {
        let (part, whole) = share(report, sum);
        let drawn = bars.map_or_else(String::new, |terminal| bar(part, whole, BAR, terminal.unicode));
        let name = format!("{}{}", "  ".repeat(*depth as usize), escaped(name, false));
        line(text, cells.each_ref().map(String::as_str), &drawn, &name);
    }
    if rest.amount.entries > 0 && !listed.is_empty() {
        let name = match answer.is_selection {
            true => "not listed".to_owned(),
            false => match rest.directories {
                0 => "not listed: files".to_owned(),
                several => {
                    format!("not listed: {}, and files", look.counted(several, "directory", "directories"))
                }
            },
        };
        line(text, rest_cells.each_ref().map(String::as_str), "", &name);
    }
}

fn rest(report: &Report, listed: &[&Directory]) -> Sum {
    let mut rest = report.total;
    for directory in listed.iter().filter(|directory| directory.depth == 1) {
        let Amount { entries, inodes, allocated, apparent } = directory.sum.amount;
        rest.amount.entries -= entries;
        rest.amount.inodes -= inodes;
        rest.amount.allocated -= allocated;
        rest.amount.apparent -= apparent;
        // A listed directory that does not meet the conditions is not among the entries.
        rest.directories = rest.directories.saturating_sub(directory.sum.directories + 1);
    }
    rest
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
    let age = |row: megadir::usage::AgeRow| (age_label(row.from_s, row.to_s), row.amount);
    let counts = report.files_per_directory().into_iter().map(|row| {
        let label = match (row.from, row.to) {
            (from, to) if from == to => from.to_string(),
            (from, to) => format!("{from}-{to}"),
        };
        (label, Amount { entries: row.directories, ..Amount::default() })
    });
    let table = |heading, rows: Vec<(String, Amount)>| Table { heading, counts: "entries", rows };
    let files = |heading, rows| Table { counts: "files", ..table(heading, rows) };
    let owner = |row: &megadir::usage::OwnerRow| match row.user {
        None => "(unknown)".to_owned(),
        Some(user) => {
            user_name(user).map_or_else(|| user.to_string(), |name| escaped(name.as_bytes(), false))
        }
    };
    [
        table("owner", report.owners().iter().map(|row| (owner(row), row.amount)).collect()),
        files(
            "extension",
            report.extensions().iter().map(|row| (extension_name(row.extension), row.amount)).collect(),
        ),
        files("modified", report.modified().into_iter().map(age).collect()),
        files("accessed", report.accessed().into_iter().map(age).collect()),
        files(
            "file size",
            report.sizes().into_iter().map(|row| (size_label(row.from, row.to), row.amount)).collect(),
        ),
        Table { counts: "directories", ..table("files in a directory", counts.collect()) },
    ]
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
    let has_bytes = table.counts != "directories";
    let cells = |amount: &Amount| {
        let allocated = if has_allocated { look.bytes(amount.allocated) } else { "-".into() };
        [look.number(amount.entries), allocated, look.bytes(amount.apparent)]
    };
    let rows: Vec<_> =
        table.rows.iter().map(|(label, amount)| (label, cells(amount), amount.entries)).collect();
    let headings = [table.counts, "on disk", "size"];
    let width =
        |at: usize| rows.iter().map(|row| row.1[at].len()).chain([headings[at].len()]).max().unwrap_or(0);
    let label = rows.iter().map(|row| row.0.chars().count()).chain([table.heading.len()]).max().unwrap_or(0);
    let most = rows.iter().map(|row| row.2).max().unwrap_or(0);
    let bars = look.terminal.filter(|terminal| terminal.width >= BAR_TERMINAL);
    let line = |text: &mut Vec<u8>, name: &str, cells: [&str; 3], drawn: &str| {
        let mut line = format!("  {name:label$}");
        for (at, cell) in cells.into_iter().enumerate().take(if has_bytes { 3 } else { 1 }) {
            line.push_str(&format!("  {cell:>width$}", width = width(at)));
        }
        line.push_str(&format!("  {drawn}"));
        push(text, &format!("{}\n", line.trim_end()));
    };
    line(text, table.heading, headings, "");
    for (name, cells, entries) in &rows {
        let bar = |terminal: crate::cmd::list::summary::text::Terminal| {
            bar((*entries).into(), most.into(), BAR, terminal.unicode)
        };
        line(text, name, cells.each_ref().map(String::as_str), &bars.map_or_else(String::new, bar));
    }
    text.push(b'\n');
}

fn notes(answer: &Answer<'_>, look: Look) -> Vec<String> {
    let report = &answer.report;
    let mut notes = Vec::new();
    if report.linked_entries > 0 {
        let names = look.counted(
            report.linked_entries,
            "name is a further hard link",
            "names are further hard links",
        );
        notes.push(format!("{names}; further links add no space and no size"));
    }
    if answer.unread > 0 {
        let directories = look.counted(answer.unread, "directory", "directories");
        notes.push(format!("{directories} could not be read to the end: the rest in them is not counted"));
    }
    if report.unexamined() > 0 {
        let entries = look.counted(report.unexamined(), "entry", "entries");
        notes.push(format!("{entries} could not be examined: counted without space, size and time"));
    }
    if answer.mounts_not_entered > 0 {
        let mounts = look.counted(answer.mounts_not_entered, "mount point", "mount points");
        notes.push(format!("{mounts} not entered (--cross-mounts enters them)"));
    }
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
    let mut text = Vec::new();
    escape::terminal(&mut text, name);
    let text = String::from_utf8_lossy(&text).into_owned();
    if is_quoted { format!("'{text}'") } else { text }
}

pub(super) fn exact_time(time: Time) -> String {
    TimeStyle::Iso.text(time)
}

fn push(text: &mut Vec<u8>, more: &str) {
    text.extend_from_slice(more.as_bytes());
}
