//! The article's five columns: inode, type, record length, offset, name; straight from the reader's buffer.

use megadir::{Batch, FileType};

use super::output::{Sink, push_number, push_text};
use crate::control::WorkError;

/// Formats batches as they are read.
#[derive(Debug, Default)]
pub(super) struct RawFormat {
    headed: bool,
}

impl RawFormat {
    /// Returns the number of lines before the first entry's.
    pub(super) fn headings(&self) -> u64 {
        u64::from(self.headed)
    }

    /// Formats a batch.
    pub(super) fn add(&mut self, batch: &Batch<'_>, sink: &mut Sink) -> Result<(), WorkError> {
        if !self.headed {
            self.headed = true;
            sink.line().extend_from_slice(b"inode#    file type  d_reclen  d_off   d_name");
            sink.end_line()?;
        }
        for entry in batch.entries() {
            let text = sink.line();
            push_number(text, entry.inode, 8);
            text.extend_from_slice(b"  ");
            push_text(text, kind(entry.kind), 10);
            text.push(b' ');
            push_number(text, u64::from(entry.record_bytes), 4);
            text.push(b' ');
            push_number(text, entry.cookie.unwrap_or(0) as u64, 10);
            text.extend_from_slice(b"  ");
            sink.push_name(entry.name);
            sink.end_line()?;
        }
        Ok(())
    }
}

/// Returns the article's word for a type.
fn kind(kind: FileType) -> &'static [u8] {
    match kind {
        FileType::File => b"regular",
        FileType::Directory => b"directory",
        FileType::Symlink => b"symlink",
        FileType::Fifo => b"FIFO",
        FileType::Socket => b"socket",
        FileType::BlockDevice => b"block dev",
        FileType::CharDevice => b"char dev",
        FileType::Unknown | FileType::Whiteout => b"???",
    }
}
