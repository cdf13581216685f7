//! Contenders: programs with options, the destination of their output, and its expected content.

use super::tools::{Program, Tools};

/// Directory below the root of its file system; all programs get this relative name.
pub(crate) const DIRECTORY: &str = "d";

/// Python script that builds a list of all names without printing them.
const LISTDIR: &str = "import os, sys; print(len(os.listdir(sys.argv[1])))";

/// Arms that are compared with each other: one table, with ratios to its first arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    /// Warm, output to /dev/null.
    List,
    /// Warm, output into `wc -l`.
    Pipe,
    /// Warm, sorted by name, output to /dev/null.
    Sort,
    /// Warm, one thread against shares on two.
    Split,
    /// Warm, time to the first byte in a pipe.
    First,
    /// Warm, size, modification time and name of each entry, into `wc -l`.
    Long,
    /// Warm, the columns of `ls -l`, output to /dev/null.
    LongLs,
    /// Remounted before each run, output to /dev/null.
    Cold,
    /// Remounted before each run, size, modification time and name of each entry, into `wc -l`.
    LongCold,
}

impl Section {
    /// `true` if the file system is remounted before each run.
    pub(crate) fn is_cold(self) -> bool {
        matches!(self, Section::Cold | Section::LongCold)
    }
}

/// Destination of an arm's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    Null,
    /// Pipe into `wc -l`; both processes count.
    Wc,
    /// Pipe that is closed after the first byte.
    FirstByte,
}

/// Format of an arm's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// One name a line, possibly with the directory's path, and possibly a line for the directory.
    Names,
    /// One JSON object a line, with the member `name`.
    Json,
    /// Size, modification time as seconds since 1970, and name, one entry a line.
    SizeTimeName,
    /// Columns ending with the name, and possibly a line with a total.
    LastColumn,
    /// Number of names.
    Count,
    /// Total size of the kernel's records, bytes.
    RecordBytes,
}

/// One contender in one section.
#[derive(Clone, Copy)]
pub(crate) struct Arm {
    /// Name in tables: the command without the directory.
    pub(crate) name: &'static str,
    pub(crate) section: Section,
    pub(crate) program: Program,
    /// Options before the directory.
    pub(crate) options: &'static [&'static str],
    /// Arguments after the directory.
    pub(crate) expression: &'static [&'static str],
    /// File systems to run on; empty for all.
    pub(crate) only_on: &'static [&'static str],
    pub(crate) sink: Sink,
    /// Expected output.
    pub(crate) proof: Proof,
}

const fn list(name: &'static str, program: Program, options: &'static [&'static str]) -> Arm {
    Arm {
        name,
        section: Section::List,
        program,
        options,
        expression: &[],
        only_on: &[],
        sink: Sink::Null,
        proof: Proof::Names,
    }
}

const fn megadir(name: &'static str, options: &'static [&'static str]) -> Arm {
    list(name, Program::Megadir, options)
}

const fn pipe(name: &'static str, program: Program, options: &'static [&'static str]) -> Arm {
    Arm { section: Section::Pipe, sink: Sink::Wc, ..list(name, program, options) }
}

const fn within(section: Section, arm: Arm) -> Arm {
    Arm { section, ..arm }
}

const fn proving(proof: Proof, arm: Arm) -> Arm {
    Arm { proof, ..arm }
}

const fn only_on(file_systems: &'static [&'static str], arm: Arm) -> Arm {
    Arm { only_on: file_systems, ..arm }
}

/// Size, modification time and name by megadir.
const fn long(name: &'static str, options: &'static [&'static str]) -> Arm {
    proving(Proof::SizeTimeName, within(Section::Long, pipe(name, Program::Megadir, options)))
}

/// The same by find.
const fn find_long(name: &'static str) -> Arm {
    let find = pipe(name, Program::Find, &[]);
    Arm {
        expression: &["-printf", "%s %T@ %p\n"],
        section: Section::Long,
        proof: Proof::SizeTimeName,
        ..find
    }
}

/// The columns of `ls -l`, or fewer.
const fn like_ls(name: &'static str, program: Program, options: &'static [&'static str]) -> Arm {
    only_on(&["ext4"], proving(Proof::LastColumn, within(Section::LongLs, list(name, program, options))))
}

const fn first(name: &'static str, program: Program, options: &'static [&'static str]) -> Arm {
    Arm { section: Section::First, sink: Sink::FirstByte, ..list(name, program, options) }
}

/// All contenders; the first of a section is its baseline. fd gets `-u` to list everything, like the rest.
pub(crate) static ARMS: &[Arm] = &[
    megadir("megadir list", &["list"]),
    megadir("megadir list (again)", &["list"]),
    megadir("megadir list -j1", &["list", "-j1"]),
    proving(Proof::Json, megadir("megadir list --json", &["list", "--json"])),
    megadir(
        "megadir list --backend getdents --buffer 128KiB",
        &["list", "--backend", "getdents", "--buffer", "128KiB"],
    ),
    proving(Proof::RecordBytes, list("bare getdents64, 128 KiB", Program::Bare, &[])),
    list("ls -U", Program::Ls, &["-U"]),
    list("find", Program::Find, &[]),
    list("bfs", Program::Bfs, &[]),
    list("bfs (other)", Program::OtherBfs, &[]),
    list("fdfind -u .", Program::Fdfind, &["-u", "."]),
    list("fd -u .", Program::Fd, &["-u", "."]),
    proving(Proof::Count, list("python os.listdir", Program::Python, &["-c", LISTDIR])),
    pipe("megadir list | wc -l", Program::Megadir, &["list"]),
    pipe("ls -U | wc -l", Program::Ls, &["-U"]),
    pipe("bfs | wc -l", Program::Bfs, &[]),
    pipe("bfs (other) | wc -l", Program::OtherBfs, &[]),
    pipe("fdfind -u . | wc -l", Program::Fdfind, &["-u", "."]),
    pipe("fd -u . | wc -l", Program::Fd, &["-u", "."]),
    within(Section::Sort, megadir("megadir list --sort name", &["list", "--sort", "name"])),
    within(Section::Sort, list("LC_ALL=C ls", Program::Ls, &[])),
    within(
        Section::Split,
        megadir("megadir list --backend split -j2", &["list", "--backend", "split", "-j2"]),
    ),
    within(Section::Split, megadir("megadir list --backend getdents", &["list", "--backend", "getdents"])),
    proving(
        Proof::Count,
        within(
            Section::Split,
            megadir(
                "megadir list --backend split -j2 --count",
                &["list", "--backend", "split", "-j2", "--count"],
            ),
        ),
    ),
    proving(
        Proof::Count,
        within(
            Section::Split,
            megadir("megadir list --backend getdents --count", &["list", "--backend", "getdents", "--count"]),
        ),
    ),
    first("megadir list, first byte", Program::Megadir, &["list"]),
    first("ls -U, first byte", Program::Ls, &["-U"]),
    long("megadir list --fields size,mtime,name", LONG),
    long("megadir list --fields size,mtime,name -j1", LONG_SERIAL),
    find_long("find -printf '%s %T@ %p\\n'"),
    only_on(&["xfs"], long("megadir list --fields size,mtime,name --examiner xfs-bulkstat", BULK_XFS)),
    only_on(&["btrfs"], long("megadir list --fields size,mtime,name --examiner btrfs-search", BULK_BTRFS)),
    like_ls("megadir list -l", Program::Megadir, &["list", "-l"]),
    like_ls("ls -lU", Program::Ls, &["-lU"]),
    like_ls("ls -lnU", Program::Ls, &["-lnU"]),
    like_ls("ls -gGU", Program::Ls, &["-gGU"]),
    like_ls("ls -1sU", Program::Ls, &["-1sU"]),
    like_ls("ls -1U", Program::Ls, &["-1U"]),
    within(Section::Cold, megadir("cold: megadir list", &["list"])),
    within(
        Section::Cold,
        megadir("cold: megadir list --backend split -j2", &["list", "--backend", "split", "-j2"]),
    ),
    within(
        Section::Cold,
        megadir("cold: megadir list --backend getdents", &["list", "--backend", "getdents"]),
    ),
    within(Section::LongCold, long("cold: megadir list --fields size,mtime,name", LONG)),
    within(Section::LongCold, long("cold: megadir list --fields size,mtime,name -j1", LONG_SERIAL)),
    within(Section::LongCold, find_long("cold: find -printf '%s %T@ %p\\n'")),
    within(
        Section::LongCold,
        only_on(
            &["xfs"],
            long("cold: megadir list --fields size,mtime,name --examiner xfs-bulkstat", BULK_XFS),
        ),
    ),
    within(
        Section::LongCold,
        only_on(
            &["btrfs"],
            long("cold: megadir list --fields size,mtime,name --examiner btrfs-search", BULK_BTRFS),
        ),
    ),
];

const LONG: &[&str] = &["list", "--time-style=epoch", "--fields=size,mtime,name"];
const LONG_SERIAL: &[&str] = &["list", "-j1", "--time-style=epoch", "--fields=size,mtime,name"];
const BULK_XFS: &[&str] =
    &["list", "--examiner=xfs-bulkstat", "--time-style=epoch", "--fields=size,mtime,name"];
const BULK_BTRFS: &[&str] =
    &["list", "--examiner=btrfs-search", "--time-style=epoch", "--fields=size,mtime,name"];

/// Part of the measurements, for the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Everything
    All,
    /// Warm, to /dev/null
    List,
    /// Warm, into `wc -l`
    Pipe,
    /// Sorted by name
    Sort,
    /// One thread against shares on two
    Split,
    /// Time to the first name
    First,
    /// The arms with a memory limit
    Memory,
    /// Size, modification time and name of each entry, against find
    Long,
    /// The columns of `ls -l`, against ls with fewer and fewer of them
    LongLs,
    /// Remounted before each run
    ListCold,
    /// Size, modification time and name, remounted before each run
    LongCold,
    /// Inventories: scanning and detecting changes
    Inventory,
    /// Everything about removal
    Remove,
    /// Removing a tree of empty files
    RemoveTree,
    /// Removing a tree of files of 50 kB
    RemoveSized,
    /// Removing one directory
    RemoveFlat,
    /// Removing one directory, dropped from the caches before each run
    RemoveFlatCold,
}

/// Arms of [`Part::Memory`].
const MEMORY: &[&str] =
    &["megadir list", "megadir list --json", "ls -U", "megadir list --sort name", "LC_ALL=C ls"];

impl Part {
    fn has(self, arm: &Arm) -> bool {
        match self {
            Part::All => true,
            Part::List => arm.section == Section::List,
            Part::Pipe => arm.section == Section::Pipe,
            Part::Sort => arm.section == Section::Sort,
            Part::Split => arm.section == Section::Split,
            Part::First => arm.section == Section::First,
            Part::Memory => MEMORY.contains(&arm.name),
            Part::Long => arm.section == Section::Long,
            Part::LongLs => arm.section == Section::LongLs,
            Part::ListCold => arm.section == Section::Cold,
            Part::LongCold => arm.section == Section::LongCold,
            Part::Inventory => false,
            Part::Remove | Part::RemoveTree | Part::RemoveSized | Part::RemoveFlat | Part::RemoveFlatCold => {
                false
            }
        }
    }
}

/// `true` if any listing arm belongs to these parts (empty for all).
pub(crate) fn any_asked(parts: &[Part]) -> bool {
    parts.is_empty() || ARMS.iter().any(|arm| parts.iter().any(|part| part.has(arm)))
}

/// Returns the arms of these parts (empty for all) with one of these words in their names (empty for all) whose
/// programs are present, and the baselines of their sections.
pub(crate) fn choose(parts: &[Part], only: &[String], tools: &Tools) -> Vec<&'static Arm> {
    select(parts, only, |program| tools.get(program).is_some())
}

fn select(parts: &[Part], only: &[String], is_there: impl Fn(Program) -> bool) -> Vec<&'static Arm> {
    let asked = |arm: &Arm| {
        (parts.is_empty() || parts.iter().any(|part| part.has(arm)))
            && (only.is_empty() || only.iter().any(|word| arm.name.contains(word.as_str())))
            && is_there(arm.program)
    };
    let sections: Vec<Section> = ARMS.iter().filter(|arm| asked(arm)).map(|arm| arm.section).collect();
    let first = |arm: &Arm| baseline(arm.section).is_some_and(|first| first.name == arm.name);
    ARMS.iter().filter(|arm| asked(arm) || (first(arm) && sections.contains(&arm.section))).collect()
}

impl Arm {
    pub(crate) fn runs_on(&self, file_system: &str) -> bool {
        self.only_on.is_empty() || self.only_on.contains(&file_system)
    }
}

/// Returns the reference of a section's ratios.
pub(crate) fn baseline(section: Section) -> Option<&'static Arm> {
    ARMS.iter().find(|arm| arm.section == section)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(parts: &[Part], only: &[&str], is_there: impl Fn(Program) -> bool) -> Vec<&'static str> {
        let only: Vec<String> = only.iter().map(|&word| word.to_owned()).collect();
        select(parts, &only, is_there).iter().map(|arm| arm.name).collect()
    }

    #[test]
    fn arms_are_named_once() {
        for (index, arm) in ARMS.iter().enumerate() {
            assert!(ARMS[..index].iter().all(|other| other.name != arm.name), "{} twice", arm.name);
        }
        assert!(MEMORY.iter().all(|name| ARMS.iter().any(|arm| arm.name == *name)));
    }

    #[test]
    fn parts_and_words_choose_and_the_baseline_comes_along() {
        assert_eq!(names(&[], &[], |_| true).len(), ARMS.len());
        assert_eq!(names(&[Part::All], &[], |_| true).len(), ARMS.len());
        assert_eq!(names(&[Part::Sort], &[], |_| true), ["megadir list --sort name", "LC_ALL=C ls"]);
        assert_eq!(
            names(&[], &["bfs"], |program| program != Program::OtherBfs),
            ["megadir list", "bfs", "megadir list | wc -l", "bfs | wc -l"]
        );
        assert_eq!(names(&[Part::Memory], &[], |_| true), MEMORY);
        assert!(names(&[Part::First], &["bfs"], |_| true).is_empty());
    }
}
