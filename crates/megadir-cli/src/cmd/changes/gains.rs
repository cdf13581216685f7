//! Directories ranked by their gains, as a table or as JSON lines.

use std::cmp::Reverse;

use megadir_inventory::changes::{Gain, Gains};

use super::Args;
use super::args::By;
use super::lines::Lines;
use crate::cmd::list::summary::text::Look;
use crate::ui::escape;
use crate::ui::object::Object;
use crate::ui::output::{Ended, Output};
use crate::ui::screen::aligned;

const TOP: usize = 10;

/// All rows are known before the first is printed, so columns have exact widths. On a pipe, numbers have no
/// separators, so that programs can read them; in JSON the list is whole unless `--top` limits it. Where the space on
/// disk is not recorded, the column has a dash instead of a difference that would be wrong.
pub(super) fn write(
    gains: &Gains,
    by: By,
    args: &Args,
    lines: &Lines,
    output: &mut Output,
) -> Result<(), Ended> {
    let mut ranked = ranked(gains, by);
    // A list for programs is whole, because it has no place for the number of missing ones.
    let top = args.top.unwrap_or(if args.json { usize::MAX } else { TOP });
    let more = ranked.len().saturating_sub(top);
    ranked.truncate(top);
    if args.json {
        for gain in ranked {
            json(&mut output.text, gain, &lines.path(gain.root, &gain.path), gains.has_allocated);
            output.made()?;
        }
        return output.flush();
    }
    let is_terminal = output.is_terminal();
    let look = Look::new(is_terminal, is_terminal);
    let cells = |gain: &Gain| {
        let allocated = match gains.has_allocated {
            true => signed(gain.allocated, |bytes| look.bytes(bytes)),
            false => "-".to_owned(),
        };
        let entries = signed(gain.entries.into(), |number| look.number(number));
        [entries, allocated, signed(gain.apparent, |bytes| look.bytes(bytes))]
    };
    let rows: Vec<[String; 3]> = ranked.iter().map(|gain| cells(gain)).collect();
    let figures = aligned(["entries", "on disk", "size"], &rows);
    output.text.extend_from_slice(format!("{}  directory\n", figures[0]).as_bytes());
    for (gain, line) in ranked.into_iter().zip(&figures[1..]) {
        output.text.extend_from_slice(format!("{line}  ").as_bytes());
        let path = lines.path(gain.root, &gain.path);
        escape::name(&mut output.text, &path, is_terminal);
        output.text.push(b'\n');
        output.made()?;
    }
    if more > 0 {
        let more = look.counted(more as u64, "more directory", "more directories");
        output.text.extend_from_slice(format!("... {more} with a gain (-n N lists more)\n").as_bytes());
    }
    output.flush()
}

/// Largest first; among equal ones by path, so that a directory comes before the directories below it.
fn ranked(gains: &Gains, by: By) -> Vec<&Gain> {
    let value = |gain: &Gain| match by {
        By::Entries => i128::from(gain.entries),
        By::Allocated => gain.allocated,
        By::Apparent => gain.apparent,
    };
    let mut ranked: Vec<&Gain> = gains.directories.iter().filter(|gain| value(gain) > 0).collect();
    ranked.sort_by_key(|gain| Reverse(value(gain)));
    ranked
}

fn signed(value: i128, text: impl Fn(u128) -> String) -> String {
    match value {
        0 => "0".to_owned(),
        1.. => format!("+{}", text(value.unsigned_abs())),
        _ => format!("-{}", text(value.unsigned_abs())),
    }
}

fn json(text: &mut Vec<u8>, gain: &Gain, path: &[u8], has_allocated: bool) {
    Object::line(text, |object| {
        object.name("path", path);
        object.raw("entries", gain.entries);
        object.raw_or_null("allocated", has_allocated.then_some(gain.allocated));
        object.raw("apparent", gain.apparent);
    });
}
