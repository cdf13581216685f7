//! Inventories as JSON lines or CSV, with the columns of the Parquet file.

use std::io::Write;
use std::path::{Path, PathBuf};

use megadir::{Error, ErrorKind};
use megadir_inventory::{CSV_HEADER, ContentHash, Excluded, FileKind, Replacement, Row, Sink, named_numbers};

use crate::exit::CliError;
use crate::ui::escape::{csv_value, hex, number};
use crate::ui::object::Object;
use crate::ui::output::{Ended, Output};

const FLUSH_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Jsonl,
    Csv,
}

/// Writes each row as a line. `roots` are the paths of the trees by their numbers in the rows. `text` and `path` are
/// buffers. A file is a replacement, which takes the place of an older one only when it is complete.
pub(super) struct TextSink {
    form: Form,
    roots: Vec<Vec<u8>>,
    target: Target,
    text: Vec<u8>,
    path: Vec<u8>,
    /// Error or end of the output, after which the scan ends.
    pub(super) ended: Option<Ended>,
}

enum Target {
    File { file: Box<Replacement>, path: PathBuf },
    Stdout(Output),
}

impl TextSink {
    pub(super) fn create(form: Form, output: Option<&Path>, roots: Vec<Vec<u8>>) -> Result<Self, CliError> {
        let target = match output {
            Some(path) => {
                let file = Box::new(Replacement::create(path, FileKind::Inventory)?);
                Target::File { file, path: path.to_owned() }
            }
            None => Target::Stdout(Output::new()?),
        };
        let text = if form == Form::Csv { CSV_HEADER.as_bytes().to_vec() } else { Vec::new() };
        Ok(Self { form, roots, target, text, path: Vec::new(), ended: None })
    }

    pub(super) fn excluded(&self) -> Vec<Excluded> {
        match &self.target {
            Target::File { file, .. } => file.excluded(),
            Target::Stdout(_) => Vec::new(),
        }
    }

    pub(super) fn finish(mut self) -> Result<Option<u64>, Ended> {
        self.flush()?;
        match self.target {
            Target::Stdout(_) => Ok(None),
            Target::File { file, .. } => file.finish().map(Some).map_err(|error| Ended::Other(error.into())),
        }
    }

    fn flush(&mut self) -> Result<(), Ended> {
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
    fn add(&mut self, row: &Row<'_>) -> megadir::Result<()> {
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

fn jsonl(text: &mut Vec<u8>, row: &Row<'_>, path: &[u8]) {
    Object::line(text, |object| {
        object.number_or_null("root", Some(row.key.root));
        for (key, name) in [("parent", row.key.parent), ("name", row.key.name), ("path", path)] {
            object.name(key, name);
        }
        object.string("type", row.facts.kind.name());
        for (key, number) in named_numbers(&row.facts) {
            object.number_or_null(key, number);
        }
        object.string_or_null("error", row.error);
        for (key, hash) in hashes(row) {
            object.string_or_null(key, hash.as_deref());
        }
    });
}

/// Columns of the functions, in their order.
fn hashes(row: &Row<'_>) -> [(&'static str, Option<String>); 2] {
    let (sha256, blake3) = match &row.facts.hash {
        Some(ContentHash::Sha256(hash)) => (Some(hex(hash)), None),
        Some(ContentHash::Blake3(hash)) => (None, Some(hex(hash))),
        None => (None, None),
    };
    [("sha256", sha256), ("blake3", blake3)]
}

fn csv(text: &mut Vec<u8>, row: &Row<'_>, path: &[u8]) {
    number(text, row.key.root);
    for value in [row.key.parent, row.key.name, path, row.facts.kind.name().as_bytes()] {
        text.push(b',');
        csv_value(text, value);
    }
    for (_, value) in named_numbers(&row.facts) {
        text.push(b',');
        if let Some(value) = value {
            number(text, value);
        }
    }
    text.push(b',');
    csv_value(text, row.error.unwrap_or_default().as_bytes());
    for (_, hash) in hashes(row) {
        text.push(b',');
        text.extend_from_slice(hash.unwrap_or_default().as_bytes());
    }
    text.extend_from_slice(b"\r\n");
}
