//! Writing: rows become columns, threads encode them, and the file takes the place of the old one when it is whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use megadir::{Error, ErrorKind, Result};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;

use super::encode::{Encoder, Group};
use super::gathered::Gathered;
use super::schema::{properties, schema};
use super::{CHECKSUMS_KEY, FOOTER_CHECKSUM_KEY, METADATA_KEY, footer_checksum};
use crate::metadata::Metadata;
use crate::packed::PackedRows;
use crate::replacement::Replacement;
use crate::row::{Key, Row};
use crate::rows::{Ascending, Sink};
use crate::scan::Excluded;

/// Rows of a row group that suit readers and memory: what is encoded at a time, some 20 MB while it is.
pub const GROUP_ROWS: usize = 1 << 16;

/// A row group is ended when the paths of its rows take this much, bytes: other readers hold them whole.
const GROUP_PATH_BYTES_MAX: usize = 128 << 20;

/// More rows than this are in no row group, but for those that came at once.
pub(super) const GROUP_ROWS_MAX: usize = 1 << 20;

/// How an inventory is written.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// Threads that encode; 0 means the caller's own, and none is started.
    pub threads: usize,
    /// The level of Zstandard, 1 to 22.
    pub level: i32,
    /// About how many rows a row group has, see [`GROUP_ROWS`], 2^20 at most; rows that come at once stay together.
    pub group_rows: usize,
}

/// Writes an inventory: a [`Sink`] for the rows, then [`Writer::finish`]. Until then the file that was there before
/// stays as it is, and a writer that is dropped leaves nothing behind.
///
/// ```
/// use megadir_inventory::{GROUP_ROWS, Inventory, Rows, WriteOptions, Writer};
/// # use megadir_inventory::{FORMAT_VERSION, Metadata, Scanned};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("inventory.parquet");
/// # let scanned = Scanned { cross_mounts: false, examiner: "statx".into(), threads: 1, mounts_not_entered: 0 };
/// # let metadata = Metadata { version: FORMAT_VERSION, program: "doc".into(), roots: vec![], started_ns: 0, ended_ns: 0,
/// #     scanned, rows: 0, failed: 0, unread_directories: 0, volumes: None };
/// let writer = Writer::create(&path, Vec::new(), WriteOptions { threads: 0, level: 1, group_rows: GROUP_ROWS })?;
/// // scan(roots, options, watch, &mut writer) adds rows and gives the metadata.
/// writer.finish(&metadata)?;
/// assert!(Inventory::open(&path)?.next_row()?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    file: SerializedFileWriter<Replacement>,
    path: PathBuf,
    roots: usize,
    gathered: Gathered,
    order: Ascending,
    encoders: Encoders,
    group_rows: usize,
    /// Of the row groups so far.
    checksums: String,
    /// What has been written, whose memory is used again.
    spare: Vec<Gathered>,
}

/// Who encodes row groups.
enum Encoders {
    Inline(Box<Encoder>),
    /// The n-th row group is encoded by the n-th thread, again and again.
    Threads {
        threads: Vec<Thread>,
        sent: usize,
        taken: usize,
    },
}

/// What an encoder gives.
type Encoded = parquet::errors::Result<Group>;

/// A thread that encodes; it ends when no more columns can come.
struct Thread {
    tasks: Option<Sender<Gathered>>,
    encoded: Receiver<Encoded>,
    handle: Option<JoinHandle<()>>,
}

impl Writer {
    /// Begins an inventory that will lie at `path`; `roots` are the absolute paths of the trees, in their order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadOption`] for a level that Zstandard has not, whatever [`Replacement::create`] gives, or when a
    /// thread cannot be started.
    pub fn create(path: &Path, roots: Vec<Vec<u8>>, options: WriteOptions) -> Result<Self> {
        let level = |error: ParquetError| Error::new("write", path, ErrorKind::BadOption, error.to_string());
        let roots: Arc<[Vec<u8>]> = roots.into();
        let encoder = || Encoder::new(options.level, Arc::clone(&roots)).map_err(level);
        let encoders = match options.threads {
            0 => Encoders::Inline(Box::new(encoder()?)),
            threads => {
                let threads = (0..threads).map(|_| {
                    let encoder = encoder()?;
                    Thread::start(encoder).map_err(|error| Error::io("start a thread to write", path, error))
                });
                Encoders::Threads { threads: threads.collect::<Result<_>>()?, sent: 0, taken: 0 }
            }
        };
        let replacement = Replacement::create(path)?;
        let file = schema().and_then(|schema| SerializedFileWriter::new(replacement, schema, properties()));
        Ok(Self {
            file: file.map_err(|error| failed(path, error))?,
            path: path.to_owned(),
            roots: roots.len(),
            gathered: Gathered::default(),
            order: Ascending::default(),
            encoders,
            group_rows: options.group_rows.min(GROUP_ROWS_MAX),
            checksums: String::new(),
            spare: Vec::new(),
        })
    }

    /// Returns what a scan has to leave out: the file being written, and the one whose place it takes.
    pub fn excluded(&self) -> Vec<Excluded> {
        self.file.inner().excluded()
    }

    /// Writes what is left and puts the file into its place, on stable storage; returns its size, bytes.
    ///
    /// # Errors
    ///
    /// Whatever writing gives; the file that was there before is then there still.
    pub fn finish(mut self, metadata: &Metadata) -> Result<u64> {
        if self.gathered.rows > 0 {
            self.group()?;
        }
        while self.take()? {}
        let text = serde_json::to_string(metadata)
            .map_err(|error| Error::new("write", &self.path, ErrorKind::Io, error.to_string()))?;
        let checksums = std::mem::take(&mut self.checksums);
        let footer = footer_checksum(&text, &checksums);
        for (key, value) in [(METADATA_KEY, text), (CHECKSUMS_KEY, checksums), (FOOTER_CHECKSUM_KEY, footer)]
        {
            self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        self.file.finish().map_err(|error| failed(&self.path, error))?;
        self.file.inner_mut().put()
    }

    /// Has the gathered rows encoded.
    fn group(&mut self) -> Result<()> {
        let spare = self.spare.pop().unwrap_or_default();
        let task = std::mem::replace(&mut self.gathered, spare);
        match &mut self.encoders {
            Encoders::Inline(encoder) => {
                let encoded = encoder.encode(task);
                self.append(encoded)
            }
            Encoders::Threads { threads, sent, taken } => {
                let thread = *sent % threads.len();
                if *sent - *taken == threads.len() {
                    self.take()?;
                }
                if let Encoders::Threads { threads, sent, .. } = &mut self.encoders {
                    threads[thread].send(task);
                    *sent += 1;
                }
                Ok(())
            }
        }
    }

    /// Takes the next row group from its thread and appends it; `false` when none is left.
    fn take(&mut self) -> Result<bool> {
        let Encoders::Threads { threads, sent, taken } = &mut self.encoders else { return Ok(false) };
        if taken == sent {
            return Ok(false);
        }
        let thread = *taken % threads.len();
        let encoded = threads[thread].receive();
        *taken += 1;
        self.append(encoded)?;
        Ok(true)
    }

    /// Appends a row group.
    fn append(&mut self, encoded: Encoded) -> Result<()> {
        let append = || -> parquet::errors::Result<_> {
            let mut group = self.file.next_row_group()?;
            let Group { bytes, columns, checksum, spare } = encoded?;
            for column in columns {
                group.append_column(&bytes, column)?;
            }
            group.close()?;
            self.file.inner_mut().store();
            Ok((checksum, Gathered { memory: Vec::from(bytes), ..spare }))
        };
        let (checksum, spare) = append().map_err(|error| failed(&self.path, error))?;
        self.checksums.push_str(&format!("{checksum:016x}"));
        self.spare.push(spare);
        Ok(())
    }
}

impl Writer {
    /// Has the rows encoded that have been gathered, if they are enough.
    fn gathered(&mut self) -> Result<()> {
        let is_full =
            self.gathered.rows >= self.group_rows || self.gathered.row_path_bytes >= GROUP_PATH_BYTES_MAX;
        if is_full { self.group() } else { Ok(()) }
    }

    fn refuse(&self, key: &Key<'_>) -> Error {
        let reason = format!("rows do not ascend at '{}'", String::from_utf8_lossy(key.name));
        Error::new("write", &self.path, ErrorKind::Malformed, reason)
    }
}

impl Sink for Writer {
    fn add(&mut self, row: &Row<'_>) -> Result<()> {
        if row.key.root as usize >= self.roots || !self.order.admits(&row.key) {
            return Err(self.refuse(&row.key));
        }
        self.gathered.add(row);
        self.gathered()
    }

    fn add_packed(&mut self, rows: &PackedRows<'_>) -> Result<()> {
        // Only far below what a path may be to be opened by it.
        if rows.len().saturating_mul(rows.parent.len()) > GROUP_PATH_BYTES_MAX {
            return rows.iter().try_for_each(|row| self.add(&row));
        }
        if rows.root as usize >= self.roots || !self.order.admits_packed(rows) {
            return Err(self.refuse(&Key { root: rows.root, parent: rows.parent, name: b"" }));
        }
        self.gathered.add_packed(rows);
        self.gathered()
    }
}

impl Thread {
    fn start(mut encoder: Encoder) -> std::io::Result<Self> {
        let (tasks, tasks_out) = bounded(1);
        let (encoded_in, encoded) = bounded(1);
        let handle = std::thread::Builder::new().name("megadir-encode".to_owned()).spawn(move || {
            for task in tasks_out {
                if encoded_in.send(encoder.encode(task)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { tasks: Some(tasks), encoded, handle: Some(handle) })
    }

    fn send(&mut self, task: Gathered) {
        // A thread that has gone is noticed when its row group is to be received.
        if let Some(tasks) = &self.tasks {
            let _ = tasks.send(task);
        }
    }

    fn receive(&mut self) -> Encoded {
        match self.encoded.recv() {
            Ok(encoded) => encoded,
            Err(_) => {
                // Only a panic ends the thread before its columns do.
                self.join();
                Err(ParquetError::General("a thread that encodes has ended".to_owned()))
            }
        }
    }

    fn join(&mut self) {
        self.tasks = None;
        if let Some(Err(panic)) = self.handle.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.tasks = None;
        // A thread that waits to hand over a row group is let go.
        let (_, nobody) = bounded(0);
        self.encoded = nobody;
        self.join();
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Makes an error of what the library for Parquet gives when it writes.
fn failed(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::io("write", path, *source),
            Err(other) => Error::new("write", path, ErrorKind::Io, other.to_string()),
        },
        other => Error::new("write", path, ErrorKind::Io, other.to_string()),
    }
}
