//! Formats changes as lines.

use std::io::Write;
use std::path::PathBuf;

use megadir::names;
use megadir_inventory::TreePath;
use megadir_inventory::changes::{Change, ChangeKind};

use super::Args;
use crate::cmd::line_form::{LineForm, json_facts, list_path};
use crate::ui::escape;
use crate::ui::message::tree_path;
use crate::ui::object::Object;
use crate::ui::output::{Ended, Output};

pub(super) struct Lines {
    pub(super) form: LineForm,
    prefixes: Vec<Vec<u8>>,
}

impl Lines {
    pub(super) fn new(args: &Args, roots: &[PathBuf], is_terminal: bool) -> Self {
        let form = LineForm::of([args.paths, args.json, args.null], is_terminal);
        let prefix = |root: &PathBuf| names::from_os(root.as_os_str()).to_vec();
        Self { form, prefixes: roots.iter().map(prefix).collect() }
    }

    pub(super) fn write(&self, changes: &[Change], output: &mut Output) -> Result<(), Ended> {
        for change in changes {
            match self.form {
                LineForm::Text { escape } => self.text(&mut output.text, change, escape),
                LineForm::Null => self.null(&mut output.text, change),
                LineForm::Json => self.json(&mut output.text, change),
                LineForm::Paths { end, escape } => relative(&mut output.text, change, end, escape),
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
                    object.part(key, |part| json_facts(part, facts, &COMPARED));
                }
            }
        });
    }
}

fn relative(text: &mut Vec<u8>, change: &Change, end: u8, escape: bool) {
    let path = if change.path.is_empty() { b".".to_vec() } else { change.path.to_vec() };
    list_path(text, &path, end, escape);
}

pub(super) const COMPARED: [&str; 9] =
    ["size", "mtime_ns", "ctime_ns", "btime_ns", "inode", "mode", "uid", "gid", "links"];
