//! Inventories as JSON lines or CSV, with the columns of the Parquet file.

use std::io::Write;
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind, Result};
use megadir_inventory::{CSV_HEADER, Excluded, FileKind, Replacement, Row, Sink, named_numbers};

use crate::exit::CliError;
use crate::ui::escape::{csv_value, hex, json_member, json_string};
use crate::ui::output::{Ended, Output};

const FLUSH_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Jsonl,
    Csv,
}

pub(super) struct TextSink {
    form: Form,
    roots: Vec<Vec<u8>>,
    target: Target,
    text: Vec<u8>,
    path: Vec<u8>,
    ended: Option<Ended>,
}

enum Target {
    File { file: Box<Replacement>, path: PathBuf },
    Stdout(Output),
}

impl TextSink {
    pub(super) fn create(
        form: Form,
        output: Option<&Path>,
        roots: Vec<Vec<u8>>,
    ) -> std::result::Result<Self, CliError> {
        let target = match output {
            Some(path) => {
                let file = Box::new(Replacement::create(path, FileKind::Inventory)?);
                Target::File { file, path: path.to_owned() }
            }
            None => Target::Stdout(Output::new()?),
        };
        let text = match form {
            Form::Jsonl => Vec::new(),
            Form::Csv => CSV_HEADER.as_bytes().to_vec(),
        };
        Ok(Self { form, roots, target, text, path: Vec::new(), ended: None })
    }

    pub(super) fn excluded(&self) -> Vec<Excluded> {
        match &self.target {
            Target::File { file, .. } => file.excluded(),
            Target::Stdout(_) => Vec::new(),
        }
    }

    pub(super) fn ended(&mut self) -> Option<Ended> {
        self.ended.take()
    }

    pub(super) fn finish(mut self) -> std::result::Result<Option<u64>, Ended> {
        self.flush()?;
        match self.target {
            Target::Stdout(_) => Ok(None),
            Target::File { file, .. } => file.finish().map(Some).map_err(|error| Ended::Other(error.into())),
        }
    }

    fn flush(&mut self) -> std::result::Result<(), Ended> {
        match &mut self.target {
            Target::File { file, path } => {
                let written = file.write_all(&self.text);
                written.map_err(|error| Ended::Other(Error::io("write", path, error).into()))?;
            }
            Target::Stdout(output) => {
                output.text.extend_from_slice(&self.text);
                output.flush()?;
            }
        }
        self.text.clear();
        Ok(())
    }
}

impl Sink for TextSink {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        let root = self.roots.get(row.key.root as usize).map_or(&b""[..], |root| root);
        self.path.clear();
        row.key.text_into(root, &mut self.path);
        match self.form {
            Form::Jsonl => jsonl(&mut self.text, row, &self.path),
            Form::Csv => csv(&mut self.text, row, &self.path),
        }
        if self.text.len() >= FLUSH_BYTES
            && let Err(ended) = self.flush()
        {
            self.ended = Some(ended);
            return Err(Error::new("write", "".as_ref(), ErrorKind::Io, "the output has ended"));
        }
        Ok(())
    }
}

fn push_number(text: &mut Vec<u8>, number: i128) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn jsonl(text: &mut Vec<u8>, row: &Row<'_>, path: &[u8]) {
    text.extend_from_slice(b"{\"v\":1,\"root\":");
    push_number(text, row.key.root.into());
    for (key, name) in [("parent", row.key.parent), ("name", row.key.name), ("path", path)] {
        text.push(b',');
        json_member(text, key, name);
    }
    text.extend_from_slice(b",\"type\":\"");
    text.extend_from_slice(row.facts.kind.name().as_bytes());
    text.push(b'"');
    for (key, number) in named_numbers(&row.facts) {
        text.extend_from_slice(b",\"");
        text.extend_from_slice(key.as_bytes());
        text.extend_from_slice(b"\":");
        match number {
            Some(number) => push_number(text, number),
            None => text.extend_from_slice(b"null"),
        }
    }
    text.extend_from_slice(b",\"error\":");
    match row.error {
        Some(words) => json_string(text, words),
        None => text.extend_from_slice(b"null"),
    }
    text.extend_from_slice(b",\"sha256\":");
    match &row.facts.sha256 {
        Some(hash) => json_string(text, &hex(hash)),
        None => text.extend_from_slice(b"null"),
    }
    text.extend_from_slice(b"}\n");
}

fn csv(text: &mut Vec<u8>, row: &Row<'_>, path: &[u8]) {
    push_number(text, row.key.root.into());
    for value in [row.key.parent, row.key.name, path, row.facts.kind.name().as_bytes()] {
        text.push(b',');
        csv_value(text, value);
    }
    for (_, number) in named_numbers(&row.facts) {
        text.push(b',');
        if let Some(number) = number {
            push_number(text, number);
        }
    }
    text.push(b',');
    csv_value(text, row.error.unwrap_or_default().as_bytes());
    text.push(b',');
    if let Some(hash) = &row.facts.sha256 {
        text.extend_from_slice(hex(hash).as_bytes());
    }
    text.extend_from_slice(b"\r\n");
}
