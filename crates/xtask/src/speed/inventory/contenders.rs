//! Who scans and who compares.

use super::super::arms::DIRECTORY;
use super::super::tools::{Program, Tools};

/// Contenders that are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// All entries with their attributes.
    Scan,
    /// What changed since.
    Changes,
}

/// A program with all its words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    /// Its name in tables.
    pub(super) name: &'static str,
    /// Whom it is compared with.
    pub(super) group: Group,
    /// What is started.
    pub(super) program: Program,
    /// Its words, the tree's among them.
    pub(super) words: &'static [&'static str],
}

/// The inventory that is written, beside the tree.
pub(super) const WRITTEN: &str = "written.parquet";
/// The inventory that is compared with.
pub(super) const KEPT: &str = "kept.parquet";

pub(super) const WALK: &str = "the walk alone";
pub(super) const SCAN: &str = "megadir scan";
pub(super) const SCAN_AGAIN: &str = "megadir scan (again)";
pub(super) const BFS: &str = "bfs -printf";
pub(super) const CHANGES: &str = "megadir changes";
pub(super) const CHANGES_AGAIN: &str = "megadir changes (again)";
pub(super) const FIND: &str = "find -newer";

/// The fields of an inventory: path, directory, name, type, size, times, inode, device, mode, owner, group, links.
const FORMAT: &str = "%p\\t%h\\t%f\\t%y\\t%s\\t%T@\\t%C@\\t%B@\\t%i\\t%D\\t%m\\t%U\\t%G\\t%n\\n";

const fn contender(
    name: &'static str,
    group: Group,
    program: Program,
    words: &'static [&'static str],
) -> Contender {
    Contender { name, group, program, words }
}

const SCAN_WORDS: &[&str] = &["scan", DIRECTORY, "--output", WRITTEN];
const CHANGES_WORDS: &[&str] = &["changes", KEPT, DIRECTORY];

/// All contenders; the first of a group is what the others' ratios are to.
pub(super) static CONTENDERS: &[Contender] = &[
    contender(WALK, Group::Scan, Program::BareWalk, &[DIRECTORY]),
    contender(SCAN, Group::Scan, Program::Megadir, SCAN_WORDS),
    contender(SCAN_AGAIN, Group::Scan, Program::Megadir, SCAN_WORDS),
    contender(BFS, Group::Scan, Program::Bfs, &[DIRECTORY, "-printf", FORMAT]),
    contender(CHANGES, Group::Changes, Program::Megadir, CHANGES_WORDS),
    contender(CHANGES_AGAIN, Group::Changes, Program::Megadir, CHANGES_WORDS),
    contender(FIND, Group::Changes, Program::Find, &[DIRECTORY, "-newer", KEPT]),
];

/// Returns the contender that others of a group are compared to.
pub(super) fn first(group: Group) -> &'static str {
    match group {
        Group::Scan => WALK,
        Group::Changes => CHANGES,
    }
}

/// Returns those with one of these words in their names (none is all), whose programs are there.
pub(super) fn choose(only: &[String], tools: &Tools) -> Vec<&'static Contender> {
    let asked = |one: &Contender| only.is_empty() || only.iter().any(|word| one.name.contains(word.as_str()));
    CONTENDERS.iter().filter(|one| asked(one) && tools.get(one.program).is_some()).collect()
}
