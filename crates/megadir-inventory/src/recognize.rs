//! Recognises files that the program writes: only those may be replaced. A damaged inventory is recognised as
//! long as its footer or its first line is whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};

use parquet::file::metadata::ParquetMetaDataReader;

/// Metadata key of [`Metadata`](crate::Metadata) as JSON.
pub(crate) const METADATA_KEY: &str = "megadir";

/// First line of an inventory as CSV.
pub const CSV_HEADER: &str = "root,parent,name,path,type,size,mtime_ns,ctime_ns,btime_ns,inode,inode_high,device,mode,\
                              uid,gid,links,errno,allocated,atime_ns,error,sha256,blake3\r\n";

/// Columns missing in older files, in the order in which they were added.
pub(crate) const ADDED: [&str; 3] = ["allocated", "atime_ns", "blake3"];

const HEADS: [&[u8]; 3] = [b"PAR1", b"{\"v\":1,", b"root,parent,name"];
const HEAD_BYTES: usize = 16;
/// A line contains the path twice, escaped or as hex digits.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Files that may be replaced by files of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Inventory, as a scan writes it.
    Inventory,
    /// Text that begins with a line of its own.
    Text {
        /// In messages, with an article: `a file of metrics`.
        name: &'static str,
        /// First bytes of every such file.
        head: &'static [u8],
    },
}

impl FileKind {
    pub(crate) fn with_article(self) -> &'static str {
        match self {
            Self::Inventory => "an inventory",
            Self::Text { name, .. } => name,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        let name = self.with_article();
        name.split_once(' ').map_or(name, |(_, name)| name)
    }

    pub(crate) fn is_whole(self, file: &mut File) -> io::Result<bool> {
        match self {
            Self::Inventory => is_inventory(file),
            Self::Text { head, .. } => Ok(begins(file, head.len())? == head),
        }
    }

    /// Leftover of a killed process: empty, or begins like one of the kind.
    pub(crate) fn may_be_partial(self, file: &mut File) -> io::Result<bool> {
        match self {
            Self::Inventory => may_be_partial(file),
            Self::Text { head, .. } => Ok(head.starts_with(&begins(file, head.len())?)),
        }
    }
}

fn begins(file: &mut File, bytes: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(bytes as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// With metadata (Parquet), the complete header (CSV), or every column in the first line (JSON lines).
fn is_inventory(file: &mut File) -> io::Result<bool> {
    let head = begins(file, HEAD_BYTES)?;
    let Some(format) = HEADS.iter().position(|known| head.starts_with(known)) else { return Ok(false) };
    file.rewind()?;
    match format {
        0 => Ok(has_metadata(file)),
        1 => Ok(is_json_row(&first_line(file)?)),
        _ => {
            let line = first_line(file)?;
            Ok((0..=ADDED.len()).any(|present| line == header(present).as_bytes()))
        }
    }
}

fn may_be_partial(file: &mut File) -> io::Result<bool> {
    let head = begins(file, HEAD_BYTES)?;
    Ok(head.is_empty() || HEADS.iter().any(|known| head.starts_with(known) || known.starts_with(&head)))
}

/// `true` also for a damaged Parquet file: it may have been an inventory.
pub(crate) fn is_parquet_inventory(mut file: File) -> bool {
    let head = begins(&mut file, HEADS[0].len()).unwrap_or_default();
    head == HEADS[0] && read_metadata(&file).unwrap_or(true)
}

fn has_metadata(file: &File) -> bool {
    read_metadata(file).unwrap_or(false)
}

/// `true` if the file has the metadata of an inventory; `None` if it has no whole footer.
fn read_metadata(file: &File) -> Option<bool> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(file).ok()?;
    let values = metadata.file_metadata().key_value_metadata();
    Some(values.is_some_and(|values| values.iter().any(|value| value.key == METADATA_KEY)))
}

fn first_line(file: &mut File) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(file.take(LINE_BYTES_MAX)).read_until(b'\n', &mut line)?;
    Ok(line)
}

fn is_json_row(line: &[u8]) -> bool {
    let Ok(serde_json::Value::Object(row)) = serde_json::from_slice(line) else { return false };
    let has = |column: &str| row.contains_key(column) || row.contains_key(&format!("{column}_hex"));
    header(0).trim_end().split(',').all(has)
}

fn header(present: usize) -> String {
    let missing = &ADDED[present..];
    missing.iter().fold(CSV_HEADER.to_owned(), |header, name| header.replace(&format!(",{name}"), ""))
}
