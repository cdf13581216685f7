//! Counts instructions with Callgrind: of the measurement loop for each operation, where the difference of
//! two runs excludes the start of the program, and of the start, with which a command on a small directory
//! is slower than others.
//!
//! Times of a busy machine differ by tens of per cent, instructions by less than one: so speed is held by a
//! count.

use crate::ci::stage::{Context, Report};
use crate::{files, process};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Limit for the program as released, which the full tier measures.
const INSTRUCTIONS_MAX: f64 = 200.0;
/// Limit for the short tier's build, which optimises the loop less and keeps the checks of overflow: 202 when this was written.
const INSTRUCTIONS_CHECKED_MAX: f64 = 210.0;
/// Otherwise the operations were not run at all.
const INSTRUCTIONS_MIN: f64 = 1.0;
/// Limit for `usage` of an empty directory, nearly all of it the start; millions. As released 1.0 when this was written, and 2.0 when each start
/// built the arguments of all commands; in the short tier's build 5.5, two thirds of them the loader's, and 3.2 more.
const START_MAX: f64 = 1.3;
const START_CHECKED_MAX: f64 = 6.5;
const OPERATIONS: [u64; 2] = [10_000, 110_000];

/// One run gives each count: counts vary by less than one in a hundred, unlike times, so that a limit a
/// little above them fails when code is
/// added to a loop or to the start, and never because the machine is busy.
pub(crate) fn run(context: &Context) -> Result<Report, String> {
    let binary = context.program()?;
    if !has_command(&binary, &["bench", "null", "--help"]) {
        return Err("megadir has no `bench null`".into());
    }
    if process::find_tool("valgrind").is_none() {
        return Ok(Report::not_run("instructions: no valgrind"));
    }
    let file = context.scratch()?.join("callgrind.out");
    // Two runs that differ in the number of operations only.
    let mut totals = [0; 2];
    for (operations, total) in OPERATIONS.into_iter().zip(&mut totals) {
        *total = count(&binary, &["bench", "null", "--operations", &operations.to_string()], &file)?;
    }
    let each = per_operation(OPERATIONS, totals);
    let most = if context.full { INSTRUCTIONS_MAX } else { INSTRUCTIONS_CHECKED_MAX };
    let line = format!("{each:.1} instructions per null operation (at most {most}), callgrind, n = 1 each");
    // A loop that was skipped would pass every upper limit.
    if each < INSTRUCTIONS_MIN {
        return Err(format!("{line}: the operations were not run"));
    }
    let empty = files::temporary_folder(&context.scratch()?)?;
    let start = count(&binary, &["usage", &empty.path().to_string_lossy()], &file)? as f64 / 1e6;
    let start_most = if context.full { START_MAX } else { START_CHECKED_MAX };
    let start_line =
        format!("{start:.2} million instructions to start (at most {start_most}), callgrind, n = 1");
    if each > most {
        return Err(line);
    }
    if start > start_most {
        Err(start_line)
    } else {
        Ok(Report { lines: vec![line, start_line], ..Report::default() })
    }
}

pub(crate) fn has_command(binary: &Path, words: &[&str]) -> bool {
    process::output(Command::new(binary).args(words)).is_ok_and(|help| !help.trim().is_empty())
}

fn count(binary: &Path, words: &[&str], file: &Path) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(binary).args(words);
    // Callgrind emulates the processor, hence the generous limit.
    let (status, printed) = process::run_at_most(&mut command, Duration::from_secs(300))?;
    process::judge_printed(&command, status, &printed)?;
    total(&files::read(file)?).ok_or_else(|| format!("{} has no line `totals:`", file.display()))
}

/// In callgrind's output, `Ir` is the first event.
fn total(text: &str) -> Option<u64> {
    let after = |key| text.lines().find_map(|line: &str| line.strip_prefix(key)?.split_whitespace().next());
    if after("events:")? != "Ir" {
        return None;
    }
    after("totals:")?.parse().ok()
}

fn per_operation(operations: [u64; 2], totals: [u64; 2]) -> f64 {
    totals[1].saturating_sub(totals[0]) as f64 / (operations[1] - operations[0]) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 77\n\
        positions: line\nevents: Ir\nsummary: 1299\n\nfn=(0)\n0 3\n\ntotals: 1302\n";

    #[test]
    fn reads_the_total_of_callgrind() {
        assert_eq!(total(WRITTEN), Some(1302));
        assert_eq!(total(&WRITTEN.replace("events: Ir", "events: Cy Ir")), None);
        assert_eq!(total("events: Ir\n"), None);
    }

    #[test]
    fn the_cost_of_starting_cancels_out() {
        let cost = |operations: u64| 5_000_000 + operations * 42;
        let each = per_operation(OPERATIONS, OPERATIONS.map(cost));
        assert!((each - 42.0).abs() < 1e-9);
        assert!(per_operation(OPERATIONS, [7, 5]).abs() < 1e-9);
    }

    #[test]
    fn counts_a_real_command_where_valgrind_is_there() {
        if process::find_tool("valgrind").is_none() {
            return crate::ci::suites::note_not_run("xtask::counts_a_real_command", "no valgrind");
        }
        let folder = tempfile::tempdir().unwrap();
        let counted = count(Path::new("/bin/true"), &[], &folder.path().join("out")).unwrap();
        assert!(counted > 1000);
    }

    #[test]
    fn a_command_without_help_is_not_known() {
        assert!(!has_command(Path::new("/bin/false"), &["--help"]));
        assert!(!has_command(Path::new("/no/such/binary"), &["--help"]));
    }
}
