//! External sort: sorted runs in temporary files, merged at the end.
//!
//! ```text
//! run: length of the prefix shared with the previous key (4), length of the rest (4), length of the item (4),
//!      rest, item; ascending by key
//! ```
//! The files are unlinked at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::path::common_bytes;

const PLACE_BYTES: usize = size_of::<Place>();
/// Each run of a merge needs a descriptor and a buffer.
const RUNS_MAX: usize = 64;
const RUNS_MIN: usize = 8;
const RUN_BUFFER_BYTES: usize = 64 << 10;

/// Sorts items by their keys.
///
/// ```
/// use std::io;
/// let mut sorter = megadir_inventory::Sorter::new(1 << 20, std::env::temp_dir());
/// sorter.add(b"b", b"second")?;
/// sorter.add(b"a", b"first")?;
/// let mut items = Vec::new();
/// sorter.finish(
///     |error| error,
///     |_key, item| {
///         items.push(item.to_vec());
///         Ok(true)
///     },
/// )?;
/// assert_eq!(items, [b"first".to_vec(), b"second".to_vec()]);
/// # Ok::<(), io::Error>(())
/// ```
#[derive(Debug)]
pub struct Sorter {
    pub(crate) memory_bytes_max: usize,
    pub(crate) directory: PathBuf,
    bytes: Vec<u8>,
    places: Vec<Place>,
    runs: Vec<File>,
    largest_bytes: usize,
}

/// Writes a sorted run whose keys share beginnings, so that paths take little space on the disk.
/// `largest_bytes` is the largest item, which decides how many runs fit into the memory of a merge.
pub(crate) struct RunWriter {
    file: BufWriter<File>,
    last: Vec<u8>,
    largest_bytes: usize,
}

impl RunWriter {
    fn new(directory: &Path) -> io::Result<Self> {
        let file = BufWriter::new(tempfile::tempfile_in(directory)?);
        Ok(Self { file, last: Vec::new(), largest_bytes: 0 })
    }

    pub(crate) fn put(&mut self, key: &[u8], item: &[u8]) -> io::Result<()> {
        let same = common_bytes(&self.last, key);
        let rest = &key[same..];
        for number in [same, rest.len(), item.len()] {
            self.file.write_all(&length(number)?.to_ne_bytes())?;
        }
        self.file.write_all(rest)?;
        self.file.write_all(item)?;
        self.last.truncate(same);
        self.last.extend_from_slice(rest);
        self.largest_bytes = self.largest_bytes.max(key.len() + item.len());
        Ok(())
    }

    fn finish(self) -> io::Result<File> {
        self.file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// Sorted items, one at a time.
pub(crate) struct Sorted {
    reader: BufReader<File>,
    head: Option<Head>,
}

impl Sorted {
    /// Key and item that come next; `None` after the last.
    pub(crate) fn head(&self) -> Option<(&[u8], &[u8])> {
        self.head.as_ref().map(|head| (&head.key[..], &head.item[..]))
    }

    pub(crate) fn advance(&mut self) -> io::Result<()> {
        if let Some(head) = self.head.take() {
            self.head = take(&mut self.reader, head)?;
        }
        Ok(())
    }
}

/// 24 bytes that are sorted instead of the item.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Decides most comparisons.
    leading: u64,
    offset: usize,
    key_bytes: u32,
    item_bytes: u32,
}

impl Sorter {
    /// Sorts in about `memory_bytes_max` and spills to unlinked files in `directory`.
    pub fn new(memory_bytes_max: usize, directory: PathBuf) -> Self {
        let (bytes, places, runs) = (Vec::new(), Vec::new(), Vec::new());
        Self { memory_bytes_max, directory, bytes, places, runs, largest_bytes: 0 }
    }

    pub(crate) fn begin_run(&mut self) -> io::Result<RunWriter> {
        if self.runs.len() >= self.runs_max() {
            let mut merged = RunWriter::new(&self.directory)?;
            merge(&mut self.runs, |error| error, |key, item| merged.put(key, item).map(|()| true))?;
            self.runs = vec![merged.finish()?];
        }
        RunWriter::new(&self.directory)
    }

    pub(crate) fn add_run(&mut self, run: RunWriter) -> io::Result<()> {
        self.largest_bytes = self.largest_bytes.max(run.largest_bytes);
        self.runs.push(run.finish()?);
        Ok(())
    }

    fn runs_max(&self) -> usize {
        (self.memory_bytes_max / (RUN_BUFFER_BYTES + self.largest_bytes)).clamp(RUNS_MIN, RUNS_MAX)
    }

    /// Adds an item. Errors: writing to a temporary file failed; the items are lost.
    pub fn add(&mut self, key: &[u8], item: &[u8]) -> io::Result<()> {
        let held = self.bytes.len() + self.places.len() * PLACE_BYTES;
        // The buffer grows by doubling.
        if held + key.len() + item.len() > self.memory_bytes_max / 2 && !self.places.is_empty() {
            self.write_run()?;
        }
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(item);
        self.places.push(Place {
            leading: leading(key),
            offset,
            key_bytes: length(key.len())?,
            item_bytes: length(item.len())?,
        });
        Ok(())
    }

    /// Passes the items to `write` in order until it returns `false`; `failed` converts errors of temporary files.
    pub fn finish<E>(
        mut self,
        failed: impl Fn(io::Error) -> E,
        mut write: impl FnMut(&[u8], &[u8]) -> Result<bool, E>,
    ) -> Result<(), E> {
        if self.runs.is_empty() {
            self.sort();
            for place in &self.places {
                if !write(self.key(place), self.item(place))? {
                    break;
                }
            }
            return Ok(());
        }
        if !self.places.is_empty() {
            self.write_run().map_err(&failed)?;
        }
        (self.bytes, self.places) = (Vec::new(), Vec::new());
        merge(&mut self.runs, &failed, write)
    }

    /// Sorts everything into a temporary file, for a reader that takes one item at a time.
    pub(crate) fn into_sorted(self) -> io::Result<Sorted> {
        let mut run = RunWriter::new(&self.directory)?;
        self.finish(|error| error, |key, item| run.put(key, item).map(|()| true))?;
        let mut file = run.finish()?;
        file.rewind()?;
        let mut reader = BufReader::with_capacity(RUN_BUFFER_BYTES, file);
        let head = take(&mut reader, Head { key: Vec::new(), run: 0, item: Vec::new() })?;
        Ok(Sorted { reader, head })
    }

    /// Eight bytes after what all keys share decide most comparisons without touching the keys. Keys of one
    /// tree share their first bytes, which would otherwise be all that is compared.
    fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |place: &Place| &bytes[place.offset..place.offset + place.key_bytes as usize];
        if let [first, rest @ ..] = &mut self.places[..] {
            let start = key(first);
            let common = |common: usize, place: &Place| {
                let same = start.iter().zip(key(place)).take(common);
                same.take_while(|(a, b)| a == b).count()
            };
            let common = rest.iter().fold(start.len(), common);
            if common > 0 {
                first.leading = leading(&start[common..]);
                rest.iter_mut().for_each(|place| place.leading = leading(&key(place)[common..]));
            }
        }
        self.places.sort_unstable_by(|a, b| a.leading.cmp(&b.leading).then_with(|| key(a).cmp(key(b))));
    }

    fn key(&self, place: &Place) -> &[u8] {
        &self.bytes[place.offset..place.offset + place.key_bytes as usize]
    }

    fn item(&self, place: &Place) -> &[u8] {
        let start = place.offset + place.key_bytes as usize;
        &self.bytes[start..start + place.item_bytes as usize]
    }

    fn write_run(&mut self) -> io::Result<()> {
        let mut run = self.begin_run()?;
        self.sort();
        for place in &self.places {
            run.put(self.key(place), self.item(place))?;
        }
        self.add_run(run)?;
        self.places.clear();
        self.bytes.clear();
        Ok(())
    }
}

fn length(bytes: usize) -> io::Result<u32> {
    u32::try_from(bytes).map_err(|_| io::Error::other("an item is longer than 4 GiB"))
}

#[inline]
pub(crate) fn leading(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(8);
    first[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(first)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    key: Vec<u8>,
    run: usize,
    item: Vec<u8>,
}

/// `head` is the last item of the same run, whose key has the bytes that the next one shares with it.
fn take(run: &mut impl Read, mut head: Head) -> io::Result<Option<Head>> {
    let mut lengths = [0; 12];
    match run.read_exact(&mut lengths) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let [same, rest, item] = [0, 4, 8].map(|at| {
        let bytes = [lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]];
        u32::from_ne_bytes(bytes) as usize
    });
    head.key.resize(same + rest, 0);
    head.item.resize(item, 0);
    run.read_exact(&mut head.key[same..])?;
    run.read_exact(&mut head.item)?;
    Ok(Some(head))
}

/// A heap holds the next item of each run. The buffers of an item that was given out are used for the next
/// one of the same run, whose key is restored from the part that differs.
fn merge<E>(
    runs: &mut [File],
    failed: impl Fn(io::Error) -> E,
    mut give: impl FnMut(&[u8], &[u8]) -> Result<bool, E>,
) -> Result<(), E> {
    let mut readers = Vec::new();
    let mut heads = BinaryHeap::new();
    for (index, run) in runs.iter_mut().enumerate() {
        run.rewind().map_err(&failed)?;
        let mut reader = BufReader::with_capacity(RUN_BUFFER_BYTES, run);
        let head = Head { key: Vec::new(), run: index, item: Vec::new() };
        heads.extend(take(&mut reader, head).map_err(&failed)?.map(Reverse));
        readers.push(reader);
    }
    while let Some(Reverse(head)) = heads.pop() {
        if !give(&head.key, &head.item)? {
            return Ok(());
        }
        let run = head.run;
        heads.extend(take(&mut readers[run], head).map_err(&failed)?.map(Reverse));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Sorter;
    use std::io;

    fn sorted(items: &[(Vec<u8>, Vec<u8>)], memory_bytes: usize, limit: usize) -> (Vec<Vec<u8>>, usize) {
        let mut sorter = Sorter::new(memory_bytes, std::env::temp_dir());
        for (key, item) in items {
            sorter.add(key, item).unwrap();
        }
        let runs = sorter.runs.len();
        let mut out = Vec::new();
        let enough = |_: &[u8], item: &[u8]| -> io::Result<bool> {
            out.push(item.to_vec());
            Ok(out.len() < limit)
        };
        sorter.finish(|error| error, enough).unwrap();
        (out, runs)
    }

    #[test]
    fn runs_in_files_equal_sorting_in_memory() {
        let mut state = 7u64;
        let items: Vec<_> = (0..5000u32)
            .map(|index| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let key = state.to_be_bytes()[..(state % 9) as usize].to_vec();
                // The number makes equal keys distinct, so that there is one right order.
                ([key, index.to_be_bytes().to_vec()].concat(), index.to_string().into_bytes())
            })
            .collect();
        let (in_memory, runs) = sorted(&items, 64 << 20, usize::MAX);
        assert_eq!((in_memory.len(), runs), (5000, 0));
        for memory_bytes in [200, 5000, 100_000] {
            let (spilled, runs) = sorted(&items, memory_bytes, usize::MAX);
            assert!(runs > 0);
            assert_eq!(spilled, in_memory, "{memory_bytes} bytes");
            assert_eq!(sorted(&items, memory_bytes, 10).0, in_memory[..10]);
        }
    }

    #[test]
    fn nothing_added_gives_nothing() {
        assert!(sorted(&[], 1000, usize::MAX).0.is_empty());
    }
}
