//! Formats changes as lines.

use std::io::Write;
use std::path::PathBuf;

use megadir::names;
use megadir_inventory::changes::{Change, ChangeKind};
use megadir_inventory::{Facts, TreePath, list_prefix, named_numbers};

use super::Args;
use crate::ui::escape;
use crate::ui::message::tree_path;
use crate::ui::object::Object;
use crate::ui::output::{Ended, Output};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text { escape: bool },
    Null,
    Json,
    Paths { end: u8, escape: bool },
}

pub(super) struct Lines {
    form: Form,
    prefixes: Vec<Vec<u8>>,
}

impl Lines {
    pub(super) fn new(args: &Args, roots: &[PathBuf], is_terminal: bool) -> Self {
        let form = match (args.json, args.null) {
            (_, null) if args.paths => {
                Form::Paths { end: if null { 0 } else { b'\n' }, escape: is_terminal && !null }
            }
            (true, _) => Form::Json,
            (_, true) => Form::Null,
            _ => Form::Text { escape: is_terminal },
        };
        let prefix = |root: &PathBuf| names::from_os(root.as_os_str()).to_vec();
        Self { form, prefixes: roots.iter().map(prefix).collect() }
    }

    pub(super) fn write(&self, changes: &[Change], output: &mut Output) -> Result<(), Ended> {
        for change in changes {
            match self.form {
                Form::Text { escape } => self.text(&mut output.text, change, escape),
                Form::Null => self.null(&mut output.text, change),
                Form::Json => self.json(&mut output.text, change),
                Form::Paths { end, escape } => relative(&mut output.text, change, end, escape),
            }
            output.made()?;
        }
        output.flush()
    }

    pub(super) fn path(&self, root: u32, relative: &TreePath) -> Vec<u8> {
        tree_path(self.prefixes.get(root as usize).map_or(&b""[..], Vec::as_slice), relative)
    }

    fn text(&self, text: &mut Vec<u8>, change: &Change, escaped: bool) {
        let _ = write!(text, "{:<13}", change.kind.name());
        if let Some(from) = &change.from {
            escape::name(text, &self.path(change.root, from), escaped);
            text.extend_from_slice(b" -> ");
        }
        escape::name(text, &self.path(change.root, &change.path), escaped);
        let mut besides: Vec<&str> = Vec::new();
        if change.kind != ChangeKind::TypeChanged {
            besides.extend(change.fields.names());
        }
        if change.suspect && change.kind != ChangeKind::Suspect {
            besides.push("suspect");
        }
        if !besides.is_empty() {
            let _ = write!(text, " ({})", besides.join(", "));
        }
        if change.kind == ChangeKind::TypeChanged
            && let (Some(old), Some(new)) = (&change.old, &change.new)
        {
            let _ = write!(text, " ({} -> {})", old.kind.name(), new.kind.name());
        }
        text.push(b'\n');
    }

    fn null(&self, text: &mut Vec<u8>, change: &Change) {
        let mut record = |kind: &str, path: &TreePath| {
            text.extend_from_slice(kind.as_bytes());
            text.push(b'\t');
            text.extend_from_slice(&self.path(change.root, path));
            text.push(0);
        };
        record(change.kind.name(), &change.path);
        if let Some(from) = &change.from {
            record("from", from);
        }
    }

    fn json(&self, text: &mut Vec<u8>, change: &Change) {
        Object::line(text, |object| {
            object.string("change", change.kind.name());
            object.name("path", &self.path(change.root, &change.path));
            if let Some(from) = &change.from {
                object.name("from", &self.path(change.root, from));
            }
            let fields: Vec<String> = change.fields.names().map(str::to_owned).collect();
            if !fields.is_empty() {
                object.strings("fields", &fields);
            }
            if change.suspect {
                object.raw("suspect", true);
            }
            for (key, facts) in [("old", &change.old), ("new", &change.new)] {
                if let Some(facts) = facts {
                    object.part(key, |part| json_facts(part, facts));
                }
            }
        });
    }
}

fn relative(text: &mut Vec<u8>, change: &Change, end: u8, escape: bool) {
    let path = if change.path.is_empty() { b".".to_vec() } else { change.path.to_vec() };
    text.extend_from_slice(list_prefix(&path));
    escape::name(text, &path, escape);
    text.push(end);
}

const COMPARED: [&str; 9] =
    ["size", "mtime_ns", "ctime_ns", "btime_ns", "inode", "mode", "uid", "gid", "links"];

fn json_facts(part: &mut Object<'_>, facts: &Facts) {
    part.string("type", facts.kind.name());
    for (key, number) in named_numbers(facts).filter(|(key, _)| COMPARED.contains(key)) {
        if let Some(number) = number {
            part.raw(key, number);
        }
    }
}
