//! Formats differences as lines.

use std::io::Write;

use megadir_inventory::copies::{Difference, DifferenceKind};

use super::Args;
use crate::cmd::line_form::{LineForm, json_facts, list_path};
use crate::ui::escape;
use crate::ui::object::Object;
use crate::ui::output::Output;

/// Names of the sides.
pub(super) const SIDES: [&str; 2] = ["A", "B"];

/// Paths are relative to the trees; if there are several, the recorded paths of A's trees precede them.
pub(super) struct Lines {
    form: LineForm,
    prefixes: Vec<Vec<u8>>,
    path: Vec<u8>,
}

impl Lines {
    pub(super) fn new(args: &Args, prefixes: Vec<Vec<u8>>, is_terminal: bool) -> Self {
        let form = LineForm::of([args.paths, args.json, args.null], is_terminal);
        Self { form, prefixes, path: Vec::new() }
    }

    pub(super) fn write(&mut self, difference: &Difference<'_>, output: &mut Output) {
        let mut path = std::mem::take(&mut self.path);
        self.path_into(difference, &mut path);
        let text = &mut output.text;
        match self.form {
            LineForm::Text { escape } => as_text(text, difference, &path, escape),
            LineForm::Null => {
                text.extend_from_slice(difference.kind.name().as_bytes());
                text.push(b'\t');
                text.extend_from_slice(&path);
                text.push(0);
            }
            LineForm::Json => as_json(text, difference, &path),
            LineForm::Paths { end, escape } => list_path(text, &path, end, escape),
        }
        self.path = path;
    }

    pub(super) fn path_into(&self, difference: &Difference<'_>, path: &mut Vec<u8>) {
        difference.key.path_into(path);
        match self.prefixes.get(difference.key.root as usize) {
            Some(prefix) if path.is_empty() => path.extend_from_slice(prefix),
            Some(prefix) => {
                let mut whole = prefix.clone();
                if !whole.ends_with(b"/") {
                    whole.push(b'/');
                }
                path.splice(..0, whole);
            }
            None if path.is_empty() => path.push(b'.'),
            None => {}
        }
    }
}

fn as_text(text: &mut Vec<u8>, difference: &Difference<'_>, path: &[u8], escaped: bool) {
    let _ = write!(text, "{:<13}", difference.kind.name());
    escape::name(text, path, escaped);
    match (difference.kind, difference.facts, difference.unreadable) {
        (DifferenceKind::Differs, [Some(a), Some(b)], _) if a.kind != b.kind => {
            let _ = write!(text, " (type: {} -> {})", a.kind.name(), b.kind.name());
        }
        (DifferenceKind::Differs, ..) => {
            let names: Vec<&str> = difference.properties.names().collect();
            let _ = write!(text, " ({})", names.join(", "));
        }
        (_, _, Some((side, error))) => {
            let mut reason = Vec::new();
            escape::name(&mut reason, error.as_bytes(), true);
            let _ = write!(text, " (in {}: {})", SIDES[side], String::from_utf8_lossy(&reason));
        }
        _ => {}
    }
    text.push(b'\n');
}

fn as_json(text: &mut Vec<u8>, difference: &Difference<'_>, path: &[u8]) {
    Object::line(text, |object| {
        object.string("difference", difference.kind.name());
        object.name("path", path);
        let names: Vec<String> = difference.properties.names().map(str::to_owned).collect();
        if !names.is_empty() {
            object.strings("fields", &names);
        }
        if let Some((side, error)) = difference.unreadable {
            object.string("side", KEYS[side]);
            object.string("error", error);
        }
        for (key, facts) in KEYS.iter().zip(difference.facts) {
            if let Some(facts) = facts {
                object.part(key, |part| json_facts(part, facts, &COMPARED));
            }
        }
    });
}

const KEYS: [&str; 2] = ["a", "b"];
const COMPARED: [&str; 5] = ["size", "mtime_ns", "mode", "uid", "gid"];
