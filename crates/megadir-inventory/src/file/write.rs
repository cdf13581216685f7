//! Writes an inventory: threads encode row groups, and the complete file atomically replaces the old one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use megadir::{Error, ErrorKind, Result};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use parquet::file::writer::SerializedFileWriter;

use super::encode::{Encoder, Group};
use super::gathered::Gathered;
use super::schema::{properties, schema};
use super::{CHECKSUMS_KEY, FOOTER_CHECKSUM_KEY, footer_checksum, value};
use crate::metadata::Metadata;
use crate::open_at_once::open_to_read;
use crate::packed::PackedRows;
use crate::recognize::{FileKind, METADATA_KEY};
use crate::replacement::Replacement;
use crate::row::{Key, Row, Stored};
use crate::rows::{Ascending, Sink};
use crate::scan::Excluded;

/// Recommended number of rows in a row group, which takes about 20 MB while it is encoded.
pub const GROUP_ROWS: usize = 1 << 16;

/// Other readers load a row group's paths whole.
const GROUP_PATH_BYTES_MAX: usize = 128 << 20;

/// Encoding takes several times as much.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// Rows that were added in one call may exceed it.
pub(super) const GROUP_ROWS_MAX: usize = 1 << 20;

/// Options for writing an inventory.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions {
    /// Encoder threads; 0 encodes on the caller's thread.
    pub threads: usize,
    /// Zstandard level, 1 to 22.
    pub level: i32,
    /// Approximate rows per row group, at most 2^20, see [`GROUP_ROWS`]. Rows added in one call stay together.
    pub group_rows: usize,
}

/// Writes an inventory as a [`Sink`], then [`Writer::finish`]. Until then the old file remains in place;
/// dropping the writer leaves nothing behind.
///
/// ```
/// use megadir_inventory::{GROUP_ROWS, Inventory, Rows, WriteOptions, Writer};
/// # use megadir_inventory::{FORMAT_VERSION, Metadata, Scanned};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("inventory.parquet");
/// # let scanned = Scanned { cross_mounts: false, stat_backend: "statx".into(), threads: 1, mounts_not_entered: 0, selected: None };
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
    /// `None` if there are threads; one of the two is always there.
    encoder: Option<Box<Encoder>>,
    threads: Vec<Thread>,
    sent: usize,
    taken: usize,
    group_rows: usize,
    checksums: String,
    spare: Vec<Gathered>,
}

type Encoded = parquet::errors::Result<Group>;

/// One encoder with a queue in each direction. `tasks` is taken away to end the thread, and `handle` to join
/// it.
struct Thread {
    tasks: Option<Sender<Gathered>>,
    encoded: Receiver<Encoded>,
    handle: Option<JoinHandle<()>>,
}

impl Writer {
    /// Begins an inventory at `path`; `roots` are the absolute paths of the trees, in order. Errors:
    /// [`ErrorKind::BadOption`] if Zstandard does not support the level, or as [`Replacement::create`].
    pub fn create(path: &Path, roots: Vec<Vec<u8>>, options: WriteOptions) -> Result<Self> {
        Self::with_columns(path, roots, options, false)
    }

    /// Begins the index of a pack: an inventory with further columns, whose rows come by [`Writer::add_stored`]. Errors: as
    /// [`Writer::create`].
    pub fn of_pack(path: &Path, roots: Vec<Vec<u8>>, options: WriteOptions) -> Result<Self> {
        Self::with_columns(path, roots, options, true)
    }

    fn with_columns(path: &Path, roots: Vec<Vec<u8>>, options: WriteOptions, is_pack: bool) -> Result<Self> {
        let level = |error: ParquetError| Error::new("write", path, ErrorKind::BadOption, error.to_string());
        let roots: Arc<[Vec<u8>]> = roots.into();
        let encoder = || Encoder::new(options.level, Arc::clone(&roots), is_pack).map_err(level);
        let mut threads = Vec::new();
        for _ in 0..options.threads {
            // If the system allows no thread, the caller's encodes.
            let Ok(thread) = Thread::start(encoder()?) else { break };
            threads.push(thread);
        }
        let inline = threads.is_empty().then(|| encoder().map(Box::new)).transpose()?;
        let replacement = Replacement::create(path, FileKind::Inventory)?;
        let file =
            schema(is_pack).and_then(|schema| SerializedFileWriter::new(replacement, schema, properties()));
        Ok(Self {
            file: file.map_err(|error| failed(path, error))?,
            path: path.to_owned(),
            roots: roots.len(),
            gathered: Gathered::default(),
            order: Ascending::default(),
            encoder: inline,
            threads,
            sent: 0,
            taken: 0,
            group_rows: options.group_rows.min(GROUP_ROWS_MAX),
            checksums: String::new(),
            spare: Vec::new(),
        })
    }

    /// Files that a scan must skip: this one and the one it replaces.
    pub fn excluded(&self) -> Vec<Excluded> {
        self.file.inner().excluded()
    }

    /// Adds a row of the index of a pack; `None` for an entry that the shards do not hold. Errors: as [`Sink::add`].
    pub fn add_stored(&mut self, row: &Row<'_>, stored: Option<Stored>) -> Result<()> {
        let number = self.gathered.rows;
        self.gathered.stored.extend(stored.map(|stored| (number, stored)));
        self.add(row)
    }

    /// Keeps a text in the file's metadata, for [`note`]. Other programs ignore it.
    pub fn add_note(&mut self, key: &str, text: String) {
        self.file.append_key_value_metadata(KeyValue::new(key.to_owned(), text));
    }

    /// Writes the remaining rows, syncs the file and moves it into place; returns its size, bytes. On an
    /// error the old file remains in place.
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

    /// Row groups go to the threads in turn and are taken back in the same order, so that the file is the
    /// same however many threads encode. A thread has one group at a time; the caller waits for the oldest
    /// before it sends another.
    fn group(&mut self) -> Result<()> {
        let spare = self.spare.pop().unwrap_or_default();
        let task = std::mem::replace(&mut self.gathered, spare);
        if let Some(encoder) = &mut self.encoder {
            let encoded = encoder.encode(task);
            return self.append(encoded);
        }
        if self.sent - self.taken == self.threads.len() {
            self.take()?;
        }
        let thread = self.sent % self.threads.len();
        self.threads[thread].send(task);
        self.sent += 1;
        Ok(())
    }

    fn take(&mut self) -> Result<bool> {
        if self.taken == self.sent {
            return Ok(false);
        }
        let thread = self.taken % self.threads.len();
        let encoded = self.threads[thread].receive();
        self.taken += 1;
        self.append(encoded)?;
        Ok(true)
    }

    /// The crate `parquet` copies the encoded chunks and corrects their offsets. Write-back is started after
    /// each group, so that the final fsync does not have the whole file to write.
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

    fn gathered(&mut self) -> Result<()> {
        let is_full = self.gathered.rows >= self.group_rows
            || self.gathered.bytes.len() >= GROUP_BYTES_MAX
            || self.gathered.row_path_bytes >= GROUP_PATH_BYTES_MAX;
        if is_full { self.group() } else { Ok(()) }
    }

    fn refuse(&self, key: &Key<'_>) -> Error {
        let reason = format!("rows are not sorted at '{}'", String::from_utf8_lossy(key.name));
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
        // Reached only by paths far beyond the length that can be opened.
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
        if let Some(tasks) = &self.tasks {
            let _ = tasks.send(task);
        }
    }

    fn receive(&mut self) -> Encoded {
        match self.encoded.recv() {
            Ok(encoded) => encoded,
            Err(_) => {
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
        // Dropping the receiver releases a thread that waits to send a row group.
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

fn failed(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::io("write", path, *source),
            Err(other) => Error::new("write", path, ErrorKind::Io, other.to_string()),
        },
        other => Error::new("write", path, ErrorKind::Io, other.to_string()),
    }
}

/// Reads what [`Writer::add_note`] wrote; `None` without a note of this key.
///
/// Errors: the file cannot be opened, or [`ErrorKind::Malformed`] if it is no Parquet file.
pub fn note(path: &Path, key: &str) -> Result<Option<String>> {
    let file = open_to_read(path)?;
    let read = ParquetMetaDataReader::new().parse_and_finish(&file);
    let metadata = read.map_err(|error| Error::new("read", path, ErrorKind::Malformed, error.to_string()))?;
    Ok(value(&metadata, key).map(str::to_owned))
}
