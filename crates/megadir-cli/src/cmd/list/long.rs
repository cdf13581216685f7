//! Long lines: fields aligned for people, separated by tabs for programs, or JSON.

use megadir::{Attributes, Entry, FileType, Want, names};

use super::args::{Args, Sort};
use super::field::{self, Field, Values};
use super::lines::{Format, Label, Lines};
use super::times::{Named, TimeStyle};
use crate::ui::escape;

/// Makes the lines of a long listing.
pub(super) struct Long {
    fields: Vec<Field>,
    values: Values,
    layout: Layout,
    /// The names of symbolic links are followed by their targets.
    arrows: bool,
    /// The widest value of each field so far, characters; columns only grow, so that lines can be streamed.
    widths: Vec<usize>,
    scratch: Vec<u8>,
}

/// How the values of a line are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Columns, for people.
    Aligned,
    /// A tab between values, for programs.
    Tabs,
    /// An object.
    Json,
}

/// What separates values that wait to be aligned; no value holds it.
const SEPARATOR: u8 = 0;

impl Long {
    /// Returns what `--long` or `--fields` asks for, if either was given.
    pub(super) fn new(args: &Args, lines: &Lines, is_terminal: bool) -> Option<Self> {
        if !args.long && args.fields.is_empty() {
            return None;
        }
        let fields = if args.fields.is_empty() { field::DEFAULT.to_vec() } else { args.fields.clone() };
        let layout = match lines.format {
            Format::Json => Layout::Json,
            _ if is_terminal && lines.end == b'\n' => Layout::Aligned,
            _ => Layout::Tabs,
        };
        let style = match args.time_style {
            Some(named) => named.style(),
            // A line of a terminal is short, and people do not read nanoseconds.
            None if layout == Layout::Aligned => TimeStyle::IsoSeconds,
            None => Named::Iso.style(),
        };
        Some(Self {
            // What is sorted is complete before the first line is printed.
            widths: match args.sort {
                Sort::None => fields.iter().map(|field| field.streamed_width(args.human())).collect(),
                _ => vec![0; fields.len()],
            },
            arrows: layout == Layout::Aligned && args.fields.is_empty(),
            values: Values::new(style, args.human()),
            layout,
            fields,
            scratch: Vec::new(),
        })
    }

    /// Returns what must be asked of the system.
    pub(super) fn want(&self) -> Want {
        self.fields.iter().map(|field| field.want()).collect()
    }

    /// Appends the line of an entry.
    pub(super) fn line(
        &mut self,
        text: &mut Vec<u8>,
        lines: &Lines,
        label: &Label,
        entry: &Entry<'_>,
        row: &Attributes,
    ) {
        if self.layout != Layout::Aligned {
            return self.pack(text, lines, label, entry, row);
        }
        let mut packed = std::mem::take(&mut self.scratch);
        packed.clear();
        self.pack(&mut packed, lines, label, entry, row);
        self.unpack(text, lines, &packed);
        self.scratch = packed;
    }

    /// Appends what is kept of an entry until its line is written: the line itself, or values to be aligned.
    pub(super) fn pack(
        &mut self,
        text: &mut Vec<u8>,
        lines: &Lines,
        label: &Label,
        entry: &Entry<'_>,
        row: &Attributes,
    ) {
        match self.layout {
            Layout::Json => self.json(text, label, entry, row),
            Layout::Tabs => {
                for index in 0..self.fields.len() {
                    if index > 0 {
                        text.push(b'\t');
                    }
                    self.value(text, lines, label, entry, row, index);
                }
                text.push(lines.end);
            }
            Layout::Aligned => {
                for index in 0..self.fields.len() {
                    let start = text.len();
                    self.value(text, lines, label, entry, row, index);
                    if text.len() == start {
                        text.push(b'-');
                    }
                    self.widths[index] = self.widths[index].max(width(&text[start..]));
                    text.push(SEPARATOR);
                }
            }
        }
    }

    /// Appends the line of what was packed.
    pub(super) fn unpack(&self, text: &mut Vec<u8>, lines: &Lines, packed: &[u8]) {
        if self.layout != Layout::Aligned {
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
        text.push(lines.end);
    }

    fn value(
        &mut self,
        text: &mut Vec<u8>,
        lines: &Lines,
        label: &Label,
        entry: &Entry<'_>,
        row: &Attributes,
        index: usize,
    ) {
        match self.fields[index] {
            Field::Name => {
                lines.bare_name(text, label.prefix(), entry.name);
                if self.arrows
                    && let Some(target) = target(label, entry, row)
                {
                    text.extend_from_slice(b" -> ");
                    lines.bare_name(text, b"", &target);
                }
            }
            Field::Target => {
                if let Some(target) = target(label, entry, row) {
                    lines.bare_name(text, b"", &target);
                }
            }
            field => drop(self.values.write(text, field, entry, row)),
        }
    }

    fn json(&mut self, text: &mut Vec<u8>, label: &Label, entry: &Entry<'_>, row: &Attributes) {
        label.json_start(text, entry.name);
        // What an object holds without attributes it holds with them too.
        if !self.fields.contains(&Field::Type) {
            text.push(b',');
            self.values.write_json(text, Field::Type, entry, row);
        }
        if !self.fields.contains(&Field::Inode) {
            text.extend_from_slice(b",\"inode\":");
            let inode = if row.have.contains(Want::INODE) { row.inode } else { entry.inode };
            text.extend_from_slice(itoa::Buffer::new().format(inode).as_bytes());
        }
        for index in 0..self.fields.len() {
            let field = self.fields[index];
            if field == Field::Target {
                text.push(b',');
                match target(label, entry, row) {
                    Some(target) => escape::json_member(text, "target", &target),
                    None => text.extend_from_slice(b"\"target\":null"),
                }
            } else if field != Field::Name {
                text.push(b',');
                self.values.write_json(text, field, entry, row);
            }
        }
        text.extend_from_slice(b"}\n");
    }
}

/// Returns what a symbolic link points to, where the entry is one and that can be read.
fn target(label: &Label, entry: &Entry<'_>, row: &Attributes) -> Option<Vec<u8>> {
    if field::kind(entry, row) != FileType::Symlink {
        return None;
    }
    let target = std::fs::read_link(label.path().join(&*names::to_os(entry.name).ok()?)).ok()?;
    Some(names::from_os(target.as_os_str()).to_vec())
}

/// Returns the width of a value, characters.
fn width(value: &[u8]) -> usize {
    // Bytes that go on with a character do not begin one.
    value.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}
