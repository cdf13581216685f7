//! Forms of lines about entries, which `changes` and `compare` share.

use megadir_inventory::{Facts, list_prefix, named_numbers};

use crate::ui::escape;
use crate::ui::object::Object;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineForm {
    Text { escape: bool },
    Null,
    Json,
    Paths { end: u8, escape: bool },
}

impl LineForm {
    /// By the options `--paths`, `--json` and `--null`, of which `--null` also ends paths.
    pub(super) fn of([paths, json, null]: [bool; 3], is_terminal: bool) -> Self {
        match (json, null) {
            (_, null) if paths => {
                Self::Paths { end: if null { 0 } else { b'\n' }, escape: is_terminal && !null }
            }
            (true, _) => Self::Json,
            (_, true) => Self::Null,
            _ => Self::Text { escape: is_terminal },
        }
    }
}

/// A path of [`LineForm::Paths`], as lists of rsync take it.
pub(super) fn list_path(text: &mut Vec<u8>, path: &[u8], end: u8, escape: bool) {
    text.extend_from_slice(list_prefix(path));
    escape::name(text, path, escape);
    text.push(end);
}

/// The type and those of `columns` that are known.
pub(super) fn json_facts(part: &mut Object<'_>, facts: &Facts, columns: &[&str]) {
    part.string("type", facts.kind.name());
    for (key, number) in named_numbers(facts).filter(|(key, _)| columns.contains(key)) {
        if let Some(number) = number {
            part.raw(key, number);
        }
    }
}
