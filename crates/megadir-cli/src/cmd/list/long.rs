//! Long lines: aligned columns, tab-separated values, or JSON.

use megadir::{Attributes, Entry, FileType, StatMask, names};

use super::args::{Args, Sort};
use super::field::{self, Field, Values};
use super::lines::{Format, Label, Lines};
use crate::cmd::times::TimeStyle;
use crate::ui::escape;

/// Lines with attributes. `arrows` is set if targets of links follow their names. `scratch` holds one packed line at
/// a time: packing and aligning are two steps, so that sorted lines can wait packed until the widths of all are
/// known.
pub(super) struct Long {
    fields: Vec<Field>,
    values: Values,
    lines: Lines,
    /// Columns on a terminal; otherwise tabs or JSON.
    is_aligned: bool,
    arrows: bool,
    /// Columns only grow, because lines are streamed.
    widths: Vec<usize>,
    scratch: Vec<u8>,
}

const SEPARATOR: u8 = 0;

impl Long {
    pub(super) fn new(args: &Args, lines: Lines, is_terminal: bool) -> Option<Self> {
        if !args.long && args.fields.is_empty() {
            return None;
        }
        let fields = if args.fields.is_empty() { field::DEFAULT.to_vec() } else { args.fields.clone() };
        let is_aligned = lines.format != Format::Json && is_terminal && lines.end == b'\n';
        // Terminal lines are short, and nanoseconds are noise to people.
        let usual = if is_aligned { TimeStyle::IsoSeconds } else { TimeStyle::Iso };
        Some(Self {
            // Sorted output is complete before the first line, so widths are exact.
            widths: match args.sort {
                Sort::None => fields.iter().map(|field| field.streamed_width(args.human())).collect(),
                _ => vec![0; fields.len()],
            },
            arrows: is_aligned && args.fields.is_empty(),
            values: Values::new(args.time_style.unwrap_or(usual), args.human()),
            lines,
            is_aligned,
            fields,
            scratch: Vec::new(),
        })
    }

    pub(super) fn want(&self) -> StatMask {
        self.fields.iter().map(|field| field.want()).collect()
    }

    pub(super) fn line(&mut self, text: &mut Vec<u8>, label: &Label, entry: &Entry<'_>, row: &Attributes) {
        if !self.is_aligned {
            return self.pack(text, label, entry, row);
        }
        let mut packed = std::mem::take(&mut self.scratch);
        packed.clear();
        self.pack(&mut packed, label, entry, row);
        self.unpack(text, &packed);
        self.scratch = packed;
    }

    pub(super) fn pack(&mut self, text: &mut Vec<u8>, label: &Label, entry: &Entry<'_>, row: &Attributes) {
        if self.lines.format == Format::Json {
            return self.json(text, label, entry, row);
        }
        let last = self.fields.len() - 1;
        for index in 0..=last {
            let start = text.len();
            self.value(text, label, entry, row, index);
            if self.is_aligned {
                if text.len() == start {
                    text.push(b'-');
                }
                self.widths[index] = self.widths[index].max(width(&text[start..]));
                text.push(SEPARATOR);
            } else {
                text.push(if index < last { b'\t' } else { self.lines.end });
            }
        }
    }

    pub(super) fn fit<'p>(&mut self, lines: impl Iterator<Item = &'p [u8]>) {
        if !self.is_aligned {
            return;
        }
        self.widths.fill(0);
        for packed in lines {
            for (value, column) in packed.split(|byte| *byte == SEPARATOR).zip(&mut self.widths) {
                *column = (*column).max(width(value));
            }
        }
    }

    pub(super) fn unpack(&self, text: &mut Vec<u8>, packed: &[u8]) {
        if !self.is_aligned {
            return text.extend_from_slice(packed);
        }
        let last = self.fields.len() - 1;
        let columns = packed.split(|byte| *byte == SEPARATOR).zip(&self.fields).zip(&self.widths);
        for (index, ((value, field), column)) in columns.enumerate() {
            let spaces = column.saturating_sub(width(value));
            if field.is_number() {
                text.resize(text.len() + spaces, b' ');
            }
            text.extend_from_slice(value);
            if index < last {
                let after = if field.is_number() { 0 } else { spaces };
                text.resize(text.len() + after + 1, b' ');
            }
        }
        text.push(self.lines.end);
    }

    fn value(&mut self, text: &mut Vec<u8>, label: &Label, entry: &Entry<'_>, row: &Attributes, at: usize) {
        match self.fields[at] {
            Field::Name => {
                self.lines.bare_name(text, label.prefix(), entry.name);
                if self.arrows
                    && let Some(target) = target(label, entry)
                {
                    text.extend_from_slice(b" -> ");
                    self.lines.bare_name(text, b"", &target);
                }
            }
            Field::Target => {
                if let Some(target) = target(label, entry) {
                    self.lines.bare_name(text, b"", &target);
                }
            }
            field => drop(self.values.write(text, field, entry.kind, row)),
        }
    }

    fn json(&mut self, text: &mut Vec<u8>, label: &Label, entry: &Entry<'_>, row: &Attributes) {
        label.json_start(text, entry.name);
        if !self.fields.contains(&Field::Type) {
            text.push(b',');
            self.values.write_json(text, Field::Type, entry.kind, row);
        }
        let has_inode = row.have.contains(StatMask::INODE);
        if !self.fields.contains(&Field::Inode) && (has_inode || self.lines.with_inodes) {
            text.extend_from_slice(b",\"inode\":");
            escape::number(text, if has_inode { row.inode } else { entry.inode });
        }
        for index in 0..self.fields.len() {
            let field = self.fields[index];
            if field == Field::Target {
                text.push(b',');
                match target(label, entry) {
                    Some(target) => escape::json_member(text, "target", &target),
                    None => text.extend_from_slice(b"\"target\":null"),
                }
            } else if field != Field::Name {
                text.push(b',');
                self.values.write_json(text, field, entry.kind, row);
            }
        }
        text.extend_from_slice(b"}\n");
    }
}

fn target(label: &Label, entry: &Entry<'_>) -> Option<Vec<u8>> {
    if entry.kind != FileType::Symlink || label.is_recorded {
        return None;
    }
    let target = std::fs::read_link(label.directory.join(&*names::to_os(entry.name).ok()?)).ok()?;
    Some(names::from_os(target.as_os_str()).to_vec())
}

fn width(value: &[u8]) -> usize {
    value.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}
