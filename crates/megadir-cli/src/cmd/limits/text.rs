//! Text output: the answer, its basis, then hazards and remedies.

use megadir::FileSystem;
use megadir::limits::{Ceiling, Cure, Details, Known, Limit, Limits, Trap};

use super::Args;
use crate::cmd::amount::{amount, interval, percent};
use crate::ui::message::quoted;
use crate::ui::{screen, sizes};

/// Column at which values begin.
const VALUES_AT: usize = 17;
/// On narrower terminals the rows are paragraphs.
const BASIS_MIN: usize = 20;

/// With a prompt below them, 25 lines.
const SCREEN_LINES: usize = 24;
/// Hazards tried for one screen; the others are in the output of `--verbose`.
const SCREEN_TRAPS: usize = 3;
/// Rows of a report that has to fit on a screen.
const SCREEN_EVIDENCE: [&str; 3] = ["entries now", "names to come", "plan for"];

pub(super) fn write(text: &mut Vec<u8>, limits: &Limits, args: &Args, is_terminal: bool) {
    let mut report = Report { text: String::new(), width: screen::width(is_terminal) };
    // Printed in full if it fits or goes to a file; else built once more with fewer rows and hazards.
    report.above_traps(limits, args.churn, |_| true);
    report.traps(limits);
    if is_terminal && !args.verbose && report.lines() > SCREEN_LINES {
        report.text.clear();
        report.above_traps(limits, args.churn, |label| SCREEN_EVIDENCE.contains(&label));
        report.first_traps(limits, SCREEN_LINES - 1);
        report.wrapped("", "", "More (all evidence, hazards and remedies): megadir limits --verbose");
    }
    text.extend_from_slice(report.text.as_bytes());
}

/// Bounds this far apart make a figure misleading.
const UNKNOWN_FROM: u64 = 20;

/// One sentence that answers how many more entries fit. The cases go from the one without an answer to the usual one:
/// no model, read-only, nothing known, full, bounds too far apart, and then a number. A number is not named if its
/// bounds differ by `UNKNOWN_FROM` times and contents decide, because the probable value would look like knowledge.
pub(in crate::cmd) fn headline(limits: &Limits, churn: bool) -> String {
    let place = quoted(&limits.facts.path);
    let (Some(more), Some(limit)) = (limits.entries_until_full(), limits.runs_out_first()) else {
        let file_system = limits.facts.file_system;
        let why = match is_servers(file_system) {
            true => SERVERS.to_owned(),
            false => format!("there is no model of {file_system}"),
        };
        return format!("{place}: no known limit on its entries ({why}).");
    };
    if limit == Limit::ReadOnly {
        return format!("{place} is mounted read-only: nothing can be created.");
    }
    if more.likely == 0 && more.high > 0 && limits.facts.entries.is_none() {
        let most = amount(more.high);
        return format!(
            "{place}: it is unknown how many more entries fit, from none to {most}: its size does not show the entries, and --count \
             counts them."
        );
    }
    if more.likely == 0 {
        return none_fits(limits, limit, more.high > 0);
    }
    let lowest = limits.ceilings.iter().min_by_key(|ceiling| ceiling.more.low).map(|ceiling| ceiling.limit);
    let by_contents =
        [Some(limit), lowest].iter().any(|limit| matches!(limit, Some(Limit::Blocks | Limit::Quota(_))));
    if by_contents && more.high >= UNKNOWN_FROM.saturating_mul(more.low.max(1)) {
        let (least, first) = (amount(more.low), runs_out(limit));
        let most =
            if more.high == u64::MAX { String::new() } else { format!(", at most {}", amount(more.high)) };
        return format!(
            "{place}: it is unknown how many more entries fit: at least {least}{most}; probably {first} first."
        );
    }
    let about = if more.is_exact() || interval(more).starts_with("at most") { "" } else { "about " };
    let statement = if churn && limit == Limit::DirectoryIndex {
        "more entries can be kept while names come and go"
    } else if limits.facts.directory_share >= 1.0 {
        "more subdirectories fit before creating one fails"
    } else {
        "more entries fit before creating one fails"
    };
    format!("{place}: {about}{} {statement}; {} first.", interval(more), runs_out(limit))
}

/// The headline where probably no entry fits any more: the kind of the limit decides what still works. `one_may_fit` is whether the interval
/// reaches above zero.
fn none_fits(limits: &Limits, limit: Limit, one_may_fit: bool) -> String {
    let place = quoted(&limits.facts.path);
    let (space, contents) = (&limits.facts.space, &limits.facts.contents);
    let free_bytes = space.blocks_available.saturating_mul(space.unit_bytes);
    let size_bytes = contents.value.low_bytes;
    let is_given = contents.basis.known == Known::Given;
    if is_given && limit == Limit::Blocks && free_bytes > 0 && size_bytes > free_bytes as f64 {
        let (size, free) = (sizes::text(size_bytes as u64), sizes::text(free_bytes));
        return format!("{place}: an entry of {size} does not fit; {free} is free.");
    }
    if limit == Limit::LinkCount {
        let others = limits.ceilings.iter().filter(|other| other.limit != limit);
        let files = match others.map(|other| other.more.likely).min() {
            Some(0) => "",
            _ => "; files can still be created",
        };
        return format!("{place} takes no more subdirectories: mkdir fails with \"Too many links\"{files}.");
    }
    let may = if one_may_fit { "creates may fail at any moment" } else { "creates fail" };
    format!("{place} is full: {may}; the reason is {}.", the(limit))
}

/// A client sees neither the index nor the features of the directory on the server, so that only a person
/// can name its type.
const SERVERS: &str = "the limit is that of the server's file system: name it, such as --as ext4";

/// File systems whose directories are stored by another machine or another program.
fn is_servers(file_system: FileSystem) -> bool {
    matches!(file_system, FileSystem::Fuse | FileSystem::Cifs | FileSystem::Nfs)
        || file_system == FileSystem::from_name("9p")
}

/// Plural limits and those with an article of their own need other words in a sentence.
fn the(limit: Limit) -> String {
    match limit {
        Limit::Inodes | Limit::Blocks => format!("that {limit} have run out"),
        other => format!("the {other}"),
    }
}

fn runs_out(limit: Limit) -> String {
    match limit {
        Limit::Inodes | Limit::Blocks | Limit::Numbers => format!("{limit} run out"),
        Limit::MountOption => format!("the mount option {limit} is reached"),
        other => format!("the {other} runs out"),
    }
}

/// Facts behind the headline, each with its basis, in the order of a reader's doubts: which file system, how many
/// entries now, names, index and model. The caller prints all of them or only those that a screen
/// has room for, by their labels.
fn evidence(limits: &Limits) -> Vec<(&'static str, String)> {
    let facts = &limits.facts;
    let mut rows = vec![("file system", file_system(limits))];
    rows.push((
        "entries now",
        match &facts.entries {
            Some(entries) => format!("{} ({})", interval(entries.value), entries.basis),
            None => "unknown without reading the directory (--count counts them)".into(),
        },
    ));
    if let Some(merged) = &facts.merged_entries {
        rows.push(("all layers", format!("{} ({})", interval(merged.value), merged.basis)));
    }
    rows.push(("names to come", format!("{} ({})", facts.names.value, facts.names.basis)));
    if let Some(gauge) = &limits.judgement.gauge {
        let note = match facts.details {
            _ if facts.seen_as.is_some_and(|seen| seen != FileSystem::Nfs) => "computed from the entries",
            Details::Ext4(_) | Details::Wafl(_) => "the directory's size, which never shrinks",
            _ => "the directory's size",
        };
        let (now, full) = (sizes::text(gauge.bytes), sizes::text(gauge.full_bytes));
        rows.push(("index", format!("{now} of about {full}, {} ({note})", percent(gauge.used()))));
    }
    if let (Some(more), Some(left)) = (limits.subdirectories_until_full(), &limits.judgement.subdirectories) {
        rows.push(("subdirectories", format!("{} more can be created ({})", interval(more), left.basis)));
    }
    if let Some(plan) = limits.judgement.plan {
        let (growing, churning) = (amount(plan.growing), amount(plan.churning));
        let both = format!("{growing} in its index if they stay, {churning} if names come and go");
        rows.push(("plan for", both));
    }
    let model = match limits.model {
        Some(model) => model.about.to_owned(),
        None if is_servers(facts.file_system) => SERVERS.to_owned(),
        None => {
            format!("none for directories of {}; the other limits give an upper bound", facts.file_system)
        }
    };
    rows.push(("model", model));
    rows
}

/// Type, mount and features in one value. The type of the mount is added only if it has another name, and features
/// that a directory does not have are named only for the first four; the other two are properties of this directory
/// and are named only if it has them.
fn file_system(limits: &Limits) -> String {
    let facts = &limits.facts;
    let mounted = facts.mount.as_ref().map(|mount| mount.kind.as_str());
    let mut text = facts.file_system.to_string();
    if let Some(kind) = mounted.filter(|kind| *kind != text) {
        text = format!("{text}, mounted as {kind}");
    }
    if let Some(seen) = facts.seen_as {
        text = format!("{text}, as stated (the client sees {seen})");
    }
    if facts.is_upper_layer {
        text = format!("{text}, upper layer of overlay");
    }
    text.push_str(&format!(", blocks of {} bytes", facts.space.block_bytes));
    if let Details::Ext4(ext4) = &facts.details {
        let features = &ext4.features.value;
        let named = [
            (features.dir_index, "dir_index"),
            (features.large_dir, "large_dir"),
            (features.metadata_csum, "metadata_csum"),
            (features.dir_nlink, "dir_nlink"),
            (ext4.casefolded, "casefold"),
            (ext4.encrypted, "encrypt"),
        ];
        let has = named.iter().filter(|(has, _)| *has).map(|(_, name)| *name);
        let lacks = named[..4].iter().filter(|(has, _)| !*has).map(|(_, name)| *name);
        let list = has.map(str::to_owned).chain(lacks.map(|name| format!("no {name}")));
        text.push_str(&format!("; {} ({})", list.collect::<Vec<_>>().join(", "), ext4.features.basis));
    }
    text
}

/// Text in progress. The width is the terminal's, or a fixed one for files.
struct Report {
    text: String,
    width: usize,
}

impl Report {
    fn lines(&self) -> usize {
        self.text.lines().count()
    }

    fn above_traps(&mut self, limits: &Limits, churn: bool, keeps: impl Fn(&str) -> bool) {
        self.wrapped("", "", &headline(limits, churn));
        self.text.push('\n');
        for (label, value) in evidence(limits).into_iter().filter(|(label, _)| keeps(label)) {
            let first = format!("  {label:<width$}", width = VALUES_AT - 2);
            self.wrapped(&first, &" ".repeat(VALUES_AT), &value);
        }
        self.ceilings(&limits.ceilings);
    }

    /// A table with the basis of each limit in its last column, wrapped below itself. On a screen too narrow for
    /// `BASIS_MIN` columns of it, each limit becomes a paragraph. Widths are in letters and not in bytes.
    fn ceilings(&mut self, ceilings: &[Ceiling]) {
        if ceilings.is_empty() {
            return;
        }
        let cells =
            |ceiling: &Ceiling| [ceiling.limit.to_string(), interval(ceiling.more), percent(ceiling.used)];
        let rows: Vec<[String; 3]> = ceilings.iter().map(cells).collect();
        let width = |column: usize, heading: &str| {
            rows.iter().map(|row| row[column].chars().count()).chain([heading.len()]).max().unwrap_or(0)
        };
        let widths = [width(0, "what runs out"), width(1, "more entries"), width(2, "used")];
        let line = |[resource, more, used]: [&str; 3]| {
            let [first, second, third] = widths;
            format!("  {resource:<first$}  {more:<second$}  {used:>third$}  ")
        };
        self.text.push('\n');
        let heading = line(["what runs out", "more entries", "used"]);
        let below = " ".repeat(heading.chars().count());
        if below.len() + BASIS_MIN > self.width {
            for (row, ceiling) in rows.iter().zip(ceilings) {
                let [resource, more, used] = row;
                let paragraph = format!("{resource}: {more} more, {used} used ({})", ceiling.basis);
                self.wrapped("  ", "    ", &paragraph);
            }
            return;
        }
        self.wrapped(&heading, &below, "known by");
        for (row, ceiling) in rows.iter().zip(ceilings) {
            let start = line([&row[0], &row[1], &row[2]]);
            self.wrapped(&start, &below, &ceiling.basis.to_string());
        }
    }

    /// Several hazards may have the same remedy; it is printed below the first and referred to below the
    /// others.
    fn traps(&mut self, limits: &Limits) {
        let mut printed: Vec<&Cure> = Vec::new();
        for trap in &limits.judgement.traps {
            self.hazard(trap);
            let (again, new): (Vec<&Cure>, Vec<&Cure>) =
                trap.cures.iter().partition(|cure| printed.contains(cure));
            if !again.is_empty() {
                self.wrapped("    - ", "      ", "as above");
            }
            printed.extend(&new);
            new.into_iter().for_each(|cure| self.remedy(cure));
        }
        if limits.ceilings.iter().any(|ceiling| ceiling.basis.known == Known::Assumed) {
            self.text.push('\n');
            self.wrapped("  ", "  ", "Replace assumptions with --name-length, --like or --size.");
        }
    }

    /// The first hazard and its first remedy, then what fits.
    fn first_traps(&mut self, limits: &Limits, lines_max: usize) {
        let mut printed: Vec<&Cure> = Vec::new();
        for (index, trap) in limits.judgement.traps.iter().take(SCREEN_TRAPS).enumerate() {
            let before = (self.text.len(), printed.len());
            self.hazard(trap);
            for cure in &trap.cures {
                if printed.contains(&cure) {
                    continue;
                }
                let end = self.text.len();
                self.remedy(cure);
                // The first remedy stays even if it does not fit, because a hazard alone is of little use.
                if self.lines() > lines_max && printed.len() > before.1 {
                    self.text.truncate(end);
                    break;
                }
                printed.push(cure);
            }
            if self.lines() > lines_max && index > 0 {
                self.text.truncate(before.0);
                return;
            }
        }
    }

    fn hazard(&mut self, trap: &Trap) {
        self.text.push('\n');
        self.wrapped(&format!("  {}: ", trap.name), "    ", &trap.text);
    }

    fn remedy(&mut self, cure: &Cure) {
        let end = if cure.command.is_some() { ":" } else { "" };
        self.wrapped("    - ", "      ", &format!("{}{end}", cure.text));
        // Commands are not wrapped, since they are there to be copied.
        if let Some(command) = &cure.command {
            self.text.push_str(&format!("      $ {command}\n"));
        }
    }

    fn wrapped(&mut self, first: &str, rest: &str, paragraph: &str) {
        screen::wrapped(&mut self.text, self.width, (first, rest), paragraph);
    }
}
