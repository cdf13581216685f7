//! Sorts a listing in memory: packed names, each with a 16-byte key of eight bytes after the common prefix
//! and the position. A million names of 32 bytes take about 60 MB, versus about 250 MB in `ls`.

use megadir::{Entry, FileType};

use super::args::{Args, Sort};
use super::lines::{Format, Label, Lines};
use crate::ui::output::{Ended, Output};

/// Growing never copies.
const CHUNK_BYTES: usize = 1 << 20;
/// Fewer are sorted by one thread.
const THREAD_KEYS_MIN: usize = 32 << 10;
/// Path and its directory part, four bytes each.
const HEADER_BYTES: usize = 8;
/// Inode, offset, record length, type; if lines show more than names.
const FIELDS_BYTES: usize = 19;

/// `chunks` hold the packed entries one behind the other and are never moved, since growing a vector of a gigabyte
/// would copy it. Only `keys` are sorted. `common` is the length of the beginning that all names share, so that the
/// eight bytes of a key lie where names differ.
pub(super) struct Collected {
    by_inode: bool,
    reverse: bool,
    fields_bytes: usize,
    keys: Vec<Key>,
    chunks: Vec<Vec<u8>>,
    common: usize,
}

#[derive(Clone, Copy)]
struct Key {
    order: u64,
    chunk: u32,
    offset: u32,
}

struct Packed<'a> {
    path: &'a [u8],
    prefix_bytes: usize,
    fields: &'a [u8],
}

impl Collected {
    pub(super) fn new(args: &Args, lines: &Lines) -> Self {
        let fields_bytes = if lines.format == Format::Names { 0 } else { FIELDS_BYTES };
        Self {
            by_inode: args.sort == Sort::Inode,
            reverse: args.reverse,
            fields_bytes,
            keys: Vec::new(),
            chunks: Vec::new(),
            common: usize::MAX,
        }
    }

    pub(super) fn add(&mut self, label: &Label, entry: &Entry<'_>) {
        let prefix = label.prefix();
        let length = self.fields_bytes + HEADER_BYTES + prefix.len() + entry.name.len();
        if self.chunks.last().is_none_or(|chunk| chunk.len() + length > chunk.capacity()) {
            self.chunks.push(Vec::with_capacity(CHUNK_BYTES.max(length)));
        }
        let index = self.chunks.len() - 1;
        let chunk = &mut self.chunks[index];
        let offset = chunk.len();
        if self.fields_bytes > 0 {
            chunk.extend_from_slice(&entry.inode.to_ne_bytes());
            chunk.extend_from_slice(&entry.cookie.unwrap_or(0).to_ne_bytes());
            chunk.extend_from_slice(&entry.record_bytes.to_ne_bytes());
            chunk.push(entry.kind.d_type());
        }
        chunk.extend_from_slice(&((prefix.len() + entry.name.len()) as u32).to_ne_bytes());
        chunk.extend_from_slice(&(prefix.len() as u32).to_ne_bytes());
        let start = chunk.len();
        chunk.extend_from_slice(prefix);
        chunk.extend_from_slice(entry.name);
        let order = if self.by_inode { entry.inode } else { leading(&chunk[start..]) };
        self.keys.push(Key { order, chunk: index as u32, offset: offset as u32 });
        if self.common > 0 && !self.by_inode {
            self.note_common(self.keys.len() - 1);
        }
    }

    fn note_common(&mut self, index: usize) {
        let first = self.packed(&self.keys[0]).path;
        let path = self.packed(&self.keys[index]).path;
        let common = first.iter().zip(path).take_while(|(a, b)| a == b).count();
        self.common = self.common.min(common);
    }

    pub(super) fn sort(mut self, threads: usize) -> Self {
        let mut keys = std::mem::take(&mut self.keys);
        if !self.by_inode && self.common > 0 {
            for key in &mut keys {
                key.order = leading(&self.packed(key).path[self.common..]);
            }
        }
        let compare = |a: &Key, b: &Key| {
            a.order.cmp(&b.order).then_with(|| self.packed(a).path.cmp(self.packed(b).path))
        };
        sort_keys(&mut keys, threads, &compare);
        self.keys = keys;
        self
    }

    pub(super) fn write(&self, lines: &Lines, output: &mut Output, limit: u64) -> Result<(), Ended> {
        let last = self.keys.len().saturating_sub(1);
        for index in (0..self.keys.len()).take(super::limit(limit)) {
            let packed = self.packed(&self.keys[if self.reverse { last - index } else { index }]);
            let (prefix, name) = packed.path.split_at(packed.prefix_bytes);
            lines.sorted_entry(&mut output.text, prefix, &entry(name, packed.fields));
            output.made()?;
        }
        Ok(())
    }

    fn packed(&self, key: &Key) -> Packed<'_> {
        let record = &self.chunks[key.chunk as usize][key.offset as usize..];
        let (fields, record) = record.split_at(self.fields_bytes);
        let (header, record) = record.split_at(HEADER_BYTES);
        Packed { path: &record[..number(&header[..4])], prefix_bytes: number(&header[4..]), fields }
    }
}

fn number(bytes: &[u8]) -> usize {
    bytes.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes) as usize)
}

/// Big-endian, which compares like the bytes.
fn leading(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            u64::from_be_bytes(padded)
        }
    }
}

fn entry<'a>(name: &'a [u8], fields: &[u8]) -> Entry<'a> {
    let mut entry = Entry { name, inode: 0, kind: FileType::Unknown, cookie: None, record_bytes: 0 };
    if let (Some(inode), Some(offset)) = (fields.first_chunk(), fields.get(8..).and_then(<[u8]>::first_chunk))
    {
        entry.inode = u64::from_ne_bytes(*inode);
        entry.cookie = Some(i64::from_ne_bytes(*offset));
        entry.record_bytes = u16::from_ne_bytes([fields[16], fields[17]]);
        entry.kind = FileType::from_d_type(fields[18]);
    }
    entry
}

/// At the median; each half gets half of the threads.
fn sort_keys<F>(keys: &mut [Key], threads: usize, compare: &F)
where
    F: Fn(&Key, &Key) -> std::cmp::Ordering + Sync,
{
    if threads < 2 || keys.len() < THREAD_KEYS_MIN {
        return keys.sort_unstable_by(compare);
    }
    let middle = keys.len() / 2;
    keys.select_nth_unstable_by(middle, compare);
    let (low, high) = keys.split_at_mut(middle);
    let is_started = std::thread::scope(|scope| {
        let started =
            std::thread::Builder::new().spawn_scoped(scope, || sort_keys(&mut *low, threads / 2, compare));
        sort_keys(high, threads - threads / 2, compare);
        started.is_ok()
    });
    if !is_started {
        low.sort_unstable_by(compare);
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, leading, sort_keys};

    #[test]
    fn leading_bytes_order_as_the_names_do() {
        assert!(leading(b"a") < leading(b"aa"));
        assert!(leading(b"aa") < leading(b"b"));
        assert!(leading(b"\xff") > leading(b"zzzzzzzzz"));
        assert_eq!(leading(b"12345678x"), leading(b"12345678y"));
    }

    #[test]
    fn threads_sort_as_one_does() {
        let mut state = 1u64;
        let mut keys: Vec<Key> = (0..200_000)
            .map(|index| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                Key { order: state >> 48, chunk: 0, offset: index }
            })
            .collect();
        let compare = |a: &Key, b: &Key| (a.order, a.offset).cmp(&(b.order, b.offset));
        let mut expected = keys.clone();
        expected.sort_by(compare);
        sort_keys(&mut keys, 3, &compare);
        assert!(keys.iter().zip(&expected).all(|(a, b)| (a.order, a.offset) == (b.order, b.offset)));
    }
}
