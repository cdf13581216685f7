//! Collects the rows of a row group as columns.

use std::collections::HashMap;
use std::hash::Hash;

use parquet::basic::Encoding;

use super::encoding::runs::{self, Run};
use super::schema::{COLUMNS, NUMBERS_AT, STORED};
use crate::packed::columns::{Column, Columns as Rows};
use crate::path::common_bytes as common;
use crate::row::{ContentHash, NUMBERS, STORED_NUMBERS, Stored, push_relative, push_separator, push_text};

const FEW: usize = 16;

/// One row group that is being collected, in the form in which its columns are encoded. All columns have the
/// same number of rows, `rows`; columns that may lack values keep marks (`Present`) and only the values that
/// are there. It is cleared and used again for the next row group, so that its vectors keep their memory.
pub(super) struct Columns {
    pub(super) rows: usize,
    pub(super) root: Dictionary<i64>,
    pub(super) parent: Parents,
    pub(super) name: Texts,
    pub(super) path: Paths,
    pub(super) kind: Dictionary<i64>,
    pub(super) numbers: [Numbers; NUMBERS],
    pub(super) error: Dictionary<Box<[u8]>>,
    pub(super) has_error: Present,
    pub(super) sha256: Hashes,
    pub(super) blake3: Hashes,
    /// Without values unless the file is the index of a pack.
    pub(super) stored: [Numbers; STORED_NUMBERS],
}

/// Hashes one after the other.
#[derive(Default)]
pub(super) struct Hashes {
    pub(super) present: Present,
    pub(super) bytes: Vec<u8>,
}

/// Runs of 1 (has a value) and 0.
#[derive(Default)]
pub(super) struct Present {
    pub(super) runs: Vec<Run>,
    pub(super) values: usize,
}

#[derive(Default)]
pub(super) struct Dictionary<K> {
    pub(super) values: Vec<K>,
    pub(super) runs: Vec<Run>,
    index: HashMap<K, u32>,
}

pub(super) struct Numbers {
    pub(super) present: Present,
    pub(super) stored: StoredNumbers,
}

pub(super) enum StoredNumbers {
    Each(Vec<i64>),
    Dictionary(Dictionary<i64>),
}

#[derive(Default)]
pub(super) struct Texts {
    pub(super) bytes: Vec<u8>,
    pub(super) lengths: Vec<i64>,
}

pub(super) enum Parents {
    Dictionary(Dictionary<Box<[u8]>>),
    /// As length of the shared prefix and suffix: a dictionary would be quadratic in the depth of the tree.
    Prefixes(Paths),
}

/// Ascending paths as in DELTA_BYTE_ARRAY: the length that a path shares with the one before, and the rest.
/// The path of a row is its directory's and its name; for rows of one directory only the name's part is
/// compared. The column is text, in which bytes that are not UTF-8 are replaced. `root_bytes` is the length
/// of the root's text with its separator, `directory_bytes` the length of the current directory's, and
/// `verbatim_bytes` the length of the directory's path that is in the text byte for byte. `shared_bytes` of
/// the path are shared with the last directory below the same root.
#[derive(Default)]
pub(super) struct Paths {
    pub(super) common: Vec<i64>,
    pub(super) rest: Texts,
    pub(super) last: Vec<u8>,
    pub(super) directory_bytes: usize,
    root_bytes: usize,
    verbatim_bytes: usize,
    shared_bytes: usize,
    scratch: Vec<u8>,
}

impl Present {
    #[inline]
    pub(super) fn push(&mut self, is_present: bool, rows: u32) {
        runs::push(&mut self.runs, u32::from(is_present), rows);
        self.values += if is_present { rows as usize } else { 0 };
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.values = 0;
    }
}

impl Hashes {
    #[inline]
    fn push(&mut self, hash: Option<&[u8; 32]>) {
        self.present.push(hash.is_some(), 1);
        self.bytes.extend_from_slice(hash.map_or(&[], |hash| &hash[..]));
    }

    fn clear(&mut self) {
        self.present.clear();
        self.bytes.clear();
    }
}

impl<K: Clone + Eq + Hash> Dictionary<K> {
    #[inline]
    pub(super) fn push(&mut self, value: &K, count: u32) {
        if let Some((last, length)) = self.runs.last_mut()
            && self.values[*last as usize] == *value
        {
            *length += count;
            return;
        }
        let index = self.index(value);
        self.runs.push((index, count));
    }

    /// Few values are compared one by one, which is faster than hashing: most columns have one or two in a
    /// row group. From [`FEW`] on there is a map too.
    fn index(&mut self, value: &K) -> u32 {
        let next = self.values.len() as u32;
        let found = match self.values.len() <= FEW {
            true => self.values.iter().position(|there| there == value).map(|at| at as u32),
            false => self.index.get(value).copied(),
        };
        if let Some(found) = found {
            return found;
        }
        self.values.push(value.clone());
        if self.values.len() == FEW + 1 {
            self.index.extend((0..).zip(&self.values).map(|(index, value)| (value.clone(), index)));
        } else if self.values.len() > FEW {
            self.index.insert(value.clone(), next);
        }
        next
    }

    fn clear(&mut self) {
        self.values.clear();
        self.runs.clear();
        self.index.clear();
    }
}

impl Dictionary<i64> {
    fn push_all(&mut self, given: Column<'_>, rows: u32) {
        match given {
            Column::Same(number) => self.push(&number, rows),
            each => {
                let numbers = (0..rows as usize).filter_map(|row| each.get(row));
                numbers.for_each(|number| self.push(&number, 1));
            }
        }
    }
}

impl Dictionary<Box<[u8]>> {
    /// Without hashing, which would take time quadratic in the depth: paths ascend within a root.
    fn push_next(&mut self, path: &[u8], count: u32) {
        match self.runs.last_mut() {
            Some((last, length)) if *self.values[*last as usize] == *path => *length += count,
            _ => {
                self.runs.push((self.values.len() as u32, count));
                self.values.push(path.into());
            }
        }
    }
}

impl Numbers {
    fn new(stored: Encoding) -> Self {
        let stored = match stored {
            Encoding::RLE_DICTIONARY => StoredNumbers::Dictionary(Dictionary::default()),
            _ => StoredNumbers::Each(Vec::new()),
        };
        Self { present: Present::default(), stored }
    }

    #[inline]
    fn push(&mut self, number: Option<i64>) {
        self.present.push(number.is_some(), 1);
        if let Some(number) = number {
            match &mut self.stored {
                StoredNumbers::Each(values) => values.push(number),
                StoredNumbers::Dictionary(dictionary) => dictionary.push(&number, 1),
            }
        }
    }

    fn clear(&mut self) {
        self.present.clear();
        match &mut self.stored {
            StoredNumbers::Each(values) => values.clear(),
            StoredNumbers::Dictionary(dictionary) => dictionary.clear(),
        }
    }

    fn add_whole(&mut self, given: Column<'_>, rows: u32) {
        self.present.push(!matches!(given, Column::Nothing), rows);
        match (&mut self.stored, given) {
            (_, Column::Nothing) => {}
            (StoredNumbers::Each(values), Column::Same(number)) => {
                values.extend(std::iter::repeat_n(number, rows as usize));
            }
            (StoredNumbers::Each(values), Column::Each(least, above)) => above.append(least, values),
            (StoredNumbers::Dictionary(dictionary), given) => dictionary.push_all(given, rows),
        }
    }
}

impl Texts {
    #[inline]
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.lengths.push(text.len() as i64);
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }
}

impl Paths {
    fn root(&mut self, root: &[u8]) {
        let mut path = std::mem::take(&mut self.scratch);
        path.clear();
        push_text(&mut path, root);
        (self.root_bytes, self.verbatim_bytes) = (0, 0);
        self.replace_end(0, path, 0);
    }

    /// `shared_bytes` are shared with the last path below the same root.
    pub(super) fn enter(&mut self, shared_bytes: usize) {
        self.shared_bytes = shared_bytes;
    }

    /// Makes the path of a directory's first row from what it shares with the last one. What is shared must
    /// end at a slash, and be in the text byte for byte: where a path is not UTF-8, a common beginning in
    /// bytes is none in the text. The root is written again only if nothing is shared.
    pub(super) fn first(&mut self, root: &[u8], parent: &[u8], name: &[u8]) {
        let mut end = std::mem::take(&mut self.scratch);
        end.clear();
        let shared = &parent[..self.verbatim_bytes.min(self.shared_bytes).min(parent.len())];
        let kept = shared.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let mut from = self.root_bytes + kept;
        if kept == 0 {
            push_text(&mut end, root);
            push_separator(&mut end);
            (from, self.root_bytes) = (0, end.len());
        }
        let below = &parent[kept..];
        if !below.is_empty() {
            push_relative(&mut end, below);
            push_separator(&mut end);
        }
        let directory_bytes = from + end.len();
        self.verbatim_bytes = if std::str::from_utf8(below).is_ok() { parent.len() } else { kept };
        push_text(&mut end, name);
        self.replace_end(from, end, directory_bytes);
    }

    fn replace_end(&mut self, from: usize, end: Vec<u8>, directory_bytes: usize) {
        let same = common(&self.last[from..], &end);
        self.push(from + same, &end[same..]);
        self.scratch = end;
        self.directory_bytes = directory_bytes;
    }

    #[inline]
    pub(super) fn next(&mut self, name: &[u8]) {
        if !name.is_ascii() {
            let mut text = std::mem::take(&mut self.scratch);
            text.clear();
            push_text(&mut text, name);
            self.next_text(&text);
            self.scratch = text;
            return;
        }
        self.next_text(name);
    }

    #[inline]
    fn next_text(&mut self, name: &[u8]) {
        let same = self.directory_bytes + common(&self.last[self.directory_bytes..], name);
        self.push(same, &name[same - self.directory_bytes..]);
    }

    #[inline]
    fn push(&mut self, common: usize, rest: &[u8]) {
        self.common.push(common as i64);
        self.rest.push(rest);
        self.last.truncate(common);
        self.last.extend_from_slice(rest);
    }

    fn same(&mut self, path: &[u8], common: usize, rows: u32) {
        self.push(common, &path[common..]);
        let more = rows.saturating_sub(1) as usize;
        self.common.extend(std::iter::repeat_n(path.len() as i64, more));
        self.rest.lengths.extend(std::iter::repeat_n(0, more));
    }

    fn clear(&mut self) {
        self.common.clear();
        self.rest.clear();
        self.last.clear();
        self.directory_bytes = 0;
        (self.root_bytes, self.verbatim_bytes, self.shared_bytes) = (0, 0, 0);
    }

    /// Names of one directory are compared with each other only. If all are ASCII, their text equals their
    /// bytes, and no row's whole path is ever put together.
    fn add_whole(&mut self, root: &[u8], parent: &[u8], rows: &Rows<'_>) {
        let mut names = rows.each_name();
        let Some(first) = names.next() else { return };
        self.first(root, parent, first);
        if !rows.names.is_ascii() {
            return names.for_each(|name| self.next(name));
        }
        let mut before = first;
        for name in names {
            let same = common(before, name);
            self.common.push((self.directory_bytes + same) as i64);
            self.rest.push(&name[same..]);
            before = name;
        }
        self.last.truncate(self.directory_bytes);
        self.last.extend_from_slice(before);
    }
}

impl Columns {
    pub(super) fn new() -> Self {
        Self {
            rows: 0,
            root: Dictionary::default(),
            parent: Parents::Dictionary(Dictionary::default()),
            name: Texts::default(),
            path: Paths::default(),
            kind: Dictionary::default(),
            numbers: std::array::from_fn(|at| Numbers::new(COLUMNS[NUMBERS_AT + at].stored)),
            error: Dictionary::default(),
            has_error: Present::default(),
            sha256: Hashes::default(),
            blake3: Hashes::default(),
            stored: std::array::from_fn(|at| Numbers::new(STORED[at].stored)),
        }
    }

    /// Keeps the buffers: each page of a new one costs a page fault.
    pub(super) fn begin(&mut self, by_prefix: bool) {
        self.rows = 0;
        self.root.clear();
        match &mut self.parent {
            Parents::Dictionary(dictionary) if !by_prefix => dictionary.clear(),
            Parents::Prefixes(paths) if by_prefix => paths.clear(),
            other if by_prefix => *other = Parents::Prefixes(Paths::default()),
            other => *other = Parents::Dictionary(Dictionary::default()),
        }
        self.name.clear();
        self.path.clear();
        self.kind.clear();
        self.numbers.iter_mut().for_each(Numbers::clear);
        self.error.clear();
        self.has_error.clear();
        self.sha256.clear();
        self.blake3.clear();
        self.stored.iter_mut().for_each(Numbers::clear);
    }

    pub(super) fn directory(&mut self, root: u32, (parent, common): (&[u8], usize), rows: u32) {
        self.root.push(&i64::from(root), rows);
        match &mut self.parent {
            Parents::Dictionary(dictionary) => dictionary.push_next(parent, rows),
            Parents::Prefixes(paths) => paths.same(parent, common, rows),
        }
    }

    pub(super) fn first_name(&mut self, root: &[u8], parent: &[u8], name: &[u8]) {
        self.name.push(name);
        match name.is_empty() {
            true => self.path.root(root),
            false => self.path.first(root, parent, name),
        }
    }

    #[inline]
    pub(super) fn next_name(&mut self, name: &[u8]) {
        self.name.push(name);
        self.path.next(name);
    }

    #[inline]
    pub(super) fn push(&mut self, kind: u8, numbers: &[Option<i64>; NUMBERS]) {
        self.rows += 1;
        self.kind.push(&kind.into(), 1);
        for (column, number) in self.numbers.iter_mut().zip(numbers) {
            column.push(*number);
        }
    }

    #[inline]
    pub(super) fn push_odd(&mut self, error: Option<&str>, hash: Option<&ContentHash>) {
        self.has_error.push(error.is_some(), 1);
        if let Some(error) = error {
            self.error.push(&Box::from(error.as_bytes()), 1);
        }
        let (sha256, blake3) = match hash {
            Some(ContentHash::Sha256(hash)) => (Some(hash), None),
            Some(ContentHash::Blake3(hash)) => (None, Some(hash)),
            None => (None, None),
        };
        self.sha256.push(sha256);
        self.blake3.push(blake3);
    }

    pub(super) fn push_stored(&mut self, stored: Option<&Stored>) {
        let numbers = stored.map(Stored::numbers);
        for (at, column) in self.stored.iter_mut().enumerate() {
            column.push(numbers.map(|numbers| numbers[at]));
        }
    }

    /// Without errors and hashes, after [`Columns::directory`].
    pub(super) fn add_whole(&mut self, root: &[u8], parent: &[u8], rows: &Rows<'_>) {
        let count = rows.len() as u32;
        self.rows += rows.len();
        self.name.bytes.extend_from_slice(rows.names);
        self.name.lengths.extend(rows.lengths().map(i64::from));
        self.path.add_whole(root, parent, rows);
        self.kind.push_all(rows.kind, count);
        for (column, given) in self.numbers.iter_mut().zip(&rows.numbers) {
            column.add_whole(*given, count);
        }
        self.has_error.push(false, count);
        self.sha256.present.push(false, count);
        self.blake3.present.push(false, count);
    }
}

#[cfg(test)]
mod tests {
    use super::{Paths, common};
    use crate::row::Key;

    #[test]
    fn paths_are_texts_below_their_roots() {
        let rows = [
            (0, &b"/"[..], &b""[..], &b""[..]),
            (0, b"/", b"", b"a"),
            (0, b"/", b"", b"a-long-name-with-1"),
            (0, b"/", b"", b"a-long-name-with-2"),
            (0, b"/", b"a", b"f\xff"),
            (0, b"/", b"a", b"f\xffg"),
            (0, b"/", b"a/b/c", b"x"),
            (0, b"/", b"a/b/c\xfe/d/e", b"x"),
            (0, b"/", b"a/b/c\xfe/d/f", b"\xe9"),
            (0, b"/", b"a/b/c\xfe/dd", b"y"),
            (0, b"/", b"a/b/d/e", b"y"),
            (0, b"/", b"a/bc", b"y"),
            (1, b"/r\xfe", b"", b""),
            (1, b"/r\xfe", b"", b"a"),
            (1, b"/r\xfe", b"a", b"b"),
        ];
        let (mut paths, mut expected, mut last) = (Paths::default(), Vec::new(), None::<(u32, &[u8])>);
        for (root, path, parent, name) in rows {
            let mut text = Vec::new();
            Key { root, parent, name }.text_into(path, &mut text);
            expected.push(String::from_utf8(text).unwrap());
            if last != Some((root, parent)) {
                let before = last.filter(|before: &(u32, &[u8])| before.0 == root);
                paths.enter(before.map_or(0, |before| common(before.1, parent)));
            }
            match (name.is_empty(), last == Some((root, parent))) {
                (true, _) => paths.root(path),
                (false, false) => paths.first(path, parent, name),
                (false, true) => paths.next(name),
            }
            last = (!name.is_empty()).then_some((root, parent));
        }
        let (mut at, mut text, mut back) = (0, Vec::new(), Vec::new());
        for (common, rest) in paths.common.iter().zip(&paths.rest.lengths) {
            text.truncate(*common as usize);
            text.extend_from_slice(&paths.rest.bytes[at..at + *rest as usize]);
            at += *rest as usize;
            back.push(String::from_utf8(text.clone()).unwrap());
        }
        assert_eq!(back, expected);
        assert_eq!(back[4], format!("/a{}f\\xff", std::path::MAIN_SEPARATOR));
    }
}
