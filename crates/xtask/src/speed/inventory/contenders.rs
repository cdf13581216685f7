//! Contenders that scan and compare.

use super::super::arms::DIRECTORY;
use super::super::tools::{Program, Tools};

/// Contenders that are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// List all entries with their attributes.
    Scan,
    /// Find changes.
    Changes,
}

/// Program with its arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contender {
    /// Name in tables.
    pub(super) name: &'static str,
    pub(super) group: Group,
    pub(super) program: Program,
    /// Arguments, including the tree.
    pub(super) words: &'static [&'static str],
}

/// Inventory to write, beside the tree.
pub(super) const WRITTEN: &str = "written.parquet";
/// Inventory to compare with.
pub(super) const KEPT: &str = "kept.parquet";

pub(super) const WALK: &str = "the walk alone";
pub(super) const SCAN: &str = "megadir scan";
pub(super) const SCAN_AGAIN: &str = "megadir scan (again)";
pub(super) const BFS: &str = "bfs -printf";
pub(super) const CHANGES: &str = "megadir changes";
pub(super) const CHANGES_AGAIN: &str = "megadir changes (again)";
pub(super) const FIND: &str = "find -newer";

/// Fields of an inventory: path, directory, name, type, size, times, inode, device, mode, owner, group, links.
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

/// All contenders; the first of a group is the reference of its ratios.
pub(super) static CONTENDERS: &[Contender] = &[
    contender(WALK, Group::Scan, Program::BareWalk, &[DIRECTORY]),
    contender(SCAN, Group::Scan, Program::Megadir, SCAN_WORDS),
    contender(SCAN_AGAIN, Group::Scan, Program::Megadir, SCAN_WORDS),
    contender(BFS, Group::Scan, Program::Bfs, &[DIRECTORY, "-printf", FORMAT]),
    contender(CHANGES, Group::Changes, Program::Megadir, CHANGES_WORDS),
    contender(CHANGES_AGAIN, Group::Changes, Program::Megadir, CHANGES_WORDS),
    contender(FIND, Group::Changes, Program::Find, &[DIRECTORY, "-newer", KEPT]),
];

/// Returns the reference of a group.
pub(super) fn first(group: Group) -> &'static str {
    match group {
        Group::Scan => WALK,
        Group::Changes => CHANGES,
    }
}

/// Returns the contenders with one of these words in their names (empty for all) whose programs are present.
pub(super) fn choose(only: &[String], tools: &Tools) -> Vec<&'static Contender> {
    let asked = |one: &Contender| only.is_empty() || only.iter().any(|word| one.name.contains(word.as_str()));
    CONTENDERS.iter().filter(|one| asked(one) && tools.get(one.program).is_some()).collect()
}
