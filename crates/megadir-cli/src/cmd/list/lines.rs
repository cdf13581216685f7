//! Lines of a listing: names, raw columns, JSON.

use std::cell::OnceCell;
use std::path::Path;

use megadir::{Batch, DirPath, Entry, names};

use crate::ui::escape;
use crate::ui::object::Object;
use crate::ui::output::{Ended, Output};
#[cfg(target_os = "linux")]
use crate::ui::screen;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Names,
    Raw,
    Json,
}

/// Form of all lines of a run, copied freely. `end` is the byte after each line; `escape` is set where names go to a
/// terminal, which control characters could command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines {
    pub(super) format: Format,
    pub(super) end: u8,
    pub(super) escape: bool,
    pub(super) with_path: bool,
    /// In JSON: listings and stat return the same inode numbers.
    pub(super) with_inodes: bool,
}

/// Directory of the entries that are printed next, with the texts that begin each of their lines. It is used again
/// for consecutive batches of one directory.
pub(super) struct Label {
    pub(super) directory: DirPath,
    /// The entries are rows of an inventory: the tree is not read for them.
    pub(super) is_recorded: bool,
    with_path: bool,
    is_json: bool,
    /// Made when an entry is printed: the path of a directory of a deep tree is long.
    texts: OnceCell<Texts>,
}

struct Texts {
    prefix: Vec<u8>,
    /// `"dir":...,` or empty.
    json: Vec<u8>,
}

impl Label {
    pub(super) fn json_start(&self, text: &mut Vec<u8>, name: &[u8]) {
        text.extend_from_slice(b"{\"v\":1,");
        text.extend_from_slice(&self.texts().json);
        escape::json_member(text, "name", name);
    }

    #[inline]
    pub(super) fn prefix(&self) -> &[u8] {
        &self.texts().prefix
    }

    #[inline]
    fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| self.make())
    }

    fn make(&self) -> Texts {
        let mut texts = Texts { prefix: Vec::new(), json: Vec::new() };
        if self.with_path {
            let bytes = names::from_os(self.directory.as_os_str());
            texts.prefix.reserve_exact(bytes.len() + 1);
            texts.prefix.extend_from_slice(bytes);
            if bytes.last().is_none_or(|last| !std::path::is_separator(char::from(*last))) {
                texts.prefix.push(SEPARATOR);
            }
        }
        // Escaping takes far longer than copying, and paths of deep trees are long.
        if self.with_path && self.is_json {
            escape::json_member(&mut texts.json, "dir", directory(&texts.prefix));
            texts.json.push(b',');
        }
        texts
    }
}

const SEPARATOR: u8 = std::path::MAIN_SEPARATOR as u8;

impl Lines {
    pub(super) fn label(&self, directory: DirPath) -> Label {
        let (with_path, is_json) = (self.with_path, self.format == Format::Json);
        Label { directory, is_recorded: false, with_path, is_json, texts: OnceCell::new() }
    }

    pub(super) fn relabel(&self, label: &mut Label, directory: &DirPath) -> bool {
        let differs = label.directory != *directory;
        if differs {
            *label = self.label(directory.clone());
        }
        differs
    }

    pub(super) fn batch(&self, output: &mut Output, batch: Batch<'_>, label: &Label) -> Result<(), Ended> {
        if self.format == Format::Names && !self.escape {
            let prefix = label.prefix();
            for name in batch.names() {
                self.plain(&mut output.text, prefix, name);
                output.made()?;
            }
        } else {
            for entry in batch {
                self.entry(&mut output.text, label, &entry);
                output.made()?;
            }
        }
        Ok(())
    }

    pub(super) fn entry(&self, text: &mut Vec<u8>, label: &Label, entry: &Entry<'_>) {
        match self.format {
            Format::Names => self.name(text, label.prefix(), entry.name),
            Format::Raw => self.raw(text, label.prefix(), entry),
            Format::Json => self.json(text, &label.texts().json, entry),
        }
    }

    /// `prefix` is the directory with a trailing slash.
    pub(super) fn sorted_entry(&self, text: &mut Vec<u8>, prefix: &[u8], entry: &Entry<'_>) {
        match self.format {
            Format::Names => self.name(text, prefix, entry.name),
            Format::Raw => self.raw(text, prefix, entry),
            Format::Json => {
                let mut member = Vec::new();
                if !prefix.is_empty() {
                    escape::json_member(&mut member, "dir", directory(prefix));
                    member.push(b',');
                }
                self.json(text, &member, entry);
            }
        }
    }

    #[inline]
    fn plain(&self, text: &mut Vec<u8>, prefix: &[u8], name: &[u8]) {
        // An append of nothing costs as much as one of a name.
        if !prefix.is_empty() {
            text.extend_from_slice(prefix);
        }
        text.extend_from_slice(name);
        text.push(self.end);
    }

    fn name(&self, text: &mut Vec<u8>, prefix: &[u8], name: &[u8]) {
        self.bare_name(text, prefix, name);
        text.push(self.end);
    }

    pub(super) fn bare_name(&self, text: &mut Vec<u8>, prefix: &[u8], name: &[u8]) {
        escape::name(text, prefix, self.escape);
        escape::name(text, name, self.escape);
    }

    fn raw(&self, text: &mut Vec<u8>, prefix: &[u8], entry: &Entry<'_>) {
        let mut number = itoa::Buffer::new();
        padded(text, number.format(entry.inode).as_bytes(), 10, true);
        text.extend_from_slice(b"  ");
        padded(text, entry.kind.name().as_bytes(), 12, false);
        padded(text, number.format(entry.record_bytes).as_bytes(), 4, true);
        text.push(b' ');
        padded(text, number.format(entry.cookie.unwrap_or(0)).as_bytes(), 19, true);
        text.extend_from_slice(b"  ");
        self.name(text, prefix, entry.name);
    }

    pub(super) fn count(&self, text: &mut Vec<u8>, entries: u64, path: &Path) {
        if self.format == Format::Json {
            return Object::line(text, |object| {
                object.name("dir", names::from_os(path.as_os_str()));
                object.raw("count", entries);
            });
        }
        escape::number(text, entries);
        if self.with_path {
            text.push(b'\t');
            self.path(text, path);
        }
        text.push(b'\n');
    }

    #[cfg(target_os = "linux")]
    pub(super) fn estimate(&self, text: &mut Vec<u8>, estimate: &megadir::Estimate, path: &Path) {
        let (low, high) = estimate.interval;
        if self.format == Format::Json {
            return Object::line(text, |object| {
                object.name("dir", names::from_os(path.as_os_str()));
                object.raw("entries", estimate.entries);
                object.raw("low", low);
                object.raw("high", high);
                object.string("basis", &estimate.basis);
            });
        }
        let unit = if estimate.entries == 1 { "entry" } else { "entries" };
        let mut line = format!("{} {unit} [{low}, {high}] ", estimate.entries).into_bytes();
        if self.with_path {
            self.path(&mut line, path);
            line.extend_from_slice(b": ");
        }
        line.extend_from_slice(estimate.basis.as_bytes());
        match std::str::from_utf8(&line) {
            Ok(line) if self.escape => {
                let mut wrapped = String::new();
                screen::wrapped(&mut wrapped, screen::width(true), ("", "  "), line);
                text.extend_from_slice(wrapped.as_bytes());
            }
            _ => text.extend_from_slice(&[&line[..], b"\n"].concat()),
        }
    }

    fn json(&self, text: &mut Vec<u8>, directory: &[u8], entry: &Entry<'_>) {
        text.extend_from_slice(b"{\"v\":1,");
        text.extend_from_slice(directory);
        escape::json_member(text, "name", entry.name);
        text.extend_from_slice(b",\"type\":\"");
        text.extend_from_slice(entry.kind.name().as_bytes());
        if self.with_inodes {
            text.extend_from_slice(b"\",\"inode\":");
            escape::number(text, entry.inode);
            text.extend_from_slice(b"}\n");
        } else {
            text.extend_from_slice(b"\"}\n");
        }
    }

    pub(super) fn path(&self, text: &mut Vec<u8>, path: &Path) {
        escape::name(text, names::from_os(path.as_os_str()), self.escape);
    }
}

pub(super) fn directory(prefix: &[u8]) -> &[u8] {
    let Some((last, path)) = prefix.split_last() else { return prefix };
    // `/` and `C:\` keep their slash.
    let is_root = path.is_empty() || (cfg!(windows) && path.ends_with(b":"));
    if std::path::is_separator(char::from(*last)) && !is_root { path } else { prefix }
}

fn padded(text: &mut Vec<u8>, field: &[u8], width: usize, to_the_right: bool) {
    let spaces = width.saturating_sub(field.len());
    let end = text.len() + field.len() + spaces;
    if to_the_right {
        text.resize(text.len() + spaces, b' ');
    }
    text.extend_from_slice(field);
    text.resize(end, b' ');
}
