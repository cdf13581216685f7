//! Encodes rows as compressed columns.

use std::sync::Arc;

use bytes::Bytes;
use megadir::FileType;
use parquet::basic::{Compression, Encoding, Type, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor};
use twox_hash::XxHash64;
use zstd::bulk::Compressor;

use super::columns::{Columns, Dictionary, Hashes, Parents, Paths, Present, StoredNumbers};
use super::encoding::{delta, runs};
use super::gathered::Gathered;
use super::schema::{
    BLAKE3, COLUMNS, ERROR, Kind, NAME, NUMBERS_AT, PARENT, PATH, ROOT, SHA256, TYPE, column, columns, schema,
};
use crate::packed::{self, unpack_numbers};

/// Longer values are no column bounds.
const BOUND_BYTES_MAX: usize = 256;

/// Readers load a dictionary as a whole.
const DICTIONARY_PATH_BYTES_MAX: usize = 4 << 20;

/// Finished row group. `bytes` are the chunks of all columns one after the other, as they go to the file;
/// `columns` have their offsets in it.
pub(super) struct Group {
    pub(super) bytes: Bytes,
    pub(super) columns: Vec<ColumnCloseResult>,
    pub(super) checksum: u64,
    pub(super) spare: Gathered,
}

/// Belongs to one thread, which encodes row groups one after the other. Columns, the compressor's tables and
/// the page that is being built (`plain`) are used again for each group. `parent` is the path of the current
/// directory, from which the next one is made by the part that differs.
pub(super) struct Encoder {
    schema: SchemaDescPtr,
    level: ZstdLevel,
    compressor: Compressor<'static>,
    roots: Arc<[Vec<u8>]>,
    is_pack: bool,
    columns: Columns,
    parent: Vec<u8>,
    plain: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(level: i32, roots: Arc<[Vec<u8>]>, is_pack: bool) -> Result<Self> {
        let schema = Arc::new(SchemaDescriptor::new(schema(is_pack)?));
        let (level, compressor) = (ZstdLevel::try_new(level)?, Compressor::new(level)?);
        Ok(Self {
            schema,
            level,
            compressor,
            roots,
            is_pack,
            columns: Columns::new(),
            parent: Vec::new(),
            plain: Vec::new(),
        })
    }

    pub(super) fn encode(&mut self, mut rows: Gathered) -> Result<Group> {
        // The memory of the rows is given back to the writer, which fills it with the next rows (`spare`).
        // The checksum is of the compressed bytes, so that a reader can check them before it decompresses
        // anything.
        self.columns.begin(rows.directory_path_bytes > DICTIONARY_PATH_BYTES_MAX);
        self.fill(&rows)?;
        let mut memory = std::mem::take(&mut rows.memory);
        memory.clear();
        rows.clear();
        let mut chunks = Chunks {
            schema: &self.schema,
            compression: Compression::ZSTD(self.level),
            compressor: &mut self.compressor,
            plain: &mut self.plain,
            rows: self.columns.rows,
            bytes: TrackedWrite::new(memory),
            written: Vec::new(),
        };
        chunks.all(&self.columns, self.is_pack)?;
        let Chunks { bytes, written, .. } = chunks;
        let bytes = Bytes::from(bytes.into_inner()?);
        Ok(Group { checksum: XxHash64::oneshot(0, &bytes), bytes, columns: written, spare: rows })
    }

    /// Directories arrive in two forms, columns or single rows, and both end in the same columns of the row
    /// group. The path of a directory is rebuilt from the part shared with the one before. An index of a pack
    /// has rows only, since the place of each is stored with its row. Bytes that are not as this crate has
    /// packed them are an error and no panic: they may have been on a disk in between.
    fn fill(&mut self, rows: &Gathered) -> Result<()> {
        let damaged = || ParquetError::General("rows are not as they were packed".to_owned());
        let Self { columns, parent, roots, is_pack, .. } = self;
        parent.clear();
        let mut stored = rows.stored.iter().peekable();
        let (mut bytes, mut odd) = (&rows.bytes[..], rows.odd.iter().peekable());
        let (mut row, mut last_root) = (0, None);
        for directory in &rows.directories {
            parent.truncate(directory.common);
            parent.extend_from_slice(&rows.paths[directory.rest.clone()]);
            let root = roots.get(directory.root as usize).ok_or_else(damaged)?;
            // Texts of paths below different roots share nothing.
            let shared = if last_root == Some(directory.root) { directory.common } else { 0 };
            last_root = Some(directory.root);
            columns.directory(directory.root, (parent, directory.common), directory.rows);
            columns.path.enter(shared);
            if directory.in_columns {
                let whole = packed::columns::Columns::take(&mut bytes, directory.rows as usize);
                columns.add_whole(root, parent, &whole.ok_or_else(damaged)?);
                // A pack adds its rows one by one.
                debug_assert!(!*is_pack, "rows without their places");
                row += directory.rows as usize;
                continue;
            }
            let mut is_first = true;
            for _ in 0..directory.rows {
                let (kind, numbers, name) = unpack_numbers(&mut bytes).ok_or_else(damaged)?;
                match is_first {
                    true => columns.first_name(root, parent, name),
                    false => columns.next_name(name),
                }
                is_first = name.is_empty();
                columns.push(kind, &numbers);
                match odd.next_if(|odd| odd.row == row) {
                    Some(odd) => columns.push_odd(odd.error.as_deref(), odd.hash.as_ref()),
                    None => columns.push_odd(None, None),
                }
                if *is_pack {
                    columns.push_stored(stored.next_if(|(at, _)| *at == row).map(|(_, stored)| stored));
                }
                row += 1;
            }
        }
        Ok(())
    }
}

/// Row group that is being encoded in memory. `bytes` counts the written bytes, because the metadata of a
/// column holds offsets; they are relative to the row group here, and the writer of the file adds its
/// position. `written` has one element for each column that is done.
struct Chunks<'e> {
    schema: &'e SchemaDescPtr,
    compression: Compression,
    compressor: &'e mut Compressor<'static>,
    plain: &'e mut Vec<u8>,
    rows: usize,
    bytes: TrackedWrite<Vec<u8>>,
    written: Vec<ColumnCloseResult>,
}

/// Bytes and number of values.
type DictionaryPage = Option<(Vec<u8>, usize)>;

impl Chunks<'_> {
    /// The columns are in the order of the schema. Each has the encoding that takes least for its values, and
    /// readers decode only the columns that they select:
    ///
    /// ```text
    /// root, type, few numbers   dictionary and runs          sizes, times, inodes   DELTA_BINARY_PACKED
    /// name                      lengths, then bytes          paths                  shared length and rest
    /// error, parent             dictionary (parent: shared length and rest beyond 4 MiB)
    /// ```
    fn all(&mut self, columns: &Columns, is_pack: bool) -> Result<()> {
        for number in 0..self::columns(is_pack).count() {
            debug_assert_eq!(self.written.len(), number, "columns are written in their order");
            match number {
                ROOT => self.numbers(None, &columns.root.values, Some(&columns.root.runs))?,
                PARENT => match &columns.parent {
                    Parents::Dictionary(dictionary) => self.texts(None, dictionary)?,
                    Parents::Prefixes(paths) => self.paths(paths)?,
                },
                NAME => {
                    self.plain.clear();
                    delta::encode(&columns.name.lengths, self.plain);
                    self.plain.extend_from_slice(&columns.name.bytes);
                    self.column(None, no_bounds(number, 0))?;
                }
                PATH => self.paths(&columns.path)?,
                TYPE => self.kinds(&columns.kind)?,
                ERROR => self.texts(Some(&columns.has_error), &columns.error)?,
                SHA256 => self.hashes(number, &columns.sha256)?,
                BLAKE3 => self.hashes(number, &columns.blake3)?,
                _ => {
                    let numbers = match number.checked_sub(COLUMNS.len()) {
                        Some(at) => &columns.stored[at],
                        None => &columns.numbers[number - NUMBERS_AT],
                    };
                    let (values, runs) = match &numbers.stored {
                        StoredNumbers::Each(values) => (values, None),
                        StoredNumbers::Dictionary(dictionary) => {
                            (&dictionary.values, Some(&dictionary.runs[..]))
                        }
                    };
                    self.numbers(Some(&numbers.present), values, runs)?;
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, present: Option<&Present>) {
        self.plain.clear();
        if let Some(present) = present {
            self.plain.extend_from_slice(&[0; 4]);
            runs::encode(&present.runs, 1, self.plain);
            let length = self.plain.len() as u32 - 4;
            self.plain[..4].copy_from_slice(&length.to_le_bytes());
        }
    }

    fn indexes(&mut self, values: usize, indexes: &[runs::Run]) {
        let width = runs::width(values);
        self.plain.push(width as u8);
        runs::encode(indexes, width, self.plain);
    }

    /// A number takes 4 or 8 bytes by its column's physical type. Least and greatest value go into the
    /// statistics, with which other programs skip row groups; they are missing if the column has no value.
    fn numbers(
        &mut self,
        present: Option<&Present>,
        values: &[i64],
        runs: Option<&[runs::Run]>,
    ) -> Result<()> {
        let column = column(self.written.len());
        let nulls = present.map_or(0, |present| self.rows - present.values);
        self.begin(present);
        match runs {
            None => delta::encode(values, self.plain),
            Some(runs) => self.indexes(values.len(), runs),
        }
        let is_wide = column.physical() == Type::INT64;
        let dictionary = runs.map(|_| {
            let bytes = values.iter().flat_map(|value| {
                let bytes = value.to_le_bytes();
                bytes.into_iter().take(if is_wide { 8 } else { 4 })
            });
            (bytes.collect(), values.len())
        });
        let (least, greatest) = bounds(column.kind, values);
        let nulls = Some(nulls as u64);
        let statistics = match is_wide {
            true => Statistics::int64(least, greatest, None, nulls, false),
            false => {
                let narrow = |number: Option<i64>| number.map(|number| number as i32);
                Statistics::int32(narrow(least), narrow(greatest), None, nulls, false)
            }
        };
        self.column(dictionary, statistics)
    }

    fn texts(&mut self, present: Option<&Present>, texts: &Dictionary<Box<[u8]>>) -> Result<()> {
        let nulls = present.map_or(0, |present| self.rows - present.values);
        self.begin(present);
        self.indexes(texts.values.len(), &texts.runs);
        self.words(&texts.values.iter().map(|text| &text[..]), nulls)
    }

    fn paths(&mut self, paths: &Paths) -> Result<()> {
        self.plain.clear();
        delta::encode(&paths.common, self.plain);
        delta::encode(&paths.rest.lengths, self.plain);
        self.plain.extend_from_slice(&paths.rest.bytes);
        let statistics = no_bounds(self.written.len(), 0);
        self.column_as(None, statistics, Encoding::DELTA_BYTE_ARRAY)
    }

    fn kinds(&mut self, kinds: &Dictionary<i64>) -> Result<()> {
        self.begin(None);
        self.indexes(kinds.values.len(), &kinds.runs);
        let word =
            |kind: &i64| FileType::ALL.get(*kind as usize).map_or(&b""[..], |kind| kind.name().as_bytes());
        self.words(&kinds.values.iter().map(word), 0)
    }

    /// A dictionary of texts is a page of lengths and bytes, in the order in which they came first. Very long
    /// texts are no bounds in the statistics, which every reader of the file loads as a whole.
    fn words<'w>(
        &mut self,
        words: &(impl ExactSizeIterator<Item = &'w [u8]> + Clone),
        nulls: usize,
    ) -> Result<()> {
        let mut dictionary = Vec::new();
        for word in words.clone() {
            dictionary.extend_from_slice(&(word.len() as u32).to_le_bytes());
            dictionary.extend_from_slice(word);
        }
        let bound = |word: Option<&[u8]>| {
            word.filter(|word| word.len() <= BOUND_BYTES_MAX).map(|word| ByteArray::from(word.to_vec()))
        };
        let (least, greatest) = (bound(words.clone().min()), bound(words.clone().max()));
        let statistics = Statistics::byte_array(least, greatest, None, Some(nulls as u64), false);
        self.column(Some((dictionary, words.len())), statistics)
    }

    fn hashes(&mut self, number: usize, Hashes { present, bytes }: &Hashes) -> Result<()> {
        self.begin(Some(present));
        for hash in bytes.chunks_exact(32) {
            self.plain.extend_from_slice(&32u32.to_le_bytes());
            self.plain.extend_from_slice(hash);
        }
        self.column(None, no_bounds(number, self.rows - present.values))
    }

    fn column(&mut self, dictionary: DictionaryPage, statistics: Statistics) -> Result<()> {
        self.column_as(dictionary, statistics, column(self.written.len()).stored)
    }

    /// Writes the chunk of a column: its dictionary page, if it has one, then a single data page with all
    /// rows of the group. One page, because readers of this crate decode whole groups. `encodings` names
    /// every encoding that occurs, RLE for the levels included. The compressed page is taken from and put
    /// back into `plain` to keep its memory.
    fn column_as(
        &mut self,
        dictionary: DictionaryPage,
        statistics: Statistics,
        encoding: Encoding,
    ) -> Result<()> {
        let number = self.written.len();
        let descriptor = self.schema.column(number);
        let start = self.bytes.bytes_written() as u64;
        let (mut dictionary_at, mut uncompressed_bytes, mut encodings) = (None, 0, vec![Encoding::RLE]);
        if let Some((dictionary, values)) = dictionary {
            dictionary_at = Some(start as i64);
            let page = |buf| Page::DictionaryPage {
                buf,
                num_values: values as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            uncompressed_bytes += self.page(&dictionary, page)?;
            encodings.push(Encoding::PLAIN);
        }
        let data_at = self.bytes.bytes_written() as i64;
        let rows = self.rows;
        let page = |buf| Page::DataPage {
            buf,
            num_values: rows as u32,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let plain = std::mem::take(self.plain);
        uncompressed_bytes += self.page(&plain, page)?;
        *self.plain = plain;
        encodings.push(encoding);
        let bytes_written = self.bytes.bytes_written() as u64 - start;
        let metadata = ColumnChunkMetaData::builder(descriptor)
            .set_compression(self.compression)
            .set_encodings(encodings)
            .set_total_compressed_size(bytes_written as i64)
            .set_total_uncompressed_size(uncompressed_bytes)
            .set_num_values(rows as i64)
            .set_data_page_offset(data_at)
            .set_dictionary_page_offset(dictionary_at)
            .set_statistics(statistics)
            .build()?;
        self.written.push(ColumnCloseResult {
            bytes_written,
            rows_written: rows as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        });
        Ok(())
    }

    fn page(&mut self, plain: &[u8], page: impl FnOnce(Bytes) -> Page) -> Result<i64> {
        let compressed = self.compressor.compress(plain)?;
        let page = CompressedPage::new(page(compressed.into()), plain.len());
        let spec = SerializedPageWriter::new(&mut self.bytes).write_page(page)?;
        Ok(spec.uncompressed_size as i64)
    }
}

fn bounds(kind: Kind, numbers: &[i64]) -> (Option<i64>, Option<i64>) {
    // Flipping the sign bit makes signed comparison order unsigned values.
    let flip = if matches!(kind, Kind::Unsigned32 | Kind::Unsigned64) { i64::MIN } else { 0 };
    let Some((first, rest)) = numbers.split_first() else { return (None, None) };
    let ends = |(least, greatest): (i64, i64), number: &i64| {
        let number = number ^ flip;
        (least.min(number), greatest.max(number))
    };
    let (least, greatest) = rest.iter().fold((first ^ flip, first ^ flip), ends);
    (Some(least ^ flip), Some(greatest ^ flip))
}

/// No filter on byte strings skips row groups.
fn no_bounds(number: usize, nulls: usize) -> Statistics {
    debug_assert_eq!(COLUMNS[number].physical(), Type::BYTE_ARRAY, "a column of byte strings");
    Statistics::byte_array(None, None, None, Some(nulls as u64), false)
}
