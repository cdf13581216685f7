//! Rows turned into columns, as many as are written at a time.

use bytes::Bytes;
use parquet::data_type::ByteArray;

use crate::row::{Facts, Row, push_text};

/// The columns of [`super::schema::COLUMNS`], in their order.
pub(super) struct Columns {
    pub(super) root: Vec<i32>,
    /// For each row which of `parents` its directory is.
    pub(super) parent: Vec<u32>,
    pub(super) parents: Vec<ByteArray>,
    pub(super) name: Texts,
    pub(super) path: Texts,
    pub(super) kind: Vec<u8>,
    pub(super) size: Optional<i64>,
    pub(super) modified: Optional<i64>,
    pub(super) changed: Optional<i64>,
    pub(super) born: Optional<i64>,
    pub(super) inode: Optional<i64>,
    pub(super) inode_high: Optional<i64>,
    pub(super) device: Optional<i64>,
    pub(super) mode: Optional<i32>,
    pub(super) user: Optional<i32>,
    pub(super) group: Optional<i32>,
    pub(super) links: Optional<i64>,
    pub(super) errno: Optional<i32>,
    pub(super) error: Optional<ByteArray>,
    pub(super) hash: Optional<ByteArray>,
}

/// Values of a column in which some rows have none.
pub(super) struct Optional<T> {
    pub(super) values: Vec<T>,
    /// For each row 1 where it has a value, 0 where not.
    pub(super) levels: Vec<i16>,
}

/// Byte strings, packed.
pub(super) struct Texts {
    pub(super) bytes: Vec<u8>,
    /// Where each ends.
    pub(super) ends: Vec<usize>,
}

impl<T> Optional<T> {
    fn new(rows: usize) -> Self {
        Self { values: Vec::with_capacity(rows), levels: Vec::with_capacity(rows) }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.levels.clear();
    }

    #[inline]
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }
}

impl Texts {
    fn new(rows: usize, bytes_each: usize) -> Self {
        Self { bytes: Vec::with_capacity(rows * bytes_each), ends: Vec::with_capacity(rows) }
    }

    /// Gives the strings as the writer of columns takes them, in `arrays`, to `take`.
    pub(super) fn arrays<R>(
        &mut self,
        arrays: &mut Vec<ByteArray>,
        take: impl FnOnce(&[ByteArray]) -> R,
    ) -> R {
        let all = Bytes::from(std::mem::take(&mut self.bytes));
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        arrays.extend(starts.zip(&self.ends).map(|(start, &end)| ByteArray::from(all.slice(start..end))));
        let taken = take(arrays);
        arrays.clear();
        // Nobody else has them any more, so nothing is copied.
        self.bytes = Vec::from(all);
        taken
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }
}

/// What is the same for all rows of a directory.
#[derive(Default)]
pub(super) struct Place {
    /// The root and the directory's path relative to it.
    of: Option<(u32, Vec<u8>)>,
    /// The directory's path with a slash at its end, as text.
    prefix: Vec<u8>,
}

impl Columns {
    /// Makes empty columns with room for so many rows.
    pub(super) fn new(rows: usize) -> Self {
        Self {
            root: Vec::with_capacity(rows),
            parent: Vec::with_capacity(rows),
            parents: Vec::new(),
            name: Texts::new(rows, 32),
            path: Texts::new(rows, 64),
            kind: Vec::with_capacity(rows),
            size: Optional::new(rows),
            modified: Optional::new(rows),
            changed: Optional::new(rows),
            born: Optional::new(rows),
            inode: Optional::new(rows),
            inode_high: Optional::new(rows),
            device: Optional::new(rows),
            mode: Optional::new(rows),
            user: Optional::new(rows),
            group: Optional::new(rows),
            links: Optional::new(rows),
            errno: Optional::new(rows),
            error: Optional::new(rows),
            hash: Optional::new(0),
        }
    }

    /// Removes all rows and keeps the memory, which is costly to get: every page of it is a fault.
    pub(super) fn clear(&mut self) {
        self.root.clear();
        self.parent.clear();
        self.parents.clear();
        self.name.clear();
        self.path.clear();
        self.kind.clear();
        for column in [
            &mut self.size,
            &mut self.modified,
            &mut self.changed,
            &mut self.born,
            &mut self.inode,
            &mut self.inode_high,
            &mut self.device,
            &mut self.links,
        ] {
            column.clear();
        }
        for column in [&mut self.mode, &mut self.user, &mut self.group, &mut self.errno] {
            column.clear();
        }
        self.error.clear();
        self.hash.clear();
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.root.len()
    }

    /// Adds a row; `root` is the path of its root.
    #[inline]
    pub(super) fn push(&mut self, row: &Row<'_>, root: &[u8], place: &mut Place) {
        if place.enter(row, root) || self.parents.is_empty() {
            self.parents.push(ByteArray::from(row.key.parent.to_vec()));
        }
        self.root.push(row.key.root as i32);
        self.parent.push(self.parents.len() as u32 - 1);
        self.name.bytes.extend_from_slice(row.key.name);
        self.name.ends.push(self.name.bytes.len());
        match row.key.is_root() {
            true => push_text(&mut self.path.bytes, root),
            false => {
                self.path.bytes.extend_from_slice(&place.prefix);
                push_text(&mut self.path.bytes, row.key.name);
            }
        }
        self.path.ends.push(self.path.bytes.len());
        self.push_facts(&row.facts);
        self.error.push(row.error.map(|words| ByteArray::from(words.as_bytes().to_vec())));
    }

    #[inline]
    fn push_facts(&mut self, facts: &Facts) {
        // Numbers without a sign keep their bits; the columns' types tell which they are.
        self.kind.push(facts.kind as u8);
        self.size.push(facts.size_bytes.map(|size| size as i64));
        self.modified.push(facts.modified_ns);
        self.changed.push(facts.changed_ns);
        self.born.push(facts.born_ns);
        self.inode.push(facts.inode.map(|inode| inode as i64));
        self.inode_high.push(facts.inode_high.map(|inode| inode as i64));
        self.device.push(facts.device.map(|device| device as i64));
        self.mode.push(facts.mode.map(i32::from));
        self.user.push(facts.user.map(|user| user as i32));
        self.group.push(facts.group.map(|group| group as i32));
        self.links.push(facts.links.map(|links| links as i64));
        self.errno.push(facts.errno);
        self.hash.push(facts.sha256.map(|hash| ByteArray::from(hash.to_vec())));
    }
}

impl Place {
    /// Goes to the directory of a row; tells whether it is another than the last.
    #[inline]
    fn enter(&mut self, row: &Row<'_>, root: &[u8]) -> bool {
        if let Some((index, parent)) = &self.of
            && *index == row.key.root
            && parent == row.key.parent
        {
            return false;
        }
        self.prefix.clear();
        push_text(&mut self.prefix, root);
        if !self.prefix.ends_with(b"/") {
            self.prefix.push(b'/');
        }
        if !row.key.parent.is_empty() {
            push_text(&mut self.prefix, row.key.parent);
            self.prefix.push(b'/');
        }
        self.of = Some((row.key.root, row.key.parent.to_vec()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteArray, Columns, Place};
    use crate::row::{Facts, Key, Row};

    #[test]
    fn paths_are_texts_below_their_roots() {
        let mut texts = Vec::new();
        let (mut columns, mut place) = (Columns::new(6), Place::default());
        let rows = [
            (0, &b"/"[..], &b""[..], &b""[..]),
            (0, b"/", b"", b"a"),
            (0, b"/", b"a", b"f\xff"),
            (1, b"/r\xfe", b"", b""),
            (1, b"/r\xfe", b"", b"a"),
            (1, b"/r\xfe", b"a", b"b"),
        ];
        for (root, path, parent, name) in rows {
            let key = Key { root, parent, name };
            let mut text = Vec::new();
            key.text_into(path, &mut text);
            texts.push(String::from_utf8(text).unwrap());
            let row = Row { key, facts: Facts::NOTHING, error: None };
            columns.push(&row, path, &mut place);
        }
        let text = |path: &ByteArray| path.as_utf8().unwrap().to_owned();
        let paths: Vec<String> =
            columns.path.arrays(&mut Vec::new(), |paths| paths.iter().map(text).collect());
        assert_eq!(paths, ["/", "/a", "/a/f\\xff", "/r\\xfe", "/r\\xfe/a", "/r\\xfe/a/b"]);
        assert_eq!(paths, texts);
    }
}
