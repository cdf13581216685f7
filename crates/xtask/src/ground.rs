//! `cargo xtask ground`: what every command does on every kind of file system, as docs/ground.md. The rows
//! are results of the tests
//! `ground::` of the program: on file systems of this machine's kernel and FUSE servers here, on all others
//! in the emulated machine.
//!
//! ```text
//! tests ground:: -> tab-separated rows (native) --+-> sorted by name -> docs/ground.md
//! emulated machine, or the page's own rows -------+     messages below the table, each once
//! ```

use std::fmt::Write;

use crate::ci::emulated;
use crate::ci::stage::Context;
use crate::files;
use crate::process::{self, Workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the file systems of this machine's kernel and FUSE servers; the rows of others stay as they are
    #[arg(long)]
    native: bool,
}

const PAGE: &str = "docs/ground.md";
/// After name and version, in the order in which the tests write them (`commands.rs`).
const COLUMNS: [&str; 8] = [
    "list",
    "usage",
    "limits",
    "changes: none made",
    "changes: mounted again",
    "changes: some made",
    "reshard",
    "remove",
];
/// Appended to the version, and found by it when the page is read again.
const EMULATED: &str = " (emulated)";

const HEAD: &str = "# What each command does on each file system

Written by `cargo xtask ground` from the tests `ground::` (`cargo test -p megadir-cli --test it -- ground::`), which compare each command with what the system calls return.

*exact*: equal to the system calls, and nothing else. *refused*: with the message below the table, and nothing was changed. *differs*: wrong. -: does not apply.
`list`, `usage`: a tree of 210 entries with nested directories and links. `limits`: full or read-only if and only if nothing can be created.
`changes`: no line if nothing was changed, also after the file system was mounted again; exactly the lines of a file added, one removed, one rewritten at the same size, a directory renamed, one moved to another directory.
`reshard`: 200 files into directories by the first two characters; the dry run fails where the run does. `remove`: the tree, and the dry run counts what the run removes.
Of file systems without a row (HFS, HFS+, CephFS, Lustre, GPFS, BeeGFS, MooseFS, GlusterFS, ZFS, s3fs, securefs, rclone, exfat-fuse, archivemount, ratarmount, fuse-zip), megadir has what earlier runs on them or their documentation show: `megadir doctor DIR` prints it.

";

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let context = Context { workspace: Workspace::find()?, require_all: false, full: false, named: true };
    let page = context.root(PAGE);
    let mut rows = native_rows(&context)?;
    match args.native {
        true => rows.extend(emulated_rows_of(&std::fs::read_to_string(&page).unwrap_or_default())),
        false => {
            let emulated = emulated::ground_rows(&context)?;
            rows.extend(emulated.lines().filter_map(|line| Row::parse(line, EMULATED)));
        }
    }
    // Stable: native rows of a name come before emulated ones.
    rows.sort_by(|left, right| left.name.cmp(&right.name));
    files::write(&page, page_of(&rows))?;
    println!("{PAGE}: {} file systems", rows.len());
    let differing: Vec<&str> = rows.iter().filter(|row| row.differs()).map(|row| row.name.as_str()).collect();
    if differing.is_empty() { Ok(()) } else { Err(format!("differs on {}", differing.join(", "))) }
}

fn native_rows(context: &Context) -> Result<Vec<Row>, String> {
    let log = context.scratch()?.join("ground-rows");
    files::write(&log, "")?;
    let mut command = context.cargo_tests();
    command.args(["--test=it", "--", "ground::"]).env("MEGADIR_GROUND_LOG", &log);
    // A cell that differs fails its test, and is in the page.
    let ended = process::run(&mut command);
    let rows: Vec<Row> = files::read(&log)?.lines().filter_map(|line| Row::parse(line, "")).collect();
    if rows.is_empty() { Err(ended.err().unwrap_or("no test ran".to_owned())) } else { Ok(rows) }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    name: String,
    version: String,
    cells: Vec<String>,
}

impl Row {
    fn parse(line: &str, mark: &str) -> Option<Self> {
        let mut fields = line.split('\t').map(str::to_owned);
        // A line with another number of cells is of an older test.
        let row = Self { name: fields.next()?, version: fields.next()? + mark, cells: fields.collect() };
        (row.cells.len() == COLUMNS.len()).then_some(row)
    }

    fn differs(&self) -> bool {
        self.cells.iter().any(|cell| cell.starts_with("differs"))
    }
}

/// Rows of the emulated machine in the present page, with their messages taken from the notes.
fn emulated_rows_of(page: &str) -> Vec<Row> {
    let notes: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("* ")?.split_once(": "))
        .map(|(_, text)| text)
        .collect();
    let rows = page.lines().filter(|line| line.contains(EMULATED)).filter_map(|line| {
        let cells = line.trim_matches('|').split('|').map(|cell| match cell.trim().split_once(' ') {
            Some((word @ ("refused" | "differs"), number)) => {
                let note = number.parse::<usize>().ok().and_then(|number| notes.get(number.checked_sub(1)?));
                format!("{word}: {}", note.unwrap_or(&""))
            }
            _ => cell.trim().to_owned(),
        });
        Row::parse(&cells.collect::<Vec<_>>().join("\t"), "")
    });
    rows.collect()
}

/// Messages stand below the table, each once.
fn page_of(rows: &[Row]) -> String {
    let mut page = HEAD.to_owned();
    let _ = writeln!(page, "| file system | version | {} |", COLUMNS.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(COLUMNS.len() + 2));
    let mut notes: Vec<&str> = Vec::new();
    for row in rows {
        let _ = write!(page, "| {} | {} |", row.name, row.version);
        for cell in &row.cells {
            match cell.split_once(": ") {
                None => {
                    let _ = write!(page, " {cell} |");
                }
                Some((word, message)) => {
                    let known = notes.iter().position(|note| *note == message);
                    let index = known.unwrap_or_else(|| {
                        notes.push(message);
                        notes.len() - 1
                    });
                    let _ = write!(page, " {word} {} |", index + 1);
                }
            }
        }
        page.push('\n');
    }
    page.push('\n');
    for (index, note) in notes.iter().enumerate() {
        let _ = writeln!(page, "* {}: {note}", index + 1);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, version: &str, remove: &str) -> Row {
        let cells = std::iter::repeat_n("exact", COLUMNS.len() - 1).chain([remove]);
        Row { name: name.to_owned(), version: version.to_owned(), cells: cells.map(str::to_owned).collect() }
    }

    #[test]
    fn rows_of_the_emulated_machine_are_read_from_the_page() {
        let native = row("ext4", "Linux 6.18", "exact");
        let refusals = ["refused: read-only", "refused: no rename", "refused: read-only"];
        let emulated = refusals.map(|refusal| row("udf", "Linux 6.12 (emulated)", refusal));
        let page = page_of(&[&[native][..], &emulated].concat());
        assert!(page.contains("| refused 2 |") && !page.contains("| refused 3 |"), "{page}");
        assert_eq!(emulated_rows_of(&page), emulated);
    }

    #[test]
    fn a_row_without_all_columns_is_left_out() {
        assert_eq!(Row::parse("ext4\tLinux 6.18\texact", ""), None);
    }
}
