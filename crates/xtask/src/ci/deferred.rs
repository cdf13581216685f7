//! Parts that the short tier leaves out: one table, with the reason of each row and the check that covers the part meanwhile. Nothing else may be left
//! out: with `MEGADIR_REQUIRE_ALL=1` a part that neither ran nor stands here is a failure.
//!
//! ```text
//! part -> ran | failed | deferred: Long, Unchanged (no such path changed), Lacking (this kernel cannot) | not run: a gap
//! ```

use super::stage::Context;
use crate::process;
use std::process::Command;

/// A part that only the long tier runs, always or under a condition.
pub(crate) struct Deferred {
    /// A stage, or a part of one.
    pub(crate) part: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) rule: Rule,
}

#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// Runs with `--full` (or `--only`, if it is a stage).
    Long,
    /// Also runs in the short tier if a tracked path that contains one of the words changed since the commit of the last long run.
    Unchanged(&'static [&'static str]),
    /// A test whose name contains this returned that this kernel or system lacks what it needs; the reason names the stage that has it.
    Lacking(&'static str),
}

const fn row(part: &'static str, rule: Rule, reason: &'static str) -> Deferred {
    Deferred { part, reason, rule }
}

pub(crate) static DEFERRED: &[Deferred] = &[
    row(
        "wine",
        Rule::Unchanged(&["windows", "wine", "megadir-sys/"]),
        "two minutes; the stage windows compiles and lints all of it in every run",
    ),
    row("cross", Rule::Long, "ten minutes in QEMU's user mode"),
    row("fuzz", Rule::Long, "an hour a target; the seeds run as tests in every run"),
    row(
        "static program, offline source, components, crates compiled from their packages",
        Rule::Long,
        "builds for another C library, and once more; the Debian package is installed and tried, and the crates are packed, in every run",
    ),
    row("studies at full size", Rule::Long, "hours; every study runs at its quick size in every run"),
    row(
        "conformance on ext2 and ext3 as a whole",
        Rule::Long,
        "two minutes each, mostly of creating and removing files; most kernels serve them by the driver of ext4, which has the whole suite in every run, and both are listed by each backend",
    ),
    row("pages beyond six in the browser", Rule::Long, "a page of each kind is checked in every run"),
    row(
        "MooseFS, GlusterFS, Slurm, hosts in namespaces",
        Rule::Long,
        "servers that take minutes; the same suites run on local file systems and ranks in every run",
    ),
    row("Python 3.9 and 3.13, the notebook, two raylets", Rule::Long, "one Python in every run"),
    row(
        "whole suites on Linux 5.10, 6.1, 6.12",
        Rule::Long,
        "hours in QEMU; positions and a study in every run",
    ),
    row(
        "positions on file systems without a driver here",
        Rule::Lacking("positions::on_"),
        "the stage emulated has the drivers",
    ),
    row(
        "every command on file systems without a driver here",
        Rule::Lacking("ground::on_"),
        "the stage emulated of the long tier and `cargo xtask ground` have the drivers",
    ),
    row(
        "advice and limits on file systems without a driver here",
        Rule::Lacking("ground::where_"),
        "the stage emulated of the long tier and `cargo xtask ground` have the drivers; ext2 and ext4 without an index run in every run",
    ),
    row(
        "disks in memory without zram",
        Rule::Lacking("memory_disk::"),
        "needs a kernel with zram, and root; their sizes are planned, and files in a tmpfs used, in every run",
    ),
    row("XFS without types", Rule::Lacking("conformance::on_xfs_without_types"), "needs an older mkfs.xfs"),
];

/// Part and reason of every row that applies to this run.
pub(crate) fn applying(context: &Context, since: Option<&str>) -> Vec<&'static Deferred> {
    let applies = |row: &&Deferred| match row.rule {
        Rule::Long | Rule::Unchanged(_) => is_deferred(context, row, since),
        Rule::Lacking(_) => false,
    };
    DEFERRED.iter().filter(applies).collect()
}

/// `true` if the stage `name` stands in the table and its rule applies.
pub(crate) fn is_stage_deferred(context: &Context, name: &str, since: Option<&str>) -> bool {
    DEFERRED.iter().any(|row| row.part == name && is_deferred(context, row, since))
}

fn is_deferred(context: &Context, row: &Deferred, since: Option<&str>) -> bool {
    match row.rule {
        _ if context.full || context.named => false,
        Rule::Long => true,
        Rule::Unchanged(words) => match since.map(|commit| changed_paths(context, commit)) {
            // Without a long run, or if its commit is unknown here, everything counts as changed.
            None | Some(None) => false,
            Some(Some(paths)) => !paths.lines().any(|path| words.iter().any(|word| path.contains(word))),
        },
        Rule::Lacking(_) => false,
    }
}

/// Paths that differ between `commit` and the checkout; `None` if git does not know the commit.
fn changed_paths(context: &Context, commit: &str) -> Option<String> {
    let mut command = Command::new("git");
    // The index and the working tree count too, since the checkout is tested and not the commit.
    command.args(["-c", "safe.directory=*", "diff", "--name-only", commit]);
    process::output(command.current_dir(&context.workspace.root)).ok()
}

/// The row that covers the test of a line `NAME: why`.
pub(crate) fn lacking(line: &str) -> Option<&'static Deferred> {
    DEFERRED.iter().find(|row| matches!(row.rule, Rule::Lacking(name) if line.contains(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_listed_once_with_its_reason() {
        for (index, row) in DEFERRED.iter().enumerate() {
            assert!(DEFERRED[..index].iter().all(|other| other.part != row.part), "{} twice", row.part);
            assert!(!row.reason.is_empty() && !row.part.contains('\n'), "{}", row.part);
        }
    }

    #[test]
    fn a_missing_driver_is_covered_only_if_its_test_is_in_the_table() {
        assert!(lacking("positions::on_jfs: no driver").is_some());
        assert!(lacking("it::ground::on_jfs: no driver").is_some());
        assert!(lacking("ground::where_directories_have_no_index_advice_spreads, vfat: no driver").is_some());
        assert!(lacking("limits::on_jfs: no driver").is_none());
    }
}
