//! Notes that the run itself wrote: the closed set of kinds, with advice for each.
//!
//! The names are those in records; an unknown kind comes from a newer version.

/// Kind of the note that Wine stood in for Windows.
pub(super) const WINE: &str = "wine";

/// Kind of the note that a program changed the data set although it should not.
pub(super) const PROGRAM_CHANGED_DATA: &str = "data-changed";

/// Kind of the note that an arm is not in the plan, or ended before the run.
pub(crate) const ARM_LEFT_OUT: &str = "arm-left-out";

/// Kinds of notes about other work on the machine, or about a system other than it seems.
pub(crate) const DISTURBING: [&str; 7] =
    [WINE, "load", "pressure", "stolen-time", "timer-gaps", "dirty-pages", "noisy"];

/// The kinds of notes, with advice.
const ADVICE: &[(&str, &str)] = &[
    (ARM_LEFT_OUT, "No action needed; `megadir backends` lists the available ones, with reasons."),
    ("group-left-out", "No action needed; `megadir backends` lists the available ones, with reasons."),
    (WINE, "Take nothing of this for Windows: run it again on a Windows machine."),
    ("timer-gaps", "Something else uses the processor: stop it, or pin the run to a quiet one."),
    ("stolen-time", "The hypervisor gives the processor to others: use a quieter host or more rounds."),
    ("load", "Stop other work on the machine and run it again."),
    ("pressure", "Wait until other tasks are done and run it again."),
    (
        "governor",
        "Set the frequency governor to `performance` (on Windows the power plan to High performance) for the run, or trust ratios and not times.",
    ),
    ("dirty-pages", "Run `sync`, wait until it is done, and run it again."),
    ("not-steady", "The times still had a trend after the warm-up: run it again, with a longer one."),
    ("noisy", "Stop other work on the machine (or on its host) and run it again."),
    ("unequal-work", "See the arms named above: their times are not compared."),
    (
        "no-cycle-counter",
        "No action needed for operations over a microsecond; shorter ones are timed less finely.",
    ),
    (
        "clock-drift",
        "Times of single operations are off by as much; times of blocks are not. A virtual machine that was moved does this.",
    ),
    (
        "slow-loop",
        "Stop other work on the machine and run it again: times of single operations are too long by as much.",
    ),
    (
        "shared-descriptors",
        "Compare threads with each other only; a filter of system calls forbids unshare(2), as containers have it.",
    ),
    (
        "cold-without-reads",
        "What the arm needs lies in the inode of the directory, which stays while it is open: treat its times as warm.",
    ),
    (
        "room-reused",
        "Times of creating may be too long (ext4 skips inodes that were just deleted): give it more space.",
    ),
    (
        "removed-remembered",
        "Its times of creating files hold after as many removals; without removals they are shorter.",
    ),
    ("not-written-back", "Times may hold what earlier work still has to write: run it as an administrator."),
    (
        "index-full",
        "Spread the files over directories (--layout prefix:2), take fewer, or make ext4 with large_dir or larger blocks; \
         `megadir limits` prints how many names fit.",
    ),
    (
        "program-failed",
        "Run the command by hand in a directory like the data set's; all its errors go to standard error.",
    ),
    (
        PROGRAM_CHANGED_DATA,
        "Find out which program writes; if it is meant to, say so (changes = true, --changes), and the data is made again before each run.",
    ),
    (
        "without-directory",
        "Put {dir} where the program takes a directory; otherwise the times are of work on something else.",
    ),
    (
        "shell-start",
        "Differences between commands do not contain it, ratios do; commands without pipes and variables need no shell.",
    ),
    ("leftovers", "Nothing, if the directory was removed; else `megadir bench clean` names and removes it."),
];

/// Returns the advice for a kind of note.
pub(super) fn advice(kind: &str) -> &'static str {
    let known = ADVICE.iter().find(|(name, _)| *name == kind);
    known.map_or("Noted by a newer megadir: use the newer version for advice.", |(_, advice)| advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_once() {
        for (place, (kind, _)) in ADVICE.iter().enumerate() {
            assert!(ADVICE[..place].iter().all(|(other, _)| other != kind), "{kind} is listed twice");
        }
        assert!(DISTURBING.iter().all(|kind| ADVICE.iter().any(|(known, _)| known == kind)));
        assert!(advice("load").starts_with("Stop"));
        assert!(advice("of-tomorrow").contains("newer"));
    }
}
