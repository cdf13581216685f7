//! Table of the directories with the most entries.

use std::path::Path;

use super::text::{heading, push, write_notes};
use super::{Directories, Gaps, How};
use crate::ui::columns::aligned;

const HEADINGS: [&str; 4] = ["entries", "bytes", "largest", "newest"];

pub(super) fn write(text: &mut Vec<u8>, how: &How, directories: &Directories, gaps: &Gaps, path: &Path) {
    let (look, Directories { rows, all }) = (how.look, directories);
    heading(text, how, path);
    let entries = look.counted(all.total().entries, "entry", "entries");
    let count = look.counted(all.directories(), "directory", "directories");
    let bytes = look.bytes_and_unit(all.total().bytes);
    push(text, &format!("{entries} in {count}, {bytes} (apparent size)\n"));
    let unknown = || "-".to_owned();
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            [
                look.number(row.totals.total.entries),
                look.bytes(row.totals.total.bytes),
                row.totals.largest_bytes.map_or_else(unknown, |bytes| look.bytes(bytes)),
                row.totals.newest.map_or_else(unknown, |time| how.time(time)),
            ]
        })
        .collect();
    let figures = aligned(HEADINGS, &cells);
    if !rows.is_empty() {
        push(text, &format!("\n  {}  directory\n", figures[0]));
    }
    for (of, line) in rows.iter().zip(&figures[1..]) {
        push(text, &format!("  {line}  "));
        how.lines.path(text, &of.path);
        text.push(b'\n');
    }
    let (others, total) = directories.others();
    if others > 0 && !rows.is_empty() {
        let more = look.number(others);
        let entries = look.counted(total.entries, "entry", "entries");
        let bytes = look.bytes_and_unit(total.bytes);
        push(text, &format!("  and {more} more with {entries}, {bytes}\n"));
    }
    write_notes(text, &gaps.notes(look));
}
