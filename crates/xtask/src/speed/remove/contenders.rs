//! Programs that remove trees, with their options.

use super::super::tools::{Program, Tools};

/// A program that removes a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    /// Name in tables: the command line without the tree.
    pub(crate) name: &'static str,
    /// Program to start.
    pub(crate) program: Program,
    /// Options, before the tree.
    pub(crate) options: &'static [&'static str],
    /// Arguments after the tree.
    pub(crate) expression: &'static [&'static str],
}

const RMTREE: &str = "import shutil, sys; shutil.rmtree(sys.argv[1])";

const fn contender(name: &'static str, program: Program, options: &'static [&'static str]) -> Contender {
    Contender { name, program, options, expression: &[] }
}

/// This workspace's command, the reference of all comparisons.
pub(crate) const OURS: &str = "megadir remove";
/// The same command: its difference is noise.
pub(crate) const AGAIN: &str = "megadir remove (again)";
pub(crate) const RM: &str = "rm -rf";
pub(crate) const FIND: &str = "find -delete";
pub(crate) const RMZ: &str = "rmz";
pub(crate) const PYTHON: &str = "python shutil.rmtree";

/// All contenders.
pub(crate) static CONTENDERS: &[Contender] = &[
    contender(OURS, Program::Megadir, &["remove", "--yes"]),
    contender(AGAIN, Program::Megadir, &["remove", "--yes"]),
    contender(RM, Program::Rm, &["-rf"]),
    Contender { expression: &["-delete"], ..contender(FIND, Program::Find, &[]) },
    contender(RMZ, Program::Rmz, &[]),
    contender(PYTHON, Program::Python, &["-c", RMTREE]),
];

/// Returns the installed contenders with one of these words in their names (all without words), and always ours.
pub(crate) fn choose(only: &[String], tools: &Tools) -> Vec<&'static Contender> {
    let asked = |one: &Contender| {
        one.name == OURS || only.is_empty() || only.iter().any(|word| one.name.contains(word.as_str()))
    };
    CONTENDERS.iter().filter(|one| asked(one) && tools.get(one.program).is_some()).collect()
}
