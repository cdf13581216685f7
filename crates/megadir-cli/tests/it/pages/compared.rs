//! Picture of README.md and tables of docs/speed.md that compare megadir with other programs, and the page of their
//! record: written from the record by `MEGADIR_BLESS=1`, otherwise compared with it.

use std::io::BufReader;
use std::path::PathBuf;

use megadir_record::{Arm, CacheState, Plan, Work, jsonl};
use megadir_report::summary::{Comparison, Contrast, GroupReading, Outcome};
use megadir_report::{Report, Style, View, format_named, text};

use super::figures::{read, root};
use super::picture::{Bar, bars};

/// Record of the study `peers` that the tables show.
const CACHED: &str = "records/2026-11-24-peers";
/// The same, with the file system mounted again before each run.
const UNCACHED: &str = "records/2026-11-24-peers-uncached";
/// Records of `usage` on a million files.
const USAGE: [&str; 4] = [
    "records/2026-11-23-usage-tree",
    "records/2026-11-23-usage-flat",
    "records/2026-11-24-usage-tree-uncached",
    "records/2026-11-24-usage-flat-uncached",
];
/// Lines around a written part.
const BEGIN: &str = "<!-- Cached comparisons, written by the command in CONTRIBUTING.md -->\n";
const BEGIN_UNCACHED: &str = "<!-- Uncached comparisons, written by the command in CONTRIBUTING.md -->\n";
const END: &str = "<!-- End of this part -->\n";

/// Words for the groups of the study, in the order of the tables.
const TASKS: [(&str, &str); 14] = [
    ("names", "list names"),
    ("pipe", "list names into a pipe"),
    ("sorted", "list names sorted"),
    ("count", "count entries"),
    ("attributes", "list sizes and times"),
    ("long", "print the columns of `ls -l`"),
    ("tree", "list a tree"),
    ("count-tree", "count the entries of a tree"),
    ("attributes-tree", "list sizes and times in a tree"),
    ("usage", "sum up the sizes in a tree"),
    ("inventory", "record all attributes in a tree"),
    ("changes", "find out that nothing changed in a tree"),
    ("remove-tree", "remove a tree"),
    ("remove-flat", "remove one directory"),
];

/// Folders of the records that the tables are written from.
pub(super) fn folders() -> impl Iterator<Item = &'static str> {
    [CACHED, UNCACHED].into_iter().chain(USAGE)
}

/// A published record with its report.
struct Published {
    folder: &'static str,
    report: Report,
}

impl Published {
    fn open(folder: &'static str) -> Self {
        let file = std::fs::File::open(root().join(folder).join("record.jsonl")).expect("the record");
        let record = jsonl::read(BufReader::new(file)).expect("a record that can be read");
        Self { folder, report: Report::of(record).expect("a report") }
    }

    fn plan(&self) -> &Plan {
        &self.report.record.header.plan
    }

    /// Comparison of a group of the study.
    fn comparison(&self, group: &str) -> Option<&Comparison> {
        let found =
            self.report.summary.groups.iter().find(|found| without_cache(found.of_study()) == group)?;
        match &found.reading {
            GroupReading::Compare(comparison) => Some(comparison),
            _ => None,
        }
    }

    fn cached(&self) -> bool {
        self.plan().arms[0].cache == CacheState::Warm
    }

    fn planned(&self, row: &Contrast) -> &Arm {
        &self.plan().arms[row.arm.0 as usize]
    }

    /// Other programs of a group.
    fn others(&self, comparison: &Comparison) -> Vec<Other> {
        let program = |row: &Contrast| match &self.planned(row).work {
            Work::Command(work) => Some(work.program()),
            _ => None,
        };
        let has_fd = comparison.rows.iter().any(|row| program(row) == Some("fd"));
        let row = |row: &Contrast| {
            match program(row)? {
                // Other forms of megadir, and itself again.
                "{megadir}" => return None,
                // Debian's name for fd.
                "fdfind" if has_fd => return None,
                _ => {}
            }
            let shown = match &row.outcome {
                Outcome::Judged { ratio, adjusted, .. } => text::ratio(ratio.value, *adjusted),
                Outcome::TooFewRounds { ratio } => text::ratio(*ratio, None) + " (no interval)",
                Outcome::Baseline | Outcome::Unequal | Outcome::NotMeasured => return None,
            };
            let (name, ratio) = (short_name(self.planned(row)), shown.replacen('x', "", 1));
            Some(Other { name, ratio })
        };
        comparison.rows.iter().filter_map(row).collect()
    }

    /// Time of megadir in a group.
    fn own_time(&self, comparison: &Comparison) -> String {
        let arm = &self.report.summary.arms[comparison.baseline.0 as usize];
        arm.timing.as_ref().map_or_else(String::new, |timing| text::time(timing.time_ns.value))
    }

    /// Number of files and rounds.
    fn size(&self) -> String {
        let most = self.plan().data.iter().map(|data| data.entries).max().unwrap_or(0);
        format!("{} files, {} rounds", text::count(most), self.report.summary.progress.rounds_used)
    }

    /// The whole report in Markdown.
    fn page(&self) -> String {
        let view = View { width: 100, style: Style { color: false, unicode: true } };
        let page = format_named("markdown").expect("a format").render(&self.report, &view);
        let (heading, rest) = page.split_once('\n').expect("a heading");
        let made = self.report.summary.command.join(" ");
        format!("{heading}\n\nMade with `{made}`; [record.jsonl](record.jsonl) has every sample.\n{rest}")
    }
}

/// Program compared with megadir.
struct Other {
    name: String,
    /// Its time divided by megadir's.
    ratio: String,
}

/// Name of a group or an arm without its cache state.
fn without_cache(name: &str) -> &str {
    const ENDS: [&str; 4] = [", guest-fs-cold", ", fs-cold", "-guest-fs-cold", "-fs-cold"];
    ENDS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Name of an arm without the words that make it unique in the study.
fn short_name(planned: &Arm) -> String {
    let own = planned.bare_name();
    let own = without_cache(&own);
    let without =
        [", pipe", ", tree", ", one directory", ", all fields"].iter().find_map(|end| own.strip_suffix(end));
    without.unwrap_or(own).replace('|', "\\|")
}

/// Sentence on the data, the machine and the runs.
fn conditions(published: &Published) -> String {
    let machine = &published.report.summary.machine;
    let kind = published.plan().file_systems.first().map_or(&machine.file_system.kind, |of| &of.kind);
    let kernel = machine.kernel.split('-').next().unwrap_or_default();
    let state = if published.cached() { "Cached" } else { "Mounted again before each run" };
    format!(
        "{state}, on {kind}; {} of fresh processes in random order; trees have 1000 files in each directory; \
         {} processors, {kernel}. Compared: {}. Record: {}/.",
        published.size(),
        machine.processors,
        versions(published.plan()).join(", "),
        published.folder,
    )
}

/// Each other program with its version, in the order of the study.
fn versions(plan: &Plan) -> Vec<String> {
    let mut versions: Vec<String> = Vec::new();
    for arm in &plan.arms {
        let Work::Command(work) = &arm.work else { continue };
        let program = work.program();
        let number = work.version.as_deref().and_then(number_in);
        let Some(number) = number.filter(|_| program != "{megadir}") else { continue };
        let named = format!("{program} {number}");
        if !versions.contains(&named) {
            versions.push(named);
        }
    }
    versions
}

/// Tasks with their comparisons.
fn tasks(published: &Published) -> impl Iterator<Item = (&'static str, &Comparison)> {
    TASKS.iter().filter_map(|(group, task)| Some((*task, published.comparison(group)?)))
}

/// Name of an arm, with the version of its program.
fn versioned(planned: &Arm, name: String) -> String {
    let version = match &planned.work {
        Work::Command(work) if work.program() != "{megadir}" => work.version.as_deref(),
        _ => None,
    };
    match version.and_then(number_in) {
        Some(number) => format!("{name} ({number})"),
        None => name,
    }
}

/// `9.10` from `ls (GNU coreutils) 9.10`, `0.23.5` from `v0.23.5 [+git]`.
fn number_in(version: &str) -> Option<&str> {
    let is_number =
        |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.');
    version.split_whitespace().map(|word| word.trim_start_matches('v')).find(is_number)
}

/// Picture for the README: the programs that list the names of one directory.
fn picture(published: &Published) -> String {
    let comparison = published.comparison("names").expect("the group of the record");
    let bar = |row: &Contrast| {
        let name = short_name(published.planned(row));
        // eza is so slow that the other bars would be too short to compare; the table has it. `(itself)` is the check of
        // the run.
        if name.starts_with("eza") || name.ends_with("(itself)") {
            return None;
        }
        let is_own = row.arm == comparison.baseline;
        let timing = published.report.summary.arms[row.arm.0 as usize].timing.as_ref()?;
        let interval = timing.time_ns.interval.as_ref()?;
        let ratio = match &row.outcome {
            Outcome::Judged { ratio, adjusted, .. } => text::ratio(ratio.value, *adjusted),
            _ if is_own => String::new(),
            _ => return None,
        };
        Some(Bar {
            name: versioned(published.planned(row), name),
            time_ms: timing.time_ns.value / 1e6,
            interval_ms: (interval.low / 1e6, interval.high / 1e6),
            time: text::time(timing.time_ns.value),
            ratio,
            is_own,
        })
    };
    let mut drawn: Vec<Bar> = comparison.rows.iter().filter_map(bar).collect();
    drawn.sort_by(|a, b| a.time_ms.total_cmp(&b.time_ms));
    let most = published.plan().data.iter().map(|data| data.entries).max().unwrap_or(0);
    let heading = format!("Time to list a directory of {} files", text::count(most));
    let machine = &published.report.summary.machine;
    let conditions = format!(
        "ext4, cached, {} processors, {}; medians of {} rounds of fresh processes in random order; ratio: time / time of megadir list",
        machine.processors,
        machine.kernel.split('-').next().unwrap_or_default(),
        published.report.summary.progress.rounds_used,
    );
    bars(&heading, &conditions, &drawn)
}

/// Table for docs/speed.md: a row for each program.
fn long_table(published: &Published) -> String {
    let mut table =
        "| task | megadir | compared with | time / time of megadir |\n|---|---|---|---|\n".to_owned();
    for (task, comparison) in tasks(published) {
        let mut first = (task, published.own_time(comparison));
        for Other { name, ratio } in published.others(comparison) {
            table += &format!("| {} | {} | `{name}` | {ratio} |\n", first.0, first.1);
            first = ("", String::new());
        }
    }
    format!("{}\n\n{table}", conditions(published))
}

/// Replaces the part of a page between two lines.
fn replaced(page: &str, begin: &str, part: &str) -> String {
    let (before, rest) = page.split_once(begin).expect("the beginning of the written part");
    let (_, after) = rest.split_once(END).expect("its end");
    format!("{before}{begin}\n{part}\n{END}{after}")
}

#[test]
fn comparisons_on_pages_equal_their_records() {
    let cached = Published::open(CACHED);
    assert_eq!(tasks(&cached).count(), TASKS.len());
    let uncached = Published::open(UNCACHED);
    let usage = USAGE.map(Published::open);
    let path = |name: &str| -> PathBuf { root().join(name) };
    let speed = replaced(&read(&path("docs/speed.md")), BEGIN, &long_table(&cached));
    let speed = replaced(&speed, BEGIN_UNCACHED, &long_table(&uncached));
    let mut pages =
        vec![("docs/list-names.svg".to_owned(), picture(&cached)), ("docs/speed.md".to_owned(), speed)];
    let records = [&cached, &uncached].into_iter().chain(&usage);
    pages.extend(records.map(|published| (format!("{}/README.md", published.folder), published.page())));
    for (name, expected) in pages {
        if std::env::var_os("MEGADIR_BLESS").is_some() {
            std::fs::write(path(&name), expected).expect("written");
        } else {
            let held = read(&path(&name)) == expected;
            assert!(
                held,
                "{name} is not what the record says; CONTRIBUTING.md has the command that writes it"
            );
        }
    }
}

#[test]
fn every_group_of_the_study_has_words() {
    let study = read(&root().join("crates/megadir-bench/studies/peers.toml"));
    let named = study.split("[[command.groups]]").skip(1).map(|group| {
        group
            .lines()
            .find_map(|line| line.strip_prefix("name = "))
            .expect("a name")
            .trim_matches('"')
            .to_owned()
    });
    assert_eq!(named.collect::<Vec<_>>(), TASKS.map(|(group, _)| group));
}
